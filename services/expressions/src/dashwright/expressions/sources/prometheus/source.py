"""The data source for Prometheus and servers with the same HTTP API."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from dashwright.common.errors import BadRequest, DashwrightError, SourceFailed, TooLarge
from dashwright.common.models.data_source_types import PROMETHEUS
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.frame_set import first_meta, with_first_meta
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.http_client import HttpClient, HttpResponse
from dashwright.expressions.sources.prometheus import steps
from dashwright.expressions.sources.prometheus.query import PrometheusQuery, read_query
from dashwright.expressions.sources.prometheus.response import PrometheusResponse, frames_of, parse_response
from dashwright.expressions.sources.prometheus.variable_queries import variable_request
from dashwright.expressions.sources.source import PreparedQuery, Source

TYPE: Final = PROMETHEUS.id

# HTTP statuses.
_OK: Final = 200
_UNAUTHORIZED: Final = frozenset({401, 403})
_QUERY_ERRORS: Final = frozenset({400, 422})
_WRONG_ENDPOINT: Final = frozenset({404, 405})
#: The largest response in bytes that is parsed on the event loop.
_MAX_BYTES_ON_LOOP: Final = 150_000


class Prometheus(Source):
    """One configured Prometheus data source."""

    def __init__(self, record: SourceRecord, http: HttpClient, threads: ThreadPoolExecutor | None = None) -> None:
        """Create the data source of a record. ``threads`` parse large responses, by default the threads of the event loop."""
        self._record = record
        self._http = http
        self._threads = threads

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Return the frames of the instant query, the range query or both."""
        return await self._run(read_query(query, time_range, self._record), limits)

    def prepare(self, query: SourceQuery, time_range: TimeRange) -> PreparedQuery:
        """Return the query as it is sent, which is also its key."""
        prometheus_query = read_query(query, time_range, self._record)
        return PreparedQuery(prometheus_query, partial(self._run, prometheus_query))

    async def _run(self, prometheus_query: PrometheusQuery, limits: Limits) -> Sequence[Frame]:
        results = []
        if prometheus_query.is_instant:
            time = {"time": steps.format_seconds(prometheus_query.evaluation_time)}
            results.append(await self._query(prometheus_query, "api/v1/query", time, limits))
        if prometheus_query.is_range:
            start, end, step = map(steps.format_seconds, (prometheus_query.start, prometheus_query.end, prometheus_query.step))
            results.append(await self._query(prometheus_query, "api/v1/query_range", {"start": start, "end": end, "step": step}, limits))
        frames = results[0] if len(results) == 1 else [frame for result in results for frame in result]
        if not prometheus_query.notices:
            return frames
        meta = dict(first_meta(frames) or {})
        notices = [*meta.get("notices", ()), *({"severity": "info", "text": notice} for notice in prometheus_query.notices)]
        return with_first_meta(frames, {**meta, "notices": notices})

    async def variable_options(self, text: str, time_range: TimeRange, limits: Limits) -> Sequence[tuple[str, str]]:
        """Return the values that a query of a variable, such as ``label_values(up, job)``, selects."""
        request = variable_request(text, time_range)
        response = await self._http.request(self._record, request.method or self._method, request.path, request.parameters, limits)
        if response.status != _OK:
            # Raises the error of the server.
            self._parse(response)
        is_large = len(response.body) > _MAX_BYTES_ON_LOOP
        read = partial(request.read, response.body)
        values = await asyncio.get_running_loop().run_in_executor(self._threads, read) if is_large else read()
        return [(value, value) for value in values]

    async def health(self) -> str:
        """Return a success message if the API works. Raises the same errors as ``query``."""
        # As in Grafana, a query that reads no series.
        response = await self._http.request(self._record, self._method, "api/v1/query", {"query": "1+1", "time": "4"}, Limits())
        self._parse(response)
        return "Successfully queried the Prometheus API."

    @property
    def _method(self) -> str:
        return "GET" if str(self._record.json_data.get("httpMethod") or "").upper() == "GET" else "POST"

    async def _query(self, query: PrometheusQuery, path: str, parameters: Mapping[str, str], limits: Limits) -> Sequence[Frame]:
        form = {"query": query.expr, **parameters}
        if timeout := self._record.json_data.get("queryTimeout"):
            form["timeout"] = str(timeout)
        response = await self._http.request(self._record, self._method, path, form, limits)
        read_frames = partial(self._frames, response, query, limits)
        return (
            await asyncio.get_running_loop().run_in_executor(self._threads, read_frames)
            if len(response.body) > _MAX_BYTES_ON_LOOP
            else read_frames()
        )

    def _frames(self, response: HttpResponse, query: PrometheusQuery, limits: Limits) -> Sequence[Frame]:
        parsed = self._parse(response)
        try:
            return frames_of(parsed, query, limits)
        except (SourceFailed, TooLarge) as error:
            raise type(error)(f"the data source {self._record.name!r:.80}: {error.message}", message_id=error.message_id) from error

    def _parse(self, response: HttpResponse) -> PrometheusResponse:
        """Return the parsed response. Raises SourceFailed or BadRequest if the server reports an error."""
        if response.status in _UNAUTHORIZED:
            raise SourceFailed(f"Prometheus refuses the credentials (HTTP {response.status}); correct them in the data source's settings")
        try:
            parsed = parse_response(response.body)
        except SourceFailed as error:
            problem = f": {error.message}" if response.status == _OK else f" returned HTTP {response.status}; {_advice(response.status)}"
            raise SourceFailed(f"the data source {self._record.name!r:.80}{problem}") from error
        if response.status == _OK and not parsed.error:
            return parsed
        reason = parsed.error or f"HTTP {response.status}"
        error_class: type[DashwrightError] = BadRequest if response.status in _QUERY_ERRORS else SourceFailed
        raise error_class(f"Prometheus returned {reason}")


def _advice(status: int) -> str:
    if status in _WRONG_ENDPOINT:
        return "check the data source's URL (without /api/v1), or set its HTTP method to GET"
    return "try again, or check the server"
