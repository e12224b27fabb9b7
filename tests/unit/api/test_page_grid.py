"""The panels of pages: positions in the grid, and the addresses and sizes of pictures."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from dashwright.api.pictures.page_grid import Grid, PictureAddress, dashboard_path, grid_of, panel_alone
from dashwright.common.models.dashboard_outline import DashboardOutline, OutlinePanel, OutlineSection
from dashwright.common.models.pictures import PictureOptions

ADDRESS = PictureAddress(dashboard_path("u/<1>"), [("var-host", "all"), ("from", "now-1h")])


def panel(id_: int, *, columns: int = 12, rows: int = 8, variables: dict[str, list[str]] | None = None) -> OutlinePanel:
    """Return a panel in the fourth row. The variables are those of a copy of a repeated panel."""
    return OutlinePanel(id=id_, title="T", type="stat", x=0, y=3, width=columns, height=rows, variables=variables or {})


def grid(*panels: OutlinePanel, theme: str = "") -> Grid:
    """Return the grid of a page with one section of panels."""
    outline = DashboardOutline(
        title="T", from_="now-6h", to="now", start=0, end=1, timezone="UTC", sections=[OutlineSection(panels=list(panels))]
    )
    return grid_of(outline, ADDRESS, panel_page="/d-solo/u", page_parameters=[("var-host", "all")], theme=theme)


def test_the_style_has_only_positions() -> None:
    """The style sheet of a page has the grid areas of the panels on wide screens, numbered in their order."""
    assert grid(panel(4), panel(5, columns=24, rows=1)).style == (
        "@media (min-width: 701px){#panel-1{grid-area:4/1/span 8/span 12}#panel-2{grid-area:4/1/span 1/span 24}}"
    )
    assert grid().style == ""


def test_pictures_have_the_theme_of_the_reader_or_of_the_page() -> None:
    """A page without a theme has pictures for browsers that prefer a dark scheme, and for other browsers, each for three widths.

    The last picture is for every browser. A page with a theme has only pictures of this theme.
    """
    (panel_picture,) = grid(panel(4)).sections[0].panels
    assert [source.media for source in panel_picture.sources] == [
        "(max-width: 700px) and (prefers-color-scheme: dark)",
        "(max-width: 700px)",
        "(max-width: 1100px) and (prefers-color-scheme: dark)",
        "(max-width: 1100px)",
        "(prefers-color-scheme: dark)",
        "",
    ]
    (dark_panel,) = grid(panel(4), theme="dark").sections[0].panels
    assert {dict(parse_qsl(urlsplit(source.address).query))["theme"] for source in dark_panel.sources} == {"dark"}
    assert urlsplit(dark_panel.sources[0].address).path == "/render/d-solo/u%2F%3C1%3E"


@pytest.mark.parametrize(("columns", "rows"), [(1, 1), (2, 2), (24, 1), (24, 200), (1, 200)])
def test_every_picture_can_be_drawn(columns: int, rows: int) -> None:
    """The pictures of the smallest and largest panels have a permitted size."""
    # The validation of the options raises an error for a size out of bounds.
    for panel_picture in (*grid(panel(4, columns=columns, rows=rows)).sections[0].panels, panel_alone(panel(4), ADDRESS)):
        for source in panel_picture.sources:
            PictureOptions(panel=4, width=source.width, height=source.height)


def test_copies_of_a_repeated_panel_have_their_own_values() -> None:
    """The value of a repeated panel replaces that of the page, in its picture and on its page."""
    first, second = grid(panel(4, variables={"host": ["a"]}), panel(4, variables={"host": ["b"]})).sections[0].panels
    for panel_copy, value in ((first, "a"), (second, "b")):
        for address in (panel_copy.page, panel_copy.sources[-1].address):
            assert [pair for pair in parse_qsl(urlsplit(address).query) if pair[0] == "var-host"] == [("var-host", value)]
    assert ("from", "now-1h") in parse_qsl(urlsplit(first.sources[0].address).query)
