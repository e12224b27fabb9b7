"""The TestData source: returns what the query itself holds or describes, and needs no record."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

from dashwright.common.errors import BadRequest, SourceFailed
from dashwright.common.models.data_source_types import TESTDATA
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.duration import nanoseconds
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.formats.frame_reader import read_frames
from dashwright.expressions.sources.source import Source
from dashwright.expressions.sources.testdata.columns import field_of, table
from dashwright.expressions.sources.testdata.naming import series_name
from dashwright.expressions.sources.testdata.properties import Properties
from dashwright.expressions.sources.testdata.series import predictable_pulse, random_walks, spread_over

Outcome = TypeVar("Outcome")

TYPE: Final = TESTDATA.id

#: Characters above which content is parsed outside of the event loop.
_LARGE: Final = 5_000


class TestData(Source):
    """The source of all scenarios, chosen by ``scenarioId``; the default is a random walk."""

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Return the frames of the scenario. Raises BadRequest for an unknown one."""
        properties = Properties.of(query, time_range)
        scenario = properties.text("scenarioId") or query.query_type or "random_walk"
        run = _SCENARIOS.get(scenario)
        if run is None:
            raise BadRequest(f"scenario {scenario!r:.80} of {TYPE} is not served; use one of {', '.join(_SCENARIOS)}")
        return await run(properties, limits)

    async def health(self) -> str:
        """Return that the source works."""
        return "Data source is working"


async def _raw_frame(query: Properties, limits: Limits) -> Sequence[Frame]:
    """Return the frames in ``rawFrameContent``, JSON text."""
    content = query.values.get("rawFrameContent", "")
    if not isinstance(content, str):
        raise BadRequest("rawFrameContent must be text that holds a JSON list of frames")
    if not content.strip():
        return []
    return await _read(content, partial(read_frames, content))


async def _csv_content(query: Properties, limits: Limits) -> Sequence[Frame]:
    content = query.text("csvContent")
    return [await _read(content, partial(table, content, query.text("alias")))] if content.strip() else []


async def _csv_metric_values(query: Properties, limits: Limits) -> Sequence[Frame]:
    line = query.text("stringInput").replace(" ", "")
    if not line:
        return [Frame()]
    values = field_of(series_name(query.ref_id, query.text("alias"), 0), line.split(","))
    return [spread_over(query, values)]


async def _random_walk(query: Properties, limits: Limits) -> Sequence[Frame]:
    return await asyncio.to_thread(random_walks, query, int(query.number("seriesCount", 1)), limits)


async def _slow_query(query: Properties, limits: Limits) -> Sequence[Frame]:
    """Return a random walk after ``stringInput``, a length of time. Raises TooLarge for a longer one than is allowed."""
    wait = query.text("stringInput").strip()
    seconds = max(0, nanoseconds(wait)) / 1e9 if wait else 0
    if seconds > limits.testdata_seconds:
        raise limits.refusal("testdata_seconds", f"slow_query is to wait {seconds:g} s", "give a shorter stringInput")
    await asyncio.sleep(seconds)
    return await asyncio.to_thread(random_walks, query, 1, limits)


async def _predictable_pulse(query: Properties, limits: Limits) -> Sequence[Frame]:
    return [predictable_pulse(query)]


async def _no_data_points(query: Properties, limits: Limits) -> Sequence[Frame]:
    return []


async def _server_error(query: Properties, limits: Limits) -> Sequence[Frame]:
    """Return the values in ``stringInput``. Raises SourceFailed without it."""
    if not query.text("stringInput"):
        raise SourceFailed("the scenario server_error_500 fails on purpose; give stringInput to have values instead")
    return await _csv_metric_values(query, limits)


async def _read(content: str, read: Callable[[], Outcome]) -> Outcome:
    return await asyncio.to_thread(read) if len(content) > _LARGE else read()


_SCENARIOS: Final[Mapping[str, Callable[[Properties, Limits], Awaitable[Sequence[Frame]]]]] = {
    "raw_frame": _raw_frame,
    "csv_content": _csv_content,
    "csv_metric_values": _csv_metric_values,
    "random_walk": _random_walk,
    "slow_query": _slow_query,
    "predictable_pulse": _predictable_pulse,
    "no_data_points": _no_data_points,
    "server_error_500": _server_error,
}
