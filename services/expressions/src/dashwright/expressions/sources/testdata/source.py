"""The TestData source. It returns frames that the query contains or describes, and has no stored record."""

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
from dashwright.expressions.sources.testdata.columns import field_of, read_csv
from dashwright.expressions.sources.testdata.naming import series_name
from dashwright.expressions.sources.testdata.properties import Properties
from dashwright.expressions.sources.testdata.series import predictable_pulse, random_walks, spread_over

ParseResult = TypeVar("ParseResult")

TYPE: Final = TESTDATA.id

#: The maximum length of content that is parsed on the event loop.
_MAX_LENGTH_ON_LOOP: Final = 5_000


class TestData(Source):
    """The source of all scenarios. ``scenarioId`` selects a scenario; the default is a random walk."""

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Return the frames of the scenario. Raises BadRequest for an unknown one."""
        properties = Properties.of(query, time_range)
        scenario = properties.string("scenarioId") or query.query_type or "random_walk"
        run = _SCENARIOS.get(scenario)
        if run is None:
            raise BadRequest(f"scenario {scenario!r:.80} of {TYPE} is not supported; use one of {', '.join(_SCENARIOS)}")
        return await run(properties, limits)

    async def health(self) -> str:
        """Return a message that the source works."""
        return "Data source is working"


async def _raw_frame(query: Properties, limits: Limits) -> Sequence[Frame]:
    """Return the frames in ``rawFrameContent``, a string of JSON."""
    content = query.values.get("rawFrameContent", "")
    if not isinstance(content, str):
        raise BadRequest("rawFrameContent must be text that holds a JSON list of frames")
    if not content.strip():
        return []
    return await _parse(content, partial(read_frames, content))


async def _csv_content(query: Properties, limits: Limits) -> Sequence[Frame]:
    content = query.string("csvContent")
    return [await _parse(content, partial(read_csv, content, query.string("alias")))] if content.strip() else []


async def _csv_metric_values(query: Properties, limits: Limits) -> Sequence[Frame]:
    """Return the values in ``stringInput``, which commas separate, at times spread over the time range."""
    line = query.string("stringInput").replace(" ", "")
    if not line:
        return [Frame()]
    values = field_of(series_name(query.ref_id, query.string("alias"), 0), line.split(","))
    return [spread_over(query, values)]


async def _random_walk(query: Properties, limits: Limits) -> Sequence[Frame]:
    return await asyncio.to_thread(random_walks, query, max(0, int(query.number("seriesCount", 1))), limits)


async def _slow_query(query: Properties, limits: Limits) -> Sequence[Frame]:
    """Return a random walk after the duration ``stringInput``. Raises TooLarge if the duration exceeds the limit."""
    duration = query.string("stringInput").strip()
    seconds = max(0, nanoseconds(duration)) / 1e9 if duration else 0
    if seconds > limits.testdata_seconds:
        raise limits.refusal("testdata_seconds", f"slow_query is to wait {seconds:g} s", "give a shorter stringInput")
    await asyncio.sleep(seconds)
    return await asyncio.to_thread(random_walks, query, 1, limits)


async def _predictable_pulse(query: Properties, limits: Limits) -> Sequence[Frame]:
    return [predictable_pulse(query)]


async def _no_data_points(query: Properties, limits: Limits) -> Sequence[Frame]:
    return []


async def _server_error(query: Properties, limits: Limits) -> Sequence[Frame]:
    """Return the values in ``stringInput``. Raises SourceFailed if it is empty."""
    if not query.string("stringInput"):
        raise SourceFailed("the scenario server_error_500 fails on purpose; give stringInput to have values instead")
    return await _csv_metric_values(query, limits)


async def _parse(content: str, parse: Callable[[], ParseResult]) -> ParseResult:
    """Return the result of ``parse``, which is called in a thread if the content is long."""
    return await asyncio.to_thread(parse) if len(content) > _MAX_LENGTH_ON_LOOP else parse()


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
