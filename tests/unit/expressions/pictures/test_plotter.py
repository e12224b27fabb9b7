"""The process that makes PNGs: its results, its restrictions, and its end."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.acceptance.polling import until

from dashwright.common.errors import DeadlineExceeded, Unavailable
from dashwright.expressions.pictures import plotter as room
from dashwright.expressions.pictures import svg
from dashwright.expressions.pictures.plotter import NotDrawn, Plotter

pytestmark = pytest.mark.exhaustive

#: An SVG that takes long: a clip of a large picture in another one, and so on.
ENDLESS = svg.document([svg.nested(["<rect width='9' height='9'/>"] * 9, 0, 0, 4_000, 4_000)] * 3_000, 4_000, 4_000)


def text(words: str) -> str:
    """Return the SVG of a text."""
    return svg.document([svg.text_element(words, 5, 30, size=20, colour="#000000")], 200, 40)


@pytest.fixture
async def plotter() -> AsyncIterator[Plotter]:
    created = Plotter()
    yield created
    await created.stop()


def soon(seconds: float = 30) -> float:
    return time.monotonic() + seconds


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_pngs_are_made_with_their_text(plotter: Plotter) -> None:
    """One process makes all PNGs. They contain letters, which a missing font would omit silently."""
    bare = await plotter.png(text(""), 1, soon())
    first = plotter.pid
    written = await plotter.png(text("Letters"), 1, soon())
    assert bare.startswith(b"\x89PNG")
    assert len(written) > len(bare) + 500
    assert plotter.pid == first


@pytest.mark.parametrize(
    "content",
    [
        "<image href='file:///etc/hostname'/>",
        "<use href='http://127.0.0.1:1/x.svg#a'/>",
        "<rect fill='url(http://127.0.0.1:1/x)'/>",
        "<script/>",
        "<rect",
    ],
)
async def test_invalid_pictures_are_errors_and_no_address_is_loaded(plotter: Plotter, content: str) -> None:
    """After an SVG that is invalid or refers to something outside of it, the process continues."""
    with pytest.raises(NotDrawn):
        await plotter.png(svg.document([content], 200, 40), 1, soon())
    assert (await plotter.png(text("a"), 1, soon())).startswith(b"\x89PNG")


async def test_a_picture_that_takes_too_long_or_too_much_ends_the_process(plotter: Plotter, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends at the deadline or the memory limit, and another one makes the next PNG."""
    await plotter.png(text("a"), 1, soon())
    first = plotter.pid
    assert first is not None
    with pytest.raises(DeadlineExceeded):
        await plotter.png(ENDLESS, 1, soon(0.3))
    assert plotter.pid is None
    assert not is_there(first)
    monkeypatch.setattr(room, "MAX_MEMORY_BYTES", 100 * 1024 * 1024)
    with pytest.raises(Unavailable):
        await plotter.png(ENDLESS, 1, soon())
    monkeypatch.undo()
    assert (await plotter.png(text("a"), 1, soon())).startswith(b"\x89PNG")


async def test_an_idle_process_is_ended() -> None:
    """An idle process ends, so that a service without requests uses no memory for it."""
    plotter = Plotter(idle_seconds=0)
    await plotter.png(text("a"), 1, soon())

    async def is_ended() -> bool:
        return plotter.pid is None

    await until(is_ended)
    await plotter.stop()
