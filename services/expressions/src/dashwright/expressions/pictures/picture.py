"""Drawing of one picture: reads the dashboard, runs the queries of its panels, draws each panel and places it in the grid."""

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
from dashwright.expressions.engine.timerange import TimeRange, time_range
from dashwright.expressions.formats.response import text_of as text_of_error
from dashwright.expressions.pictures import svg
from dashwright.expressions.pictures.dashboard import Panel, read
from dashwright.expressions.pictures.kinds import KINDS, WITHOUT_QUERIES, words
from dashwright.expressions.pictures.kinds.drawing import NothingToDraw, PanelDrawing, Sheet
from dashwright.expressions.pictures.layout import INSET, Box, PictureLayout, laid_out
from dashwright.expressions.pictures.plotter import NotDrawn, Plotter
from dashwright.expressions.pictures.series import MOST_POINTS
from dashwright.expressions.pictures.theme import THEMES, Theme

_log = structlog.get_logger()

MOST_PIXELS: Final = 24_000_000
#: Panels of one picture whose queries run concurrently.
_AT_ONCE: Final = 4

#: Seconds reserved for composing the picture. Panels that are not drawn by then show a message instead.
_FOR_THE_WHOLE: Final = 6.0

_FAULT: Final = "#e02f44"
_TITLE: Final = 13.0
_HEADING: Final = 18.0
_NAMESPACE: Final = "http://www.w3.org/2000/svg"
_XLINK: Final = "http://www.w3.org/1999/xlink"
ET.register_namespace("", _NAMESPACE)
ET.register_namespace("xlink", _XLINK)


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawn picture."""

    body: bytes
    media_type: str


async def draw(request: PictureRequest, context: QueryContext, settings: queries.QuerySettings, plotter: Plotter, until: float) -> Picture:
    """Return the picture of a dashboard, drawn ``until`` a time of ``time.monotonic``.

    Raises BadRequest for an invalid time or a picture that is too large, NotFound for an unknown panel,
    DeadlineExceeded and Unavailable. An error of one panel is written into its box, also if its time ran out.
    """
    dashboard = await asyncio.to_thread(read, request.spec)
    panels = dashboard.panels
    if request.panel is not None:
        panels = [panel for panel in panels if panel.id == request.panel and panel.type != "row"]
        if not panels:
            raise NotFound(f"the dashboard has no panel {request.panel}")
    layout = laid_out(panels, request.width, request.height, is_alone=request.panel is not None)
    if layout.width * layout.height * request.scale**2 > MOST_PIXELS:
        found = f"the picture would be {layout.width} by {layout.height} pixels at scale {request.scale:g}"
        raise BadRequest(f"{found}, more than {MOST_PIXELS} in all; ask for less width or scale, or for one panel (panelId)")
    span = time_range(request.from_ or dashboard.start, request.to or dashboard.end, settings.clock.now())
    drawing = _PanelRenderer(THEMES[request.theme], span, context, settings, plotter, until)
    inside = await drawing.all(layout.boxes)
    whole = _composed(layout, inside, drawing.theme, request.title or dashboard.title, span)
    if request.format == "svg":
        return Picture(whole.encode(), media.SVG)
    return Picture(await plotter.png(whole, request.scale, until), media.PNG)


class _PanelRenderer:
    """Renders the panels of one picture."""

    def __init__(
        self, theme: Theme, span: TimeRange, context: QueryContext, settings: queries.QuerySettings, plotter: Plotter, until: float
    ) -> None:
        self.theme = theme
        self._span = span
        self._context = context
        self._settings = settings
        self._plotter = plotter
        self._until = until
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def all(self, boxes: Sequence[Box]) -> list[str]:
        """Return the content of each panel, in order."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(number, box)) for number, box in enumerate(boxes)]
        return [task.result() for task in tasks]

    async def _one(self, number: int, box: Box) -> str:
        sheet = Sheet(box.panel, (), *box.inside, self.theme, _milliseconds(self._span.start), _milliseconds(self._span.end))
        try:
            async with self._slots:
                drawn = await self._drawn(sheet)
                if drawn.chart is None:
                    return "".join(drawn.parts)
                chart = await self._plotter.chart(drawn.chart, self._until - _FOR_THE_WHOLE)
            return await asyncio.to_thread(_with_own_ids, chart, f"p{number}-")
        except NothingToDraw as nothing:
            return "".join(words.message(sheet, nothing.words, _FAULT if nothing.is_fault else self.theme.muted).parts)
        except DeadlineExceeded:
            return "".join(words.message(sheet, "Not drawn in time", _FAULT).parts)
        except (NotDrawn, ET.ParseError) as error:
            _log.warning("panel_not_drawn", type=box.panel.type[:80], reason=str(error))
            return "".join(words.message(sheet, "This panel could not be drawn", _FAULT).parts)

    async def _drawn(self, sheet: Sheet) -> PanelDrawing:
        """Return the drawing of a panel. Raises NothingToDraw."""
        panel = sheet.panel
        kind = KINDS.get(panel.type)
        if kind is None:
            raise NothingToDraw("" if panel.type == "row" else f"{panel.type or 'unknown'}: not drawn in pictures")
        if panel.type in WITHOUT_QUERIES:
            return kind(sheet)
        with self._settings.memory.reservation(self._context.org_id) as memory:
            sheet = replace(sheet, frames=await self._frames(panel, int(sheet.width), memory))
            return await asyncio.to_thread(kind, sheet)

    async def _frames(self, panel: Panel, width: int, memory: Reservation) -> list[Frame]:
        """Return the results of the panel's queries. Raises NothingToDraw with the first error if there are no others."""
        if not panel.targets:
            raise NothingToDraw("No data")
        points = min(max(width, 100), MOST_POINTS)
        body = {
            "from": str(int(_milliseconds(self._span.start))),
            "to": str(int(_milliseconds(self._span.end))),
            "queries": [self._query(target, points) for target in panel.targets],
        }
        try:
            evaluation = await queries.evaluate(orjson.dumps(body), self._context, self._settings, memory)
        except DashwrightError as error:
            raise NothingToDraw(text_of_error(error), is_fault=True) from error
        frames = [frame for result in evaluation.shown.values() for frame in result.frames]
        errors = [result.error for result in evaluation.shown.values() if result.error]
        if errors and not frames:
            raise NothingToDraw(text_of_error(errors[0]), is_fault=True)
        return frames

    def _query(self, target: Any, points: int) -> dict[str, Any]:
        length = _milliseconds(self._span.end) - _milliseconds(self._span.start)
        return {"intervalMs": max(1000, int(length / points)), "maxDataPoints": points, **target}


