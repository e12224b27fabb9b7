"""The cache of PNGs: what it returns, and its bound."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.expressions.pictures.panel_samples import END, START, panel_of, series

from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.pictures.composition import compose
from dashwright.expressions.pictures.layout import lay_out
from dashwright.expressions.pictures.outcomes import PanelOutcome, State
from dashwright.expressions.pictures.panels import DRAW_FUNCTIONS
from dashwright.expressions.pictures.panels.drawing import PanelProps
from dashwright.expressions.pictures.plotter import Plotter, PngKey, key_of
from dashwright.expressions.pictures.png_process import PngProcess
from dashwright.expressions.pictures.theme import THEMES


def png_key(
    *, values: tuple[float, ...] = (1, 2, 3), theme: str = "dark", width: int = 600, scale: float = 1, org_id: int = 1, title: str = "T"
) -> PngKey:
    """Return the key of the PNG of a panel with a line of ``values``; ``title`` is that of the dashboard."""
    layout = lay_out([panel_of("timeseries")], width, None, is_single_panel=False)
    props = PanelProps(layout.boxes[0].panel, [series(*values)], *layout.boxes[0].content_size, THEMES[theme], START, END)
    content = "".join(DRAW_FUNCTIONS["timeseries"](props).elements)
    span = TimeRange(datetime.fromtimestamp(START, UTC), datetime.fromtimestamp(END / 1000, UTC))
    return key_of(org_id, compose(layout, [PanelOutcome(content, State.DRAWN)], THEMES[theme], title, span), scale)


@pytest.mark.parametrize(
    "change", [{"values": (1, 2.5, 3)}, {"theme": "light"}, {"width": 640}, {"scale": 2}, {"org_id": 2}, {"title": "Another"}]
)
def test_a_change_of_what_is_drawn_is_another_key(change: dict[str, Any]) -> None:
    """Equal pictures have equal keys. A change of a point, theme, size, scale, organization or title changes the key."""
    assert png_key(**change) != png_key()
    assert png_key() == png_key()


async def test_an_equal_picture_is_drawn_once_for_each_organization(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache has a PNG for each SVG, scale and organization. By default, nothing is cached."""
    drawn_svgs: list[tuple[str, float]] = []

    async def png(_: PngProcess, svg: str, scale: float, __: float) -> bytes:
        """Return the number of the drawing instead of a PNG."""
        drawn_svgs.append((svg, scale))
        return f"{len(drawn_svgs)}".encode()

    monkeypatch.setattr(PngProcess, "png", png)
    plotter = Plotter(cache_bytes=100)
    requests = [("a", 1, 1), ("a", 1, 1), ("b", 1, 1), ("a", 2, 1), ("a", 1, 2), ("a", 1, 1)]
    pngs = [await plotter.png(svg, scale, 0, org_id=org_id) for svg, scale, org_id in requests]
    assert pngs == [b"1", b"1", b"2", b"3", b"4", b"1"]
    plotter_without_cache = Plotter()
    assert await plotter_without_cache.png("a", 1, 0) == b"5"
    assert await plotter_without_cache.png("a", 1, 0) == b"6"


async def test_a_picture_that_is_larger_than_the_cache_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PNG as large as the cache is kept. A larger PNG is not kept and does not replace the kept one."""

    async def png(_: PngProcess, svg: str, __: float, ___: float) -> bytes:
        """Return as many bytes as the text of the picture says, instead of a PNG."""
        drawn_svgs.append(svg)
        return b"x" * int(svg)

    drawn_svgs: list[str] = []
    monkeypatch.setattr(PngProcess, "png", png)
    plotter = Plotter(cache_bytes=10)
    for svg in ("10", "10", "11", "11", "10"):
        assert len(await plotter.png(svg, 1, 0)) == int(svg)
    assert drawn_svgs == ["10", "11", "11"]
