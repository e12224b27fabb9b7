"""Drawing of a picture: reads the dashboard, runs the queries of its panels, draws the panels and composes the picture."""

import asyncio
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import orjson
import structlog

from dashwright.common import media
from dashwright.common.errors import BadRequest, DashwrightError, DeadlineExceeded, NotFound
from dashwright.common.models.pictures import PictureRequest
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions import queries
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.memory import Reservation
from dashwright.expressions.engine.timerange import TimeRange, parse_time_range
from dashwright.expressions.formats.response import client_message
from dashwright.expressions.pictures import svg
from dashwright.expressions.pictures.dashboard import Panel, read_dashboard
from dashwright.expressions.pictures.layout import INSET, Box, PictureLayout, lay_out
from dashwright.expressions.pictures.panels import DRAW_FUNCTIONS, WITHOUT_QUERIES, text
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.plotter import NotDrawn, Plotter
from dashwright.expressions.pictures.series import MAX_POINTS
from dashwright.expressions.pictures.theme import THEMES, Theme

_log = structlog.get_logger()

MAX_PIXELS: Final = 24_000_000
#: Panels of one picture whose queries run concurrently.
_CONCURRENT_PANELS: Final = 4

#: Seconds before the deadline that are reserved for composing the picture. A panel that is not drawn by then shows a message.
_COMPOSITION_SECONDS: Final = 6.0

#: The minimum of ``maxDataPoints`` of a query, for panels that are very narrow.
_MIN_REQUESTED_POINTS: Final = 100

_ERROR_COLOUR: Final = "#e02f44"
_TITLE_SIZE: Final = 13.0
_HEADING_SIZE: Final = 18.0
_SVG_NAMESPACE: Final = "http://www.w3.org/2000/svg"
_XLINK_NAMESPACE: Final = "http://www.w3.org/1999/xlink"
ET.register_namespace("", _SVG_NAMESPACE)
ET.register_namespace("xlink", _XLINK_NAMESPACE)


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawn picture."""

    body: bytes
    media_type: str


async def draw(
    request: PictureRequest, context: QueryContext, settings: queries.QuerySettings, plotter: Plotter, deadline: float
) -> Picture:
    """Return the picture of a dashboard, drawn by ``deadline``, a time of ``time.monotonic``.

    Raises BadRequest for an invalid time or a picture that is too large, NotFound for an unknown panel,
    DeadlineExceeded and Unavailable. The error of a single panel, such as a timeout, is shown in its place.
    """
    dashboard = await asyncio.to_thread(read_dashboard, request.spec)
    panels = dashboard.panels
    if request.panel is not None:
        panels = [panel for panel in panels if panel.id == request.panel and panel.type != "row"]
        if not panels:
            raise NotFound(f"the dashboard has no panel {request.panel}")
    layout = lay_out(panels, request.width, request.height, is_single_panel=request.panel is not None)
    if layout.width * layout.height * request.scale**2 > MAX_PIXELS:
        size = f"the picture would be {layout.width} by {layout.height} pixels at scale {request.scale:g}"
        raise BadRequest(f"{size}, more than {MAX_PIXELS} in all; ask for less width or scale, or for one panel (panelId)")
    time_range = parse_time_range(request.from_ or dashboard.start, request.to or dashboard.end, settings.clock.now())
    renderer = _PanelRenderer(THEMES[request.theme], time_range, context, settings, plotter, deadline)
    contents = await renderer.render_all(layout.boxes)
    svg_document = _compose(layout, contents, renderer.theme, request.title or dashboard.title, time_range)
    if request.format == "svg":
        return Picture(svg_document.encode(), media.SVG)
    return Picture(await plotter.png(svg_document, request.scale, deadline), media.PNG)


class _PanelRenderer:
    """Renders the panels of one picture."""

    def __init__(
        self, theme: Theme, time_range: TimeRange, context: QueryContext, settings: queries.QuerySettings, plotter: Plotter, deadline: float
    ) -> None:
        self.theme = theme
        self._time_range = time_range
        self._context = context
        self._settings = settings
        self._plotter = plotter
        self._deadline = deadline
        self._slots = asyncio.Semaphore(_CONCURRENT_PANELS)

    async def render_all(self, boxes: Sequence[Box]) -> list[str]:
        """Return the SVG of each panel's content, in the order of ``boxes``."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._render(index, box)) for index, box in enumerate(boxes)]
        return [task.result() for task in tasks]

    async def _render(self, index: int, box: Box) -> str:
        """Return the SVG of a panel's content, or of a message. ``index`` makes the ids of its elements unique."""
        props = PanelProps(
            box.panel, (), *box.content_size, self.theme, _milliseconds(self._time_range.start), _milliseconds(self._time_range.end)
        )
        try:
            async with self._slots:
                drawing = await self._draw(props)
                if drawing.chart is None:
                    return "".join(drawing.elements)
                chart = await self._plotter.chart(drawing.chart, self._deadline - _COMPOSITION_SECONDS)
            return await asyncio.to_thread(_with_unique_ids, chart, f"p{index}-")
        except NothingToDraw as reason:
            return "".join(text.message(props, reason.message, _ERROR_COLOUR if reason.is_error else self.theme.muted).elements)
        except DeadlineExceeded:
            return "".join(text.message(props, "Not drawn in time", _ERROR_COLOUR).elements)
        except (NotDrawn, ET.ParseError) as error:
            _log.warning("panel_not_drawn", type=box.panel.type[:80], reason=str(error))
            return "".join(text.message(props, "This panel could not be drawn", _ERROR_COLOUR).elements)

    async def _draw(self, props: PanelProps) -> PanelDrawing:
        """Return the drawing of a panel. Raises NothingToDraw."""
        panel = props.panel
        draw_panel = DRAW_FUNCTIONS.get(panel.type)
        if draw_panel is None:
            raise NothingToDraw("" if panel.type == "row" else f"{panel.type or 'unknown'}: not drawn in pictures")
        if panel.type in WITHOUT_QUERIES:
            return draw_panel(props)
        with self._settings.memory.reservation(self._context.org_id) as memory:
            props = replace(props, frames=await self._frames(panel, int(props.width), memory))
            return await asyncio.to_thread(draw_panel, props)

    async def _frames(self, panel: Panel, width: int, memory: Reservation) -> list[Frame]:
        """Return the frames of the panel's queries. Raises NothingToDraw with the first error if no query has a result."""
        if not panel.targets:
            raise NothingToDraw("No data")
        point_limit = min(max(width, _MIN_REQUESTED_POINTS), MAX_POINTS)
        body = {
            "from": str(int(_milliseconds(self._time_range.start))),
            "to": str(int(_milliseconds(self._time_range.end))),
            "queries": [self._query(target, point_limit) for target in panel.targets],
        }
        try:
            evaluation = await queries.evaluate(orjson.dumps(body), self._context, self._settings, memory)
        except DashwrightError as error:
            raise NothingToDraw(client_message(error), is_error=True) from error
        frames = [frame for result in evaluation.results.values() for frame in result.frames]
        errors = [result.error for result in evaluation.results.values() if result.error]
        if errors and not frames:
            raise NothingToDraw(client_message(errors[0]), is_error=True)
        return frames

    def _query(self, target: Any, point_limit: int) -> dict[str, Any]:
        """Return the query of a target, by default with an interval and a number of points that fit the panel."""
        range_length_ms = _milliseconds(self._time_range.end) - _milliseconds(self._time_range.start)
        return {"intervalMs": max(1000, int(range_length_ms / point_limit)), "maxDataPoints": point_limit, **target}


