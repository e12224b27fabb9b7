"""The processes that make PNGs: their results, their restrictions, and their end."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.acceptance.polling import wait_until

from dashwright.common.errors import DeadlineExceeded, Unavailable
from dashwright.expressions.pictures import png_process, svg
from dashwright.expressions.pictures.plotter import Plotter
from dashwright.expressions.pictures.png_process import NotDrawn

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


def deadline_in(seconds: float = 30) -> float:
    return time.monotonic() + seconds


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_pngs_are_made_with_their_text(plotter: Plotter) -> None:
    """One process makes all PNGs. They contain letters, which a missing font would omit silently."""
    bare = await plotter.png(text(""), 1, deadline_in())
    (first,) = plotter.pids
    written = await plotter.png(text("Letters"), 1, deadline_in())
    assert bare.startswith(b"\x89PNG")
    assert len(written) > len(bare) + 500
    assert plotter.pids == [first]


async def test_all_letters_of_code_have_the_same_width(plotter: Plotter) -> None:
    """After ten narrow letters and after ten wide ones, a letter is at the same place, which the width of a character determines."""

    def svg_with(words: str) -> str:
        runs = [svg.TextRun(f"{words}X", 20, "#000000", code=True)]
        cover = svg.rectangle(0, 0, svg.text_width(words, 20, code=True), 40, "#ffffff")
        return svg.document([svg.rich_text_element(runs, 0, 30), cover], 200, 40)

    narrow, wide, covered = [await plotter.png(svg_with(words), 1, deadline_in()) for words in ("iiiiiiiiii", "WWWWWWWWWW", "WWWWWWWWWWW")]
    assert narrow == wide != covered


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
    with pytest.raises(NotDrawn, match=r"request the format svg: (<|fill of|the drawing)"):
        await plotter.png(svg.document([content], 200, 40), 1, deadline_in())
    assert (await plotter.png(text("a"), 1, deadline_in())).startswith(b"\x89PNG")


async def test_a_picture_that_takes_too_long_or_too_much_ends_the_process(plotter: Plotter, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends at the deadline or the memory limit, and another one makes the next PNG."""
    await plotter.png(text("a"), 1, deadline_in())
    (first,) = plotter.pids
    with pytest.raises(DeadlineExceeded):
        await plotter.png(ENDLESS, 1, deadline_in(0.3))
    assert not plotter.pids
    assert not is_running(first)
    monkeypatch.setattr(png_process, "MAX_MEMORY_BYTES", 100 * 1024 * 1024)
    with pytest.raises(Unavailable):
        await plotter.png(ENDLESS, 1, deadline_in())
    monkeypatch.undo()
    assert (await plotter.png(text("a"), 1, deadline_in())).startswith(b"\x89PNG")


async def test_an_idle_process_is_ended() -> None:
    """An idle process ends, so that a service without requests uses no memory for it."""
    plotter = Plotter(idle_seconds=0)
    await plotter.png(text("a"), 1, deadline_in())

    async def is_ended() -> bool:
        return not plotter.pids

    await wait_until(is_ended)
    await plotter.stop()


async def test_pictures_are_drawn_concurrently_in_as_many_processes_as_needed() -> None:
    """Sequential pictures use one process. If two processes, the maximum, are busy, a third picture waits, at most until its deadline."""
    plotter = Plotter(processes=2)
    for letters in "ab":
        await plotter.png(text(letters), 1, deadline_in())
    assert len(plotter.pids) == 1
    busy = [asyncio.create_task(plotter.png(ENDLESS.replace("9", digit), 1, deadline_in())) for digit in "78"]

    async def both_run() -> bool:
        return len(plotter.pids) == 2

    await wait_until(both_run)
    with pytest.raises(DeadlineExceeded):
        await plotter.png(text("c"), 1, deadline_in(0.1))
    for task in busy:
        task.cancel()
    assert (await plotter.png(text("c"), 1, deadline_in())).startswith(b"\x89PNG")
    await asyncio.gather(*busy, return_exceptions=True)
    await plotter.stop()
    assert not plotter.pids


@pytest.mark.parametrize("words", ["\U0001f525", "\u26a0", "\u0939", "\u0e01", "\u0639", "\u05d0"])
async def test_emoji_and_further_scripts_are_drawn(plotter: Plotter, words: str) -> None:
    """Emoji and letters do not look like the sign for a character that no font has."""
    drawn, missing = [await plotter.png(text(letters), 1, deadline_in()) for letters in (words, "\ue123")]
    assert drawn != missing


@pytest.mark.parametrize(
    ("sequence", "single"),
    [
        ("\u26a0\ufe0f", "\u26a0"),
        ("\U0001f44d\U0001f3fd", "\U0001f44d"),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f468"),
        ("1\ufe0f\u20e3\U0001f525", "1\U0001f525"),
        ("\U0001f1e9\U0001f1ea\U0001f525", "DE\U0001f525"),
    ],
)
async def test_sequence_of_emoji_is_drawn_as_its_first_one(plotter: Plotter, sequence: str, single: str) -> None:
    """Without the change, the library draws some texts with such sequences over one another."""
    assert await plotter.png(text(sequence), 1, deadline_in()) == await plotter.png(text(single), 1, deadline_in())


async def test_texts_in_scripts_that_the_font_lacks_are_drawn_with_fonts_of_the_machine(plotter: Plotter) -> None:
    """Without a font that has the characters, a sign replaces them."""
    drawn = [await plotter.png(text(words), 1, deadline_in()) for words in ("", "Größe 5 μs", "\u2603\u2603\u2603")]
    assert len({len(png) for png in drawn}) == 3
