"""Rendering of the panels of a picture: their queries are run, and the results are drawn, or the reason why nothing is drawn."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from time import monotonic
from typing import Any, Final

import orjson

from dashwright.common.errors import DashwrightError, DeadlineExceeded
from dashwright.common.models.data_source_types import PROMETHEUS
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions import queries
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.memory import Reservation
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.formats.response import client_message
from dashwright.expressions.pictures.dashboard import Panel
from dashwright.expressions.pictures.layout import Box
from dashwright.expressions.pictures.outcomes import PanelOutcome, State, ignored_settings_notes
from dashwright.expressions.pictures.panels import DRAW_FUNCTIONS, WITH_NO_VALUE, WITHOUT_QUERIES, text
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.placeholders import sentence_of
from dashwright.expressions.pictures.prometheus_tables import with_tables
from dashwright.expressions.pictures.series import MAX_POINTS
from dashwright.expressions.pictures.theme import Theme
from dashwright.expressions.sources.catalog import Catalog
from dashwright.expressions.sources.prometheus import steps
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
#: The scrape interval of Prometheus that Grafana assumes if it is not configured.
_DEFAULT_SCRAPE_INTERVAL: Final = "15s"
_ERROR_COLOUR: Final = "#e02f44"
_NO_DATA: Final = "No data"
#: A reference in a title to the interval of the queries, which depends on the width of the panel.
_INTERVAL: Final = re.compile(r"\$\{__interval(_ms)?\}|\$__interval(_ms)?\b|\[\[__interval(_ms)?\]\]")


@dataclass(frozen=True, slots=True)
class RenderContext:
    """The inputs that all panels of a picture share."""

    theme: Theme
    time_range: TimeRange
    zone: tzinfo
    query: QueryContext
    settings: queries.QuerySettings
    catalog: Catalog
    deadline: float  #: A time of ``time.monotonic``.


class PanelRenderer:
    """A renderer of the panels of one picture."""

    def __init__(self, context: RenderContext) -> None:
        self._context = context
        self._slots = asyncio.Semaphore(_CONCURRENT_PANELS)

    def with_interval(self, box: Box) -> Box:
        """Return a box whose title has the interval of the panel's queries instead of references to it."""
        panel = box.panel
        if not _INTERVAL.search(panel.title):
            return box
        target = panel.targets[0] if panel.targets else {}
        interval_ms = self._interval_ms(target, panel, _points(panel, box.content_size[0]))
        brief_interval = steps.format_brief(interval_ms * _NANOS_PER_MILLISECOND)
        # A group matches if the reference is to the interval in milliseconds (``_ms``).
        title = _INTERVAL.sub(lambda match: str(interval_ms) if any(match.groups()) else brief_interval, panel.title)
        return replace(box, panel=replace(panel, title=title))

    async def render_all(self, boxes: Sequence[Box]) -> list[PanelOutcome]:
        """Return the outcome of each panel, in the order of ``boxes``."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._render(box)) for box in boxes]
        return [task.result() for task in tasks]

    async def _render(self, box: Box) -> PanelOutcome:
        """Return the outcome of a panel: its drawing, or a message about what prevents it."""
        time_range = self._range_of(box.panel)
        start, end = milliseconds(time_range.start), milliseconds(time_range.end)
        props = PanelProps(box.panel, (), *box.content_size, self._context.theme, start, end, self._context.zone)
        try:
            async with self._slots, asyncio.timeout(self._context.deadline - _COMPOSITION_SECONDS - monotonic()):
                drawing, problems = await self._draw(props)
            problems = [*problems, *drawing.notes, *ignored_settings_notes(box.panel)]
            state = State.PARTIAL if problems else State.DRAWN
            message = "; ".join(problems)
            return PanelOutcome(
                "".join(drawing.elements), state, message, time_note=_time_note(box.panel), is_contained=drawing.is_contained
            )
        except NothingToDraw as reason:
            return self._message(props, reason.message, State.ERROR if reason.is_error else State.NO_DATA)
        except (TimeoutError, DeadlineExceeded):
            return self._message(props, "Not drawn in time", State.ERROR)

    def _message(self, props: PanelProps, message: str, state: State) -> PanelOutcome:
        """Return the outcome of a panel that shows a message. Without data, a type that is not drawn is ``UNSUPPORTED``."""
        if state is State.NO_DATA and props.panel.type not in DRAW_FUNCTIONS:
            state = State.UNSUPPORTED
        colour = _ERROR_COLOUR if state is State.ERROR else self._context.theme.muted
        return PanelOutcome(
            "".join(text.message(props, message, colour).elements), state, message, is_message=True, time_note=_time_note(props.panel)
        )

    async def _draw(self, props: PanelProps) -> tuple[PanelDrawing, list[str]]:
        """Return the drawing of a panel, and the errors of queries that failed.

        Raises NothingToDraw if the type is not drawn, if the panel has a problem or no data, or if all queries failed.
        """
        panel = props.panel
        if panel.problem:
            raise NothingToDraw(panel.problem, is_error=True)
        draw_panel = DRAW_FUNCTIONS.get(panel.type)
        if draw_panel is None:
            raise NothingToDraw("" if panel.type == "row" else sentence_of(panel.type))
        if panel.type in WITHOUT_QUERIES:
            return draw_panel(props), []
        with self._context.settings.memory.reservation(self._context.query.org_id) as memory:
            frames, errors = await self._frames(panel, int(props.width), memory)
            props = replace(props, frames=frames)
            return await asyncio.to_thread(draw_panel, props), errors

    async def _frames(self, panel: Panel, width: int, memory: Reservation) -> tuple[list[Frame], list[str]]:
        """Return the frames of the panel's queries, and the errors of those that failed.

        Raises NothingToDraw with the first error if no query has a result.
        """
        if not panel.targets:
            raise NothingToDraw(_NO_DATA)
        points = _points(panel, width)
        time_range = self._range_of(panel)
        body = {
            "from": str(milliseconds(time_range.start)),
            "to": str(milliseconds(time_range.end)),
            "queries": [self._query(target, panel, points) for target in panel.targets],
        }
        try:
            document = orjson.dumps(body)
        except orjson.JSONEncodeError as error:
            raise NothingToDraw(f"the queries cannot be read: {error}", is_error=True) from error
        # Grafana ignores unknown members of saved queries.
        context = replace(self._context.query, panel_id=panel.id, lenient=True)
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
        return frames, errors

    def _transformed(self, frames: Sequence[Frame], panel: Panel, memory: Reservation) -> list[Frame]:
        """Return the frames in the format of their targets, and after the transformations of the panel.

        Raises NothingToDraw with the error of a step that failed.
        """
        deadline = Deadline(self._context.deadline - _COMPOSITION_SECONDS - monotonic())
        limits = replace(self._context.settings.limits, memory=memory, deadline=deadline)
        context = Context(limits, self._context.zone)
        try:
            tables = with_tables(frames, panel.targets, context)
            return transformed_for_drawing([tables], panel.transformations, context) if panel.transformations else tables
        except DeadlineExceeded:
            # ``_render`` reports it like a timeout of the queries.
            raise
        except DashwrightError as error:
            raise NothingToDraw(client_message(error), is_error=True) from error

    def _query(self, target: Any, panel: Panel, points: int) -> dict[str, Any]:
        """Return the query of a target, by default with an interval and a number of points that fit the panel."""
        return {"intervalMs": self._interval_ms(target, panel, points), "maxDataPoints": points, **target}

    def _interval_ms(self, target: Any, panel: Panel, points: int) -> int:
        """Return the interval of a query: the range divided by its points, at least the configured minimum, in milliseconds."""
        time_range = self._range_of(panel)
        length = milliseconds(time_range.end) - milliseconds(time_range.start)
        minimum = minimum_of(panel.interval, self._scrape_interval(target))
        return max(_MIN_INTERVAL_MS, interval_of(length * _NANOS_PER_MILLISECOND, points, minimum) // _NANOS_PER_MILLISECOND)

    def _scrape_interval(self, target: Any) -> str:
        """Return the scrape interval of the data source of a target; empty if it has none."""
        datasource = target.get("datasource")
        entry = self._context.catalog.find(str(datasource.get("uid"))) if isinstance(datasource, dict) else None
        return (entry.scrape_interval or _DEFAULT_SCRAPE_INTERVAL) if entry and entry.type == PROMETHEUS.id else ""

    def _range_of(self, panel: Panel) -> TimeRange:
        """Return the time range of a panel: its own or that of the picture."""
        return panel.time.range if panel.time else self._context.time_range


def _points(panel: Panel, width: float) -> int:
    """Return the number of points that the queries of a panel with a width in pixels request."""
    return min(max(panel.max_data_points or int(width), _MIN_REQUESTED_POINTS), MAX_POINTS)


def _time_note(panel: Panel) -> str:
    return panel.time.note if panel.time else ""
