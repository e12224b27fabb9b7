"""The source that queries Prometheus and servers with its HTTP API."""

import asyncio
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from dashwright.common.errors import BadRequest, DashwrightError, SourceFailed
from dashwright.common.models.data_source_types import PROMETHEUS
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.http.client import HttpClient, HttpResponse
from dashwright.expressions.sources.privacy import confidential_errors
from dashwright.expressions.sources.prometheus import steps
from dashwright.expressions.sources.prometheus.query import PrometheusQuery, read_query
from dashwright.expressions.sources.prometheus.response import PrometheusResponse, frames_of, parse_response
from dashwright.expressions.sources.source import Source

TYPE: Final = PROMETHEUS.id

_OK: Final = 200
_REFUSED: Final = frozenset({401, 403})
_QUERY_ERRORS: Final = frozenset({400, 422})
_WRONG_ENDPOINT: Final = frozenset({404, 405})
#: Bytes above which a response is parsed outside of the event loop.
_LARGE: Final = 50_000


class Prometheus(Source):
    """One configured Prometheus data source."""

    def __init__(self, record: SourceRecord, http: HttpClient) -> None:
        self._record = record
        self._http = http

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Return the results of the instant and the range query that the target asks for."""
        prepared = read_query(query, time_range, self._record)
        frames = []
        if prepared.is_instant:
            frames += await self._ask(prepared, "api/v1/query", {"time": steps.decimal(prepared.at)}, limits)
        if prepared.is_range:
            start, end, step = map(steps.decimal, (prepared.start, prepared.end, prepared.step))
            frames += await self._ask(prepared, "api/v1/query_range", {"start": start, "end": end, "step": step}, limits)
        first, *others = frames
        notices = [*(first.meta or {}).get("notices", ()), *({"severity": "info", "text": text} for text in prepared.notices)]
        return [replace(first, meta={**(first.meta or {}), "notices": notices}) if notices else first, *others]

    async def health(self) -> str:
        """Return a success message if the API works. Raises like ``query``."""
        with confidential_errors():
            response = await self._http.ask(self._record, self._method, "api/v1/query", {"query": "1+1", "time": "4"}, Limits())
        self._parsed(response, Limits())
        return "Successfully queried the Prometheus API."

    def cache_key(self, query: SourceQuery, time_range: TimeRange) -> Hashable:
        """Return the query. Its evaluation time is ignored unless it is an instant query."""
        prepared = read_query(query, time_range, self._record)
        return prepared if prepared.is_instant else replace(prepared, at=prepared.end)

    @property
    def _method(self) -> str:
        return "GET" if str(self._record.json_data.get("httpMethod") or "").upper() == "GET" else "POST"

    async def _ask(self, query: PrometheusQuery, path: str, parameters: Mapping[str, str], limits: Limits) -> list[Frame]:
        form = {"query": query.expr, **parameters}
        if timeout := self._record.json_data.get("queryTimeout"):
            form["timeout"] = str(timeout)
        with confidential_errors():
            response = await self._http.ask(self._record, self._method, path, form, limits)
        read = partial(self._frames, response, query, limits)
        return await asyncio.to_thread(read) if len(response.body) > _LARGE else read()

    def _frames(self, response: HttpResponse, query: PrometheusQuery, limits: Limits) -> list[Frame]:
        return frames_of(self._parsed(response, limits), query, limits)

    def _parsed(self, response: HttpResponse, limits: Limits) -> PrometheusResponse:
        """Return the parsed response if the server reports success. Raises SourceFailed or BadRequest otherwise."""
        if response.status in _REFUSED:
            raise SourceFailed(f"Prometheus refuses the credentials (HTTP {response.status}); correct them in the data source's settings")
        try:
            parsed = parse_response(response.body, limits)
        except SourceFailed as error:
            if response.status == _OK:
                raise
            raise SourceFailed(f"Prometheus returned HTTP {response.status}; {_advice(response.status)}") from error
        if response.status == _OK and not parsed.error:
            return parsed
        reason = parsed.error or f"HTTP {response.status}"
        kind: type[DashwrightError] = BadRequest if response.status in _QUERY_ERRORS else SourceFailed
        raise kind(f"Prometheus returned {reason}")


def _advice(status: int) -> str:
    if status in _WRONG_ENDPOINT:
        return "check the data source's URL (without /api/v1), or set its HTTP method to GET"
    return "try again, or check the server"
