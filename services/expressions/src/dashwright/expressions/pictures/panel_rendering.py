"""Rendering of the panels of a picture: runs their queries and draws the results, or the reason why there is no drawing."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from time import monotonic
from typing import Any, Final

import orjson

from dashwright.common.errors import BadRequest, DashwrightError, DeadlineExceeded
from dashwright.common.models.data_source_types import PROMETHEUS
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions import queries
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.engine.memory import Reservation
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.formats.response import client_message
from dashwright.expressions.pictures.dashboard import Panel
from dashwright.expressions.pictures.layout import Box
from dashwright.expressions.pictures.outcomes import PanelOutcome, State, left_out
from dashwright.expressions.pictures.panel_time import PanelTime, panel_time
from dashwright.expressions.pictures.panels import DRAW_FUNCTIONS, WITH_NO_VALUE, WITHOUT_QUERIES, text
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.placeholders import sentence_of
from dashwright.expressions.pictures.prometheus_tables import with_tables
from dashwright.expressions.pictures.series import MAX_POINTS
from dashwright.expressions.pictures.theme import Theme
from dashwright.expressions.pictures.zones import PictureTime
from dashwright.expressions.sources.catalog import Catalog
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.result import transformed_for_drawing
from dashwright.expressions.variables.builtin import milliseconds
from dashwright.expressions.variables.intervals import interval_of, minimum_of

#: Panels of one picture whose queries run concurrently.
_CONCURRENT_PANELS: Final = 4
#: Seconds before the deadline that are reserved for composing the picture. A panel that is not drawn by then shows a message.
_COMPOSITION_SECONDS: Final = 6.0
#: The minimum of ``maxDataPoints`` of a query, for panels that are very narrow.
_MIN_REQUESTED_POINTS: Final = 100
_MIN_INTERVAL_MS: Final = 1_000
_NANOS_PER_MILLISECOND: Final = 1_000_000
_DEFAULT_SCRAPE_INTERVAL: Final = "15s"
_ERROR_COLOUR: Final = "#e02f44"
_NO_DATA: Final = "No data"


@dataclass(frozen=True, slots=True)
class RenderContext:
    """The inputs that all panels of a picture share."""

    theme: Theme
    time: PictureTime
    now: datetime
    query: QueryContext
    settings: queries.QuerySettings
    catalog: Catalog
    deadline: float  #: A time of ``time.monotonic``.


class PanelRenderer:
    """A renderer of the panels of one picture."""

    def __init__(self, context: RenderContext) -> None:
        self._context = context
        self._slots = asyncio.Semaphore(_CONCURRENT_PANELS)
        # Axes are in UTC, so that times are moved by the offset of the zone.
        offset = context.time.range.end.astimezone(context.time.zone).utcoffset()
        self._offset_ms = int(offset.total_seconds() * 1000) if offset else 0

    async def render_all(self, boxes: Sequence[Box]) -> list[PanelOutcome]:
        """Return the outcome of each panel, in the order of ``boxes``."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._render(box)) for box in boxes]
        return [task.result() for task in tasks]

    async def _render(self, box: Box) -> PanelOutcome:
        """Return the SVG of a panel's content, or of a message."""
        context, panel = self._context, box.panel
        try:
            time = panel_time(panel.time, context.time.range, context.now, is_relative=context.time.is_relative)
        except BadRequest as error:
            time, panel = PanelTime(context.time.range), replace(panel, problem=client_message(error))
        start, end = (milliseconds(moment) + self._offset_ms for moment in (time.range.start, time.range.end))
        props = PanelProps(panel, (), *box.content_size, context.theme, start, end, context.time.zone)
        return replace(await self._outcome(props, time.range), time_text=time.text)

    async def _outcome(self, props: PanelProps, time_range: TimeRange) -> PanelOutcome:
        try:
            async with self._slots, asyncio.timeout(self._context.deadline - _COMPOSITION_SECONDS - monotonic()):
                drawing, problems = await self._draw(props, time_range)
            problems = [*problems, *drawing.notes, *left_out(props.panel)]
            return PanelOutcome("".join(drawing.elements), State.PARTIAL if problems else State.DRAWN, "; ".join(problems))
        except NothingToDraw as reason:
            return self._message(props, reason.message, State.ERROR if reason.is_error else State.NO_DATA)
        except (TimeoutError, DeadlineExceeded):
            return self._message(props, "Not drawn in time", State.ERROR)

    def _message(self, props: PanelProps, message: str, state: State) -> PanelOutcome:
        if state is State.NO_DATA and props.panel.type not in DRAW_FUNCTIONS:
            state = State.UNSUPPORTED
        colour = _ERROR_COLOUR if state is State.ERROR else self._context.theme.muted
        return PanelOutcome("".join(text.message(props, message, colour).elements), state, message, is_message=True)

    async def _draw(self, props: PanelProps, time_range: TimeRange) -> tuple[PanelDrawing, list[str]]:
        """Return the drawing of a panel, and the errors of queries that it lacks. Raises NothingToDraw."""
        panel = props.panel
        draw_panel = DRAW_FUNCTIONS.get(panel.type)
        if draw_panel is None:
            raise NothingToDraw("" if panel.type == "row" else sentence_of(panel.type))
        if panel.type in WITHOUT_QUERIES:
            return draw_panel(props), []
        if panel.problem:
            raise NothingToDraw(panel.problem, is_error=True)
        with self._context.settings.memory.reservation(self._context.query.org_id) as memory:
            frames, errors = await self._frames(props, time_range, memory)
            props = replace(props, frames=frames)
            return await asyncio.to_thread(draw_panel, props), errors

    async def _frames(self, props: PanelProps, time_range: TimeRange, memory: Reservation) -> tuple[list[Frame], list[str]]:
        """Return the frames of the panel's queries, and the errors of those that failed.

        Raises NothingToDraw with the first error if no query has a result.
        """
        panel = props.panel
        if not panel.targets:
            raise NothingToDraw(_NO_DATA)
        points = min(max(panel.max_data_points or int(props.width), _MIN_REQUESTED_POINTS), MAX_POINTS)
        length = milliseconds(time_range.end) - milliseconds(time_range.start)
        body = {
            "from": str(milliseconds(time_range.start)),
            "to": str(milliseconds(time_range.end)),
            "queries": [self._query(target, panel, points, length) for target in panel.targets],
        }
        try:
            document = orjson.dumps(body)
        except orjson.JSONEncodeError as error:
            raise NothingToDraw(f"the queries cannot be read: {error}", is_error=True) from error
        context = replace(self._context.query, panel_id=panel.id)
        try:
            evaluation = await queries.evaluate(document, context, self._context.settings, memory)
        except DashwrightError as error:
            raise NothingToDraw(client_message(error), is_error=True) from error
        frames = [frame for result in evaluation.results.values() for frame in result.frames]
        errors = [client_message(result.error) for result in evaluation.results.values() if result.error]
        if errors and not frames:
            raise NothingToDraw(errors[0], is_error=True)
        frames = await asyncio.to_thread(self._transformed, frames, panel, memory)
        if not any(frame.row_count for frame in frames) and not (panel.no_value and panel.type in WITH_NO_VALUE):
            raise NothingToDraw(panel.no_value or (f"{_NO_DATA} ({panel.hint})" if panel.hint else _NO_DATA))
        return [self._in_zone(frame) for frame in frames], errors

    def _transformed(self, frames: Sequence[Frame], panel: Panel, memory: Reservation) -> list[Frame]:
        """Return the frames in the format of their targets, and after the transformations of the panel.

        Raises NothingToDraw with the error of a step that failed.
        """
        deadline = Deadline(self._context.deadline - _COMPOSITION_SECONDS - monotonic())
        limits = replace(self._context.settings.limits, memory=memory, deadline=deadline)
        context = Context(limits, self._context.time.zone)
        try:
            tables = with_tables(frames, panel.targets, context)
            return transformed_for_drawing([tables], panel.transformations, context) if panel.transformations else tables
        except DeadlineExceeded:
            raise
        except DashwrightError as error:
            raise NothingToDraw(client_message(error), is_error=True) from error

    def _query(self, target: Any, panel: Panel, points: int, length: int) -> dict[str, Any]:
        """Return the query of a target, by default with an interval and a number of points that fit the panel.

        ``length`` is that of the time range in milliseconds.
        """
        minimum = minimum_of(panel.interval, self._scrape_interval(target))
        interval_ms = interval_of(length * _NANOS_PER_MILLISECOND, points, minimum) // _NANOS_PER_MILLISECOND
        return {"intervalMs": max(_MIN_INTERVAL_MS, interval_ms), "maxDataPoints": points, **target}

    def _scrape_interval(self, target: Any) -> str:
        """Return the scrape interval of the data source of a target; empty if it has none."""
        datasource = target.get("datasource")
        entry = self._context.catalog.find(str(datasource.get("uid"))) if isinstance(datasource, dict) else None
        return (entry.scrape_interval or _DEFAULT_SCRAPE_INTERVAL) if entry and entry.type == PROMETHEUS.id else ""

    def _in_zone(self, frame: Frame) -> Frame:
        """Return the frame with its times moved to the time zone of the picture."""
        if not self._offset_ms:
            return frame
        offset = self._offset_ms * _NANOS_PER_MILLISECOND
        fields = [replace(field, values=field.values + offset) if field.type is FieldType.TIME else field for field in frame.fields]
        return Frame(fields, frame.name, frame.ref_id, frame.meta)