def _composed(layout: PictureLayout, inside: Sequence[str], theme: Theme, title: str, span: TimeRange) -> str:
    parts = [svg.box(0, 0, layout.width, layout.height, theme.canvas)]
    if layout.top:
        range_text = f"{span.start:%Y-%m-%d %H:%M} to {span.end:%Y-%m-%d %H:%M} {span.end:%Z}"
        room = layout.width - 24 - svg.width_of(range_text, 11) - 16
        parts.append(svg.text(svg.shortened(title, _HEADING, room), 12, 26, size=_HEADING, colour=theme.text, bold=True))
        parts.append(svg.text(range_text, layout.width - 12, 25, size=11, colour=theme.muted, anchor="end"))
    for box, content in zip(layout.boxes, inside, strict=True):
        parts.append(_framed(box, content, theme))
    if layout.left_out:
        words_left = f"{layout.left_out} more panels are not shown"
        parts.append(svg.text(words_left, layout.width / 2, layout.height - 9, size=12, colour=theme.muted, anchor="middle"))
    return svg.whole(parts, layout.width, layout.height)


def _framed(box: Box, content: str, theme: Theme) -> str:
    """Return a panel with its border and title; a row is a line of text."""
    title = box.panel.title
    if box.panel.type == "row":
        shown = svg.shortened(title, 14, box.width - 16)
        return svg.text(shown, box.x + 4, box.y + box.height / 2 + 5, size=14, colour=theme.text, bold=True)
    frame = svg.box(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1, theme.panel, border=theme.border, radius=3)
    width, height = box.inside
    heading = ""
    if box.has_title:
        shown = svg.shortened(title, _TITLE, box.width - 20)
        heading = svg.text(shown, box.x + 10, box.y + 19, size=_TITLE, colour=theme.text, bold=True)
    return frame + heading + svg.placed([content], box.x + INSET, box.y + box.height - height - INSET, width, height)


def _with_own_ids(chart: bytes, prefix: str) -> str:
    """Return the SVG of a chart with prefixed ids, so that several charts fit into one picture. Raises ParseError."""
    root = ET.fromstring(chart)  # noqa: S314 (the drawing library wrote it: it declares no entities)
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == "id":
                element.set(name, prefix + value)
            elif value.startswith("url(#"):
                element.set(name, f"url(#{prefix}{value[5:]}")
            elif name in ("href", f"{{{_XLINK}}}href"):
                element.set(name, f"#{prefix}{value[1:]}" if value.startswith("#") else "")
    return ET.tostring(root, encoding="unicode")


def _milliseconds(instant: datetime) -> float:
    return instant.timestamp() * 1000
