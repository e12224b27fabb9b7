"""The process that renders pictures: its results, its restrictions, and its end."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.polling import until

from dashwright.common.errors import DeadlineExceeded, Unavailable
from dashwright.expressions.pictures import plotter as room
from dashwright.expressions.pictures import svg
from dashwright.expressions.pictures.plotter import NotDrawn, Plotter

pytestmark = pytest.mark.exhaustive

POINTS = {"data": {"values": [{"v": 1}]}, "mark": "point", "encoding": {"x": {"field": "v", "type": "quantitative"}}}


@pytest.fixture
async def plotter() -> AsyncIterator[Plotter]:
    created = Plotter()
    yield created
    await created.stop()


def soon(seconds: float = 30) -> float:
    return time.monotonic() + seconds


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_charts_are_rendered_with_their_text(plotter: Plotter) -> None:
    """One process renders all charts. A PNG contains letters, which a missing font would omit silently."""
    assert b"<svg" in await plotter.chart(POINTS, soon())
    first = plotter.pid
    bare, written = [
        await plotter.png(svg.document([svg.text_element(words, 5, 30, size=20, colour="#000000")], 200, 40), 1, soon())
        for words in ("", "Letters")
    ]
    assert bare.startswith(b"\x89PNG")
    assert len(written) > len(bare) + 500
    assert plotter.pid == first


async def test_invalid_charts_are_errors_and_no_url_is_loaded(plotter: Plotter, tmp_path: Path) -> None:
    """After an invalid chart or one with a URL the process continues."""
    secret = tmp_path / "secret.json"
    secret.write_text('[{"v": 424242}]')
    told = POINTS | {"mark": {"type": "text"}, "encoding": {"text": {"field": "v"}}}
    for address in (f"file://{secret}", str(secret), "http://127.0.0.1:1/x.json"):
        try:
            assert b"424242" not in await plotter.chart(told | {"data": {"url": address}}, soon())
        except NotDrawn:
            continue
    with pytest.raises(NotDrawn):
        await plotter.chart({"mark": "nothing"}, soon())
    assert b"<svg" in await plotter.chart(POINTS, soon())


async def test_a_picture_that_takes_too_long_or_too_much_ends_the_process(plotter: Plotter, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends at the deadline or the memory limit, and another one renders the next picture."""
    endless: dict[str, Any] = POINTS | {"data": {"sequence": {"start": 0, "stop": 3_000_000}}, "encoding": {"x": {"field": "data"}}}
    await plotter.chart(POINTS, soon())
    first = plotter.pid
    assert first is not None
    with pytest.raises(DeadlineExceeded):
        await plotter.chart(endless, soon(0.3))
    assert plotter.pid is None
    assert not is_there(first)
    monkeypatch.setattr(room, "MAX_MEMORY_BYTES", 160 * 1024 * 1024)
    with pytest.raises(Unavailable):
        await plotter.chart(endless, soon())
    monkeypatch.undo()
    assert b"<svg" in await plotter.chart(POINTS, soon())


async def test_an_idle_process_is_ended() -> None:
    """An idle process ends, so that a service without requests uses no memory for it."""
    plotter = Plotter(idle_seconds=0)
    await plotter.chart(POINTS, soon())

    async def is_ended() -> bool:
        return plotter.pid is None

    await until(is_ended)
    await plotter.stop()
