"""The references: plain programs that fetch the same data, do the same arithmetic and write as many frames.

The program over Prometheus decodes into typed structs, with the points of each series left as they were received.
All numbers of a body are then parsed by one call of numpy. The program over PostgreSQL has the rows from asyncpg.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
import asyncpg
import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray

from benchmarks.sources.workload import START, STEP, THRESHOLD, Work

Labels = Mapping[str, str]
Array = NDArray[np.float64]

_NUMBER = {"type": "number", "typeInfo": {"frame": "float64", "nullable": True}}
_TIME = {"name": "Time", "type": "time", "typeInfo": {"frame": "time.Time"}}
_LABELS = ("host", "zone", "job", "pod")


class _Series(msgspec.Struct, gc=False):
    metric: dict[str, str]
    values: msgspec.Raw = msgspec.Raw(b"")
    value: msgspec.Raw = msgspec.Raw(b"")


class _Data(msgspec.Struct):
    result: list[_Series]


class _Body(msgspec.Struct):
    data: _Data


_DECODER = msgspec.json.Decoder(_Body)


class PlainPrometheus:
    """The program over Prometheus."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self._session = session
        self._address = address

    async def call(self, work: Work) -> bytes:
        """Return the response to a request."""
        times = {"start": START, "end": work.end, "step": STEP} if work.points else {"time": work.end}
        path = "/api/v1/query_range" if work.points else "/api/v1/query"
        async with self._session.post(self._address + path, data={"query": work.promql(), **times}) as response:
            return _present(work, await response.read())


def _present(work: Work, body: bytes) -> bytes:
    series = _DECODER.decode(body).data.result
    raw = b",".join([one.values if work.points else one.value for one in series])
    rows = np.fromstring(raw.translate(None, b'[]"'), sep=",").reshape(len(series), -1, 2)
    labels = [one.metric for one in series]
    if not work.shown:
        return _numbers(work, labels, rows[:, :, 1].mean(axis=1))
    times = (rows[0, :, 0] * 1000).astype(np.int64)
    meta = {"type": "timeseries-multi", "typeVersion": [0, 1], "custom": {"resultType": "matrix"}}
    time = {**_TIME, "config": {"interval": STEP * 1000}}
    frames = [
        {
            "schema": {"refId": work.output, "meta": meta, "fields": [time, _field(one)]},
            "data": {"values": [times, values]},
        }
        for one, values in zip(labels, np.ascontiguousarray(rows[:, :, 1]), strict=True)
    ]
    return _written(work, frames)


def _field(labels: Labels) -> dict[str, Any]:
    name, pairs = labels["__name__"], ", ".join([f'{key}="{labels[key]}"' for key in sorted(labels) if key != "__name__"])
    return {"name": name, **_NUMBER, "labels": labels, "config": {"displayNameFromDS": f"{name}{{{pairs}}}"}}


class PlainPostgres:
    """The program over PostgreSQL."""

    def __init__(self, connection: "asyncpg.Connection[Any]") -> None:
        self._connection = connection

    async def call(self, work: Work) -> bytes:
        """Return the response to a request."""
        times, *names, values = zip(*await self._connection.fetch(work.sql()), strict=True)
        positions: dict[tuple[str, ...], int] = {}
        numbers = np.array([positions.setdefault(key, len(positions)) for key in zip(*names, strict=True)])
        labels = [dict(zip(_LABELS, key, strict=True)) for key in positions]
        if not work.shown:
            sums = np.bincount(numbers, np.array(values))
            return _numbers(work, labels, sums / np.bincount(numbers))
        axis: dict[Any, int] = {}
        rows = np.full((len(labels), work.points), np.nan)
        rows[numbers, [axis.setdefault(time, len(axis)) for time in times]] = values
        meta = {"type": "timeseries-wide", "typeVersion": [0, 1]}
        fields = [_TIME, *({"name": "value", **_NUMBER, "labels": one} for one in labels)]
        data = {"values": [[round(time.timestamp() * 1000) for time in axis], *rows]}
        return _written(work, [{"schema": {"refId": work.output, "meta": meta, "fields": fields}, "data": data}])


def _numbers(work: Work, labels: Sequence[Labels], values: Array) -> bytes:
    """Return the response of a threshold: a frame per number."""
    meta = {"type": "numeric-multi", "typeVersion": [0, 1]}
    frames = [
        {
            "schema": {"refId": work.output, "meta": meta, "fields": [{"name": work.output, **_NUMBER, "labels": one}]},
            "data": {"values": [[value]]},
        }
        for one, value in zip(labels, (values > THRESHOLD).astype(float).tolist(), strict=True)
    ]
    return _written(work, frames)


def _written(work: Work, frames: Sequence[Mapping[str, Any]]) -> bytes:
    return orjson.dumps({"results": {work.output: {"status": 200, "frames": frames}}}, option=orjson.OPT_SERIALIZE_NUMPY)
