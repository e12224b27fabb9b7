"""Asks a Prometheus server, and whatever speaks its HTTP API."""

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
from dashwright.expressions.sources.privacy import naming_addresses
from dashwright.expressions.sources.prometheus import steps
from dashwright.expressions.sources.prometheus.query import PrometheusQuery, read_query
from dashwright.expressions.sources.prometheus.response import PrometheusResponse, frames_of, opened
from dashwright.expressions.sources.source import Source

TYPE: Final = PROMETHEUS.id

_OK: Final = 200
_REFUSED: Final = frozenset({401, 403})
_MENDABLE: Final = frozenset({400, 422})
_NOT_THERE: Final = frozenset({404, 405})
_LARGE: Final = 50_000
"""Bytes from which reading leaves the event loop."""


class Prometheus(Source):
    def __init__(self, record: SourceRecord, http: HttpClient) -> None:
        self._record = record
        self._http = http

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        question = read_query(query, time_range, self._record)
        frames = []
        if question.is_instant:
            frames += await self._ask(question, "api/v1/query", {"time": steps.decimal(question.at)}, limits)
        if question.is_range:
            start, end, step = map(steps.decimal, (question.start, question.end, question.step))
            frames += await self._ask(question, "api/v1/query_range", {"start": start, "end": end, "step": step}, limits)
        first, *others = frames
        notices = [*(first.meta or {}).get("notices", ()), *({"severity": "info", "text": text} for text in question.notices)]
        return [replace(first, meta={**(first.meta or {}), "notices": notices}) if notices else first, *others]

    async def health(self) -> str:
        with naming_addresses():
            answer = await self._http.ask(self._record, self._method, "api/v1/query", {"query": "1+1", "time": "4"}, Limits())
        self._opened(answer, Limits())
        return "Successfully queried the Prometheus API."

    def cache_key(self, query: SourceQuery, time_range: TimeRange) -> Hashable:
        question = read_query(query, time_range, self._record)
        return question if question.is_instant else replace(question, at=question.end)

    @property
    def _method(self) -> str:
        return "GET" if str(self._record.json_data.get("httpMethod") or "").upper() == "GET" else "POST"

    async def _ask(self, question: PrometheusQuery, path: str, parameters: Mapping[str, str], limits: Limits) -> list[Frame]:
        wanted = {"query": question.expr, **parameters}
        if timeout := self._record.json_data.get("queryTimeout"):
            wanted["timeout"] = str(timeout)
        with naming_addresses():
            answer = await self._http.ask(self._record, self._method, path, wanted, limits)
        read = partial(self._frames, answer, question, limits)
        return await asyncio.to_thread(read) if len(answer.body) > _LARGE else read()

    def _frames(self, answer: HttpResponse, question: PrometheusQuery, limits: Limits) -> list[Frame]:
        return frames_of(self._opened(answer, limits), question, limits)

    def _opened(self, answer: HttpResponse, limits: Limits) -> PrometheusResponse:
        """What the server says, if it says it worked."""
        if answer.status in _REFUSED:
            raise SourceFailed(f"Prometheus refuses the credentials of the data source (HTTP {answer.status}); correct them there")
        try:
            envelope = opened(answer.body, limits)
        except SourceFailed as error:
            if answer.status == _OK:
                raise
            raise SourceFailed(f"Prometheus answered HTTP {answer.status}; {_advice(answer.status)}") from error
        if answer.status == _OK and not envelope.error:
            return envelope
        told = envelope.error or f"HTTP {answer.status}"
        kind: type[DashwrightError] = BadRequest if answer.status in _MENDABLE else SourceFailed
        raise kind(f"Prometheus answered {told}")


def _advice(status: int) -> str:
    if status in _NOT_THERE:
        return "check the data source's URL (without /api/v1), or set its HTTP method to GET"
    return "ask again, or look at the server"
