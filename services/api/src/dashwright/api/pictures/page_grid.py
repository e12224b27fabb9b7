"""The panels of a dashboard on a page: their positions as CSS, and the addresses of their pictures in several sizes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

from dashwright.common.models.dashboard_outline import DashboardOutline, OutlinePanel
from dashwright.common.models.pictures import MAX_HEIGHT, MIN_HEIGHT, MIN_PANEL_WIDTH

Parameters = Sequence[tuple[str, str]]
"""Names and values of the query of a URL."""

_COLUMNS: Final = 24
"""Columns of the grid, as in Grafana."""
_ROW_PIXELS: Final = 38
"""Pixels of a row of the grid with the gap below it, as in Grafana."""
_GAP_PIXELS: Final = 8
"""Pixels between two panels, as in Grafana."""
_WIDE_PIXELS: Final = 1368
"""Width of the grid in pixels at which pictures are not scaled."""
_MEDIUM_PIXELS: Final = 868
"""Width of the grid in pixels on a medium screen."""
_NARROW_PIXELS: Final = 400
"""Width of every picture on a small screen, where panels are below one another."""
_NARROW_HEIGHTS: Final = (110, 480)
"""Minimum and maximum height of a picture on a small screen, in pixels."""
_HALF_PIXELS: Final = 640
"""Width of a picture in a comparison."""
_OWN_PAGE_SIZE: Final = (1200, 560)
"""Width and height in pixels of the picture of a panel on its own page."""
_NARROW_OWN_PAGE_SIZE: Final = (_NARROW_PIXELS, 300)
"""Width and height in pixels of the picture of a panel on its own page, on a small screen."""
_NARROW_SCREEN: Final = "(max-width: 700px)"
"""Screens on which panels are below one another. The style sheet has the same widths."""
_MEDIUM_SCREEN: Final = "(max-width: 1100px)"
_DARK: Final = "(prefers-color-scheme: dark)"


class _Size(NamedTuple):
    """The size of a picture in pixels, with the media query of the screens that use it (empty: all other screens)."""

    media: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class PictureAddress:
    """The address of the pictures of panels, with the parameters that all of them have."""

    path: str  #: Percent-encoded.
    parameters: Parameters = ()

    def of(self, panel: OutlinePanel, size: _Size, theme: str) -> str:
        """Return the address of the picture of a panel. The values for which the panel is repeated replace those of the parameters."""
        parameters = _own_parameters(panel, self.parameters)
        picture = {"panelId": panel.id, "width": size.width, "height": size.height, "theme": theme, "format": "svg"}
        return f"{self.path}?{urlencode([*picture.items(), *parameters])}"


class PictureSource(NamedTuple):
    """A picture for screens that match a media query, with its size in pixels."""

    media: str
    address: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class ShownPanel:
    """A panel on a page."""

    key: str  #: The id of its element.
    description: str  #: The alternative text of the picture.
    tooltip: str  #: The description of the panel in the dashboard; empty without one.
    has_sign: bool  #: True if the picture has a sign, next to its title, that opens the description.
    page: str  #: The address of its own page; empty without one.
    #: The pictures, of which a browser takes the first one that matches; the last one matches every screen.
    sources: Sequence[PictureSource]


class ShownSection(NamedTuple):
    """Panels below a heading, which is empty for the panels above the first one."""

    heading: str
    is_collapsed: bool
    panels: Sequence[ShownPanel]


class Grid(NamedTuple):
    """All panels of a dashboard, and the CSS that positions them."""

    sections: Sequence[ShownSection]
    style: str


def dashboard_path(uid: str) -> str:
    """Return the address of the pictures of the panels of a stored dashboard."""
    return f"/render/d-solo/{quote(uid, safe='')}"


def grid_of(
    outline: DashboardOutline, address: PictureAddress, *, panel_page: str = "", page_parameters: Parameters = (), theme: str = ""
) -> Grid:
    """Return the panels of a dashboard.

    ``panel_page`` is the address of the pages of single panels, empty if panels have none; ``page_parameters`` are added to it.
    ``theme`` is empty for the theme of the reader's system.
    """
    sections: list[ShownSection] = []
    rules: list[str] = []
    for section in outline.sections:
        panels = []
        for panel in section.panels:
            key = f"panel-{len(rules) + 1}"
            page = f"{panel_page}?{urlencode([('panelId', panel.id), *_own_parameters(panel, page_parameters)])}" if panel_page else ""
            panels.append(_shown_panel(panel, address, _sizes(panel), theme, key, page))
            rules.append(f"#{key}{{grid-area:{panel.y + 1}/{panel.x + 1}/span {panel.height}/span {panel.width}}}")
        heading = (section.title.strip() or "Row without a title") if section.has_heading else ""
        sections.append(ShownSection(heading, section.is_collapsed, panels))
    # Only screens that are wider than a narrow one have a grid.
    return Grid(sections, f"@media (min-width: 701px){{{''.join(rules)}}}" if rules else "")


def panel_alone(panel: OutlinePanel, address: PictureAddress, theme: str = "") -> ShownPanel:
    """Return a panel as its own page shows it, as large as a screen."""
    return _shown_panel(panel, address, (_Size(_NARROW_SCREEN, *_NARROW_OWN_PAGE_SIZE), _Size("", *_OWN_PAGE_SIZE)), theme)


def panel_at_half_width(panel: OutlinePanel, address: PictureAddress, theme: str = "") -> ShownPanel:
    """Return a panel as a comparison shows it, next to another one."""
    height = min(max(panel.height * _ROW_PIXELS - _GAP_PIXELS, _NARROW_HEIGHTS[0]), _NARROW_HEIGHTS[1])
    return _shown_panel(panel, address, (_Size(_NARROW_SCREEN, _NARROW_PIXELS, height), _Size("", _HALF_PIXELS, height)), theme)


def _shown_panel(
    panel: OutlinePanel, address: PictureAddress, sizes: Sequence[_Size], theme: str, key: str = "", page: str = ""
) -> ShownPanel:
    """Return a panel with pictures in these sizes. ``key`` is the id of its element, and ``page`` the address of its own page."""
    return ShownPanel(
        key, _description(panel), panel.description.strip(), bool(panel.title.strip()), page, list(_sources(panel, address, sizes, theme))
    )


def _own_parameters(panel: OutlinePanel, parameters: Parameters) -> Parameters:
    """Return parameters of a URL in which the values for which a panel is repeated replace those of the page."""
    own_names = {f"var-{name}" for name in panel.variables}
    values = [(f"var-{name}", value) for name, values in panel.variables.items() for value in values]
    return [*((name, value) for name, value in parameters if name not in own_names), *values]


def _sizes(panel: OutlinePanel) -> Sequence[_Size]:
    """Return the sizes of a panel's picture on screens of different widths."""
    height = panel.height * _ROW_PIXELS - _GAP_PIXELS
    narrow_height = min(max(height, _NARROW_HEIGHTS[0]), _NARROW_HEIGHTS[1])
    return (
        _Size(_NARROW_SCREEN, _NARROW_PIXELS, narrow_height),
        _grid_size(_MEDIUM_SCREEN, panel.width, height, _MEDIUM_PIXELS),
        _grid_size("", panel.width, height, _WIDE_PIXELS),
    )


