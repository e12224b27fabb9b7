"""The references: plain programs that fetch the same data, do the same arithmetic and encode as many frames.

The program over Prometheus decodes a body into typed structs, in which the points of each series are raw JSON. One call of numpy then
parses all numbers of the body. The program over PostgreSQL gets its rows from asyncpg.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
import asyncpg
import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray

from benchmarks.sources.workload import START, STEP, THRESHOLD, Workload

Labels = Mapping[str, str]
Array = NDArray[np.float64]

#: Members of a field in a response.
_NUMBER = {"type": "number", "typeInfo": {"frame": "float64", "nullable": True}}
_TIME = {"name": "Time", "type": "time", "typeInfo": {"frame": "time.Time"}}
_LABELS = ("host", "zone", "job", "pod")


# The parts of a response of Prometheus that the program reads. ``values`` is that of a range, ``value`` that of an instant.
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
    """The plain program over Prometheus."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self._session = session
        self._address = address

    async def call(self, workload: Workload) -> bytes:
        """Return the body of the response to a workload."""
        times = {"start": START, "end": workload.end, "step": STEP} if workload.points else {"time": workload.end}
        path = "/api/v1/query_range" if workload.points else "/api/v1/query"
        async with self._session.post(self._address + path, data={"query": workload.promql(), **times}) as response:
            return _respond(workload, await response.read())


def _respond(workload: Workload, body: bytes) -> bytes:
    """Return the response to a workload from a body of Prometheus."""
    series = _DECODER.decode(body).data.result
    # All numbers as one text. Without brackets and quotation marks, only commas separate them.
    raw = b",".join([item.values if workload.points else item.value for item in series])
    # The axes are series, point, and time or value.
    points = np.fromstring(raw.translate(None, b'[]"'), sep=",").reshape(len(series), -1, 2)
    labels = [item.metric for item in series]
    if not workload.returns_series:
        return _encode_thresholds(workload, labels, points[:, :, 1].mean(axis=1))
    times = (points[0, :, 0] * 1000).astype(np.int64)
    meta = {"type": "timeseries-multi", "typeVersion": [0, 1], "custom": {"resultType": "matrix"}}
    time = {**_TIME, "config": {"interval": STEP * 1000}}
    frames = [
        {
            "schema": {"refId": workload.output, "meta": meta, "fields": [time, _field(series_labels)]},
            "data": {"values": [times, values]},
        }
        for series_labels, values in zip(labels, np.ascontiguousarray(points[:, :, 1]), strict=True)
    ]
    return _encode(workload, frames)


def _field(labels: Labels) -> dict[str, Any]:
    """Return the field of a series, whose display name is the text of its metric and labels."""
    name, pairs = labels["__name__"], ", ".join([f'{key}="{labels[key]}"' for key in sorted(labels) if key != "__name__"])
    return {"name": name, **_NUMBER, "labels": labels, "config": {"displayNameFromDS": f"{name}{{{pairs}}}"}}


class PlainPostgres:
    """The plain program over PostgreSQL."""

    def __init__(self, connection: "asyncpg.Connection[Any]") -> None:
        self._connection = connection

    async def call(self, workload: Workload) -> bytes:
        """Return the body of the response to a workload."""
        times, *names, values = zip(*await self._connection.fetch(workload.sql()), strict=True)
        # The position of each series by its labels, and the position of the series of each row.
        positions: dict[tuple[str, ...], int] = {}
        row_positions = np.array([positions.setdefault(key, len(positions)) for key in zip(*names, strict=True)])
        labels = [dict(zip(_LABELS, key, strict=True)) for key in positions]
        if not workload.returns_series:
            sums = np.bincount(row_positions, np.array(values))
            return _encode_thresholds(workload, labels, sums / np.bincount(row_positions))
        # The position of each timestamp.
        axis: dict[Any, int] = {}
        series_values = np.full((len(labels), workload.points), np.nan)
        series_values[row_positions, [axis.setdefault(time, len(axis)) for time in times]] = values
        meta = {"type": "timeseries-wide", "typeVersion": [0, 1]}
        fields = [_TIME, *({"name": "value", **_NUMBER, "labels": series_labels} for series_labels in labels)]
        data = {"values": [[round(time.timestamp() * 1000) for time in axis], *series_values]}
        return _encode(workload, [{"schema": {"refId": workload.output, "meta": meta, "fields": fields}, "data": data}])


def _encode_thresholds(workload: Workload, labels: Sequence[Labels], values: Array) -> bytes:
    """Return the response of a threshold, which has a frame for each value."""
    meta = {"type": "numeric-multi", "typeVersion": [0, 1]}
    frames = [
        {
            "schema": {"refId": workload.output, "meta": meta, "fields": [{"name": workload.output, **_NUMBER, "labels": series_labels}]},
            "data": {"values": [[value]]},
        }
        for series_labels, value in zip(labels, (values > THRESHOLD).astype(float).tolist(), strict=True)
    ]
    return _encode(workload, frames)


def _encode(workload: Workload, frames: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the body of a response with the frames as the only result."""
    return orjson.dumps({"results": {workload.output: {"status": 200, "frames": frames}}}, option=orjson.OPT_SERIALIZE_NUMPY)
