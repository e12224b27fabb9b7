"""The processes that draw PNGs: their results, their restrictions, and their end."""

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

#: An SVG that takes seconds to draw: three thousand large nested pictures, each of which is clipped.
SLOW_SVG = svg.document([svg.nested(["<rect width='9' height='9'/>"] * 9, 0, 0, 4_000, 4_000)] * 3_000, 4_000, 4_000)


def svg_of_text(text: str) -> str:
    """Return the SVG of a text."""
    return svg.document([svg.text_element(text, 5, 30, size=20, colour="#000000")], 200, 40)


@pytest.fixture
async def plotter() -> AsyncIterator[Plotter]:
    """Yield a plotter with one process and without a cache."""
    created = Plotter()
    yield created
    await created.stop()


def deadline_in(seconds: float = 30) -> float:
    """Return the time of ``time.monotonic`` after some seconds."""
    return time.monotonic() + seconds


def is_running(pid: int) -> bool:
    """Return whether a process exists."""
    return Path(f"/proc/{pid}").exists()


async def test_pngs_contain_their_text(plotter: Plotter) -> None:
    """One process draws all PNGs. They contain letters, which a missing font would omit silently."""
    png_without_text = await plotter.png(svg_of_text(""), 1, deadline_in())
    (first_pid,) = plotter.pids
    png_with_text = await plotter.png(svg_of_text("Letters"), 1, deadline_in())
    assert png_without_text.startswith(b"\x89PNG")
    # Seven visible letters need hundreds of bytes.
    assert len(png_with_text) > len(png_without_text) + 500
    assert plotter.pids == [first_pid]


async def test_all_letters_of_code_have_the_same_width(plotter: Plotter) -> None:
    """A letter of code has the same position after ten narrow letters as after ten wide ones: ten times the width of a character."""

    def svg_with(text: str) -> str:
        """Return the SVG of a text of code followed by ``X``, with a white rectangle as wide as the text over it."""
        runs = [svg.TextRun(f"{text}X", 20, "#000000", code=True)]
        cover = svg.rectangle(0, 0, svg.text_width(text, 20, code=True), 40, "#ffffff")
        return svg.document([svg.rich_text_element(runs, 0, 30), cover], 200, 40)

    narrow, wide, longer = [await plotter.png(svg_with(text), 1, deadline_in()) for text in ("i" * 10, "W" * 10, "W" * 11)]
    # The rectangle hides all letters before the X, so that the pictures differ only in the position of the X.
    assert narrow == wide
    assert wide != longer


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
    """An SVG that is invalid or refers to something outside of it is an error, after which the process continues."""
    with pytest.raises(NotDrawn, match=r"request the format svg: (<|fill of|the drawing)"):
        await plotter.png(svg.document([content], 200, 40), 1, deadline_in())
    assert (await plotter.png(svg_of_text("a"), 1, deadline_in())).startswith(b"\x89PNG")


async def test_a_picture_that_exceeds_time_or_memory_ends_the_process(plotter: Plotter, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process ends at the deadline of its PNG or at the memory limit. A new process draws the next PNG."""
    await plotter.png(svg_of_text("a"), 1, deadline_in())
    (first_pid,) = plotter.pids
    with pytest.raises(DeadlineExceeded):
        await plotter.png(SLOW_SVG, 1, deadline_in(0.3))
    assert not plotter.pids
    assert not is_running(first_pid)
    monkeypatch.setattr(png_process, "MAX_MEMORY_BYTES", 100 * 1024 * 1024)
    with pytest.raises(Unavailable):
        await plotter.png(SLOW_SVG, 1, deadline_in())
    monkeypatch.undo()
    assert (await plotter.png(svg_of_text("a"), 1, deadline_in())).startswith(b"\x89PNG")


async def test_an_idle_process_is_ended() -> None:
    """An idle process ends, so that a service without requests uses no memory for it."""
    plotter = Plotter(idle_seconds=0)
    await plotter.png(svg_of_text("a"), 1, deadline_in())

    async def is_ended() -> bool:
        """Return whether no process runs."""
        return not plotter.pids

    await wait_until(is_ended)
    await plotter.stop()


async def test_pictures_are_drawn_concurrently_in_as_many_processes_as_needed() -> None:
    """Sequential pictures use one process. If two processes, the maximum, are busy, a third picture waits, at most until its deadline."""
    plotter = Plotter(processes=2)
    for letter in ("a", "b"):
        await plotter.png(svg_of_text(letter), 1, deadline_in())
    assert len(plotter.pids) == 1
    busy = [asyncio.create_task(plotter.png(SLOW_SVG.replace("9", digit), 1, deadline_in())) for digit in ("7", "8")]

    async def both_run() -> bool:
        """Return whether two processes run."""
        return len(plotter.pids) == 2

    await wait_until(both_run)
    with pytest.raises(DeadlineExceeded):
        await plotter.png(svg_of_text("c"), 1, deadline_in(0.1))
    for task in busy:
        task.cancel()
    assert (await plotter.png(svg_of_text("c"), 1, deadline_in())).startswith(b"\x89PNG")
    await asyncio.gather(*busy, return_exceptions=True)
    await plotter.stop()
    assert not plotter.pids


@pytest.mark.parametrize("text", ["\U0001f525", "\u26a0", "\u0939", "\u0e01", "\u0639", "\u05d0"])
async def test_emoji_and_further_scripts_are_drawn(plotter: Plotter, text: str) -> None:
    """Emoji and letters of further scripts are drawn, not the sign for a missing character."""
    png, png_of_missing_character = [await plotter.png(svg_of_text(letters), 1, deadline_in()) for letters in (text, "\ue123")]
    assert png != png_of_missing_character


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
async def test_a_sequence_of_emoji_is_drawn_as_its_first_one(plotter: Plotter, sequence: str, single: str) -> None:
    """Only the first emoji of a sequence is drawn, because the library draws some texts over complete sequences."""
    assert await plotter.png(svg_of_text(sequence), 1, deadline_in()) == await plotter.png(svg_of_text(single), 1, deadline_in())


async def test_texts_in_scripts_that_the_font_lacks_are_drawn_with_fonts_of_the_machine(plotter: Plotter) -> None:
    """Texts in further scripts are drawn with fonts of the machine. A sign replaces characters that no font has."""
    texts = ("", "Größe 5 μs", "\u2603\u2603\u2603")
    png_sizes = {len(await plotter.png(svg_of_text(text), 1, deadline_in())) for text in texts}
    # If a text were omitted, its PNG would have the size of that without text.
    assert len(png_sizes) == len(texts)