def _grid_size(media: str, columns: int, height: int, grid_pixels: int) -> _Size:
    """Return the size of a picture in a grid. One that is too small to be drawn is drawn larger, with the same proportions."""
    width = (grid_pixels + _GAP_PIXELS) / _COLUMNS * columns - _GAP_PIXELS
    factor = max(1.0, MIN_PANEL_WIDTH / width, MIN_HEIGHT / height)
    return _Size(media, round(width * factor), min(round(height * factor), MAX_HEIGHT))


def _sources(panel: OutlinePanel, address: PictureAddress, sizes: Sequence[_Size], theme: str) -> Iterator[PictureSource]:
    """Yield a picture for each size and theme. Without ``theme``, the browser chooses between a dark and a light one."""
    for size in sizes:
        # Media queries by theme. An empty one matches every screen, so the light theme is last.
        themes: Mapping[str, str] = {theme: ""} if theme else {"dark": _DARK, "light": ""}
        for name, theme_media in themes.items():
            media = " and ".join(condition for condition in (size.media, theme_media) if condition)
            yield PictureSource(media, address.of(panel, size, name), size.width, size.height)


def _description(panel: OutlinePanel) -> str:
    """Return the alternative text of a panel's picture."""
    title = panel.title.strip() or f"panel {panel.id}"
    return f"{title} ({panel.type})" if panel.type else title