def _compose(layout: PictureLayout, contents: Sequence[str], theme: Theme, title: str, time_range: TimeRange) -> str:
    """Return the SVG of a picture from the SVG of each panel's content."""
    elements = [svg.rectangle(0, 0, layout.width, layout.height, theme.canvas)]
    if layout.header_height:
        range_text = f"{time_range.start:%Y-%m-%d %H:%M} to {time_range.end:%Y-%m-%d %H:%M} {time_range.end:%Z}"
        title_width = layout.width - 24 - svg.text_width(range_text, 11) - 16
        elements.append(
            svg.text_element(svg.truncated(title, _HEADING_SIZE, title_width), 12, 26, size=_HEADING_SIZE, colour=theme.text, bold=True)
        )
        elements.append(svg.text_element(range_text, layout.width - 12, 25, size=11, colour=theme.muted, anchor="end"))
    for box, content in zip(layout.boxes, contents, strict=True):
        elements.append(_panel_with_border(box, content, theme))
    if layout.omitted_count:
        notice = f"{layout.omitted_count} more panels are not shown"
        elements.append(svg.text_element(notice, layout.width / 2, layout.height - 9, size=12, colour=theme.muted, anchor="middle"))
    return svg.document(elements, layout.width, layout.height)


def _panel_with_border(box: Box, content: str, theme: Theme) -> str:
    """Return the SVG of a panel: its content with a border and its title, or only the title if the panel is the heading of a row."""
    title = box.panel.title
    if box.panel.type == "row":
        visible_title = svg.truncated(title, 14, box.width - 16)
        return svg.text_element(visible_title, box.x + 4, box.y + box.height / 2 + 5, size=14, colour=theme.text, bold=True)
    border = svg.rectangle(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1, theme.panel, border=theme.border, radius=3)
    width, height = box.content_size
    heading = ""
    if box.has_title:
        visible_title = svg.truncated(title, _TITLE_SIZE, box.width - 20)
        heading = svg.text_element(visible_title, box.x + 10, box.y + 19, size=_TITLE_SIZE, colour=theme.text, bold=True)
    return border + heading + svg.nested([content], box.x + INSET, box.y + box.height - height - INSET, width, height)


def _with_unique_ids(chart: bytes, prefix: str) -> str:
    """Return the SVG of a chart with a prefix on its ids, which must be unique in a picture. Raises ET.ParseError."""
    root = ET.fromstring(chart)  # noqa: S314 (the drawing library wrote it: it declares no entities)
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == "id":
                element.set(name, prefix + value)
            elif value.startswith("url(#"):
                element.set(name, f"url(#{prefix}{value[5:]}")
            elif name in ("href", f"{{{_XLINK_NAMESPACE}}}href"):
                element.set(name, f"#{prefix}{value[1:]}" if value.startswith("#") else "")
    return ET.tostring(root, encoding="unicode")


def _milliseconds(instant: datetime) -> float:
    """Return the milliseconds since 1970."""
    return instant.timestamp() * 1000
