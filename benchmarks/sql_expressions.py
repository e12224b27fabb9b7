"""E7: sql expressions with the transfer to the child and back, compared with DuckDB in this process, and with SQLite.

DuckDB has one thread on either side, because the sandbox allows it only one.
"""

import json
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import duckdb
import numpy as np
import orjson
from numpy.typing import NDArray

from benchmarks import series
from benchmarks.measurement import Row, compared, in_turns, median_of
from dashwright.expressions import queries
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.table import Table
from dashwright.expressions.formats.frame_reader import read_frames
from dashwright.expressions.sql.engine import SqlEngine
from dashwright.expressions.sql.expression import SqlExpression
from dashwright.expressions.sql.tables import relation_of

Columns = dict[str, NDArray[Any]]

_ROWS = 1_000_000
_FEWER = 20
_LIMITS = Limits()
_SERIES = (
    "SELECT A.host, SUM(A.__value__ * B.__value__) AS s, COUNT(*) AS n FROM A JOIN B ON A.time = B.time AND A.host = B.host GROUP BY A.host"
)
_PLAIN = "SELECT A.host, SUM(A.v * B.w) AS s, COUNT(*) AS n FROM A JOIN B ON A.id = B.id GROUP BY A.host"
_SMALL = "SELECT host, AVG(__value__) AS v FROM A GROUP BY host ORDER BY host"
_ASKED = 100
_POINTS = [
    {
        "schema": {
            "meta": {"type": "timeseries-multi", "typeVersion": [0, 1]},
            "fields": [{"name": "t", "type": "time"}, {"name": "v", "type": "number", "labels": {"host": host}}],
        },
        "data": {"values": [[1000, 2000, 3000], [1, 2, 3]]},
    }
    for host in "ab"
]


async def rows() -> list[Row]:
    """Return the rows of E7."""
    engine = SqlEngine(_LIMITS, slots=1)
    engine.warm(60)
    try:
        return [*await _joins(engine), await _small(engine)]
    finally:
        engine.stop()


async def _joins(engine: SqlEngine) -> list[Row]:
    plain, timed = {"A": _table(1), "B": _table(2)}, {"A": _series(1), "B": _series(2)}
    select = partial(SqlExpression.parse("C", _PLAIN, "", engine).select, plain, _LIMITS)
    select_series = partial(SqlExpression.parse("C", _SERIES, "", engine).select, timed, _LIMITS)
    fewer = [{name: column[: _ROWS // _FEWER].tolist() for name, column in _columns(held).items()} for held in plain.values()]
    return [
        await compared("E7", "join two of 1,000 series x 1,000, group", 1.3, select_series, _bare(_SERIES, timed), runs=3),
        await compared("E7", "join two tables of 1,000,000 rows, group", 1.3, select, _bare(_PLAIN, plain), runs=3),
        await compared("E7", "join two tables, to SQLite with load", 1 / 50, select, partial(_sqlite, *fewer), runs=1, scale=_FEWER),
    ]


def _series(seed: int) -> Table:
    """Return 1,000 frames, as a data source returns them that declares its type."""
    declared = {"type": "timeseries-multi", "typeVersion": [0, 1]}
    return Table(tuple([Frame(frame.fields, meta=declared) for frame in series.frames(1000, _ROWS // 1000, seed)]))


def _table(seed: int) -> Table:
    random = np.random.default_rng(seed)
    hosts = np.array([f"h{index}" for index in range(1000)], object)[np.arange(_ROWS) % 1000]
    fields = [
        Field("id", FieldType.INT64, random.permutation(_ROWS)),
        Field("host", FieldType.STRING, hosts),
        Field("v" if seed == 1 else "w", FieldType.FLOAT64, random.normal(size=_ROWS)),
    ]
    return Table((Frame(fields),))


def _columns(held: Table) -> Columns:
    """Return the columns that the statement selects from, as arrays that DuckDB reads without a copy."""
    found: Columns = {}
    for column in relation_of("A", held, _LIMITS).columns:
        values = column.values if column.dictionary is None else np.array(column.dictionary, object)[column.values]
        found[column.name] = values.view("datetime64[ns]") if column.type is FieldType.TIME else values
    return found


def _bare(statement: str, tables: Mapping[str, Table]) -> Callable[[], object]:
    connection = duckdb.connect(":memory:", config={"threads": 1})
    arrays = {name: _columns(held) for name, held in tables.items()}

    def run() -> object:
        with closing(connection.cursor()) as cursor:
            for name, columns in arrays.items():
                cursor.register(name, columns)
            return cursor.execute(statement).fetchnumpy()

    return run


def _sqlite(*tables: Mapping[str, Sequence[Any]]) -> object:
    with closing(sqlite3.connect(":memory:")) as connection:
        for name, columns in zip("AB", tables, strict=True):
            connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", zip(*columns.values(), strict=True))
        return connection.execute(_PLAIN).fetchall()


async def _small(engine: SqlEngine) -> Row:
    """Measure a statement over two series of three points, from the bytes of the request to those of the response."""
    settings = queries.QuerySettings(_LIMITS, sql=engine)
    bare = _bare(_SMALL, {"A": Table(tuple(read_frames(orjson.dumps(_POINTS))))})
    source = {"datasource": {"type": "grafana-testdata-datasource"}, "scenarioId": "raw_frame", "rawFrameContent": json.dumps(_POINTS)}
    body = orjson.dumps({"queries": [{"refId": "A", "hide": True, **source}, {"refId": "B", "type": "sql", "expression": _SMALL}]})

    async def ask() -> object:
        found = await queries.respond(body, None, settings)
        assert int(found.headers["status"]) == 200
        return found

    async def ask_bare() -> object:
        return bare()

    measured, reference = await in_turns(partial(_times, ask), partial(_times, ask_bare))
    return Row("E7", "a small statement, to bare DuckDB, p50", "ms", median_of(measured, 50) * 1000, median_of(reference, 50) * 1000, 6)


async def _times(ask: Callable[[], Awaitable[object]]) -> Sequence[float]:
    seconds = []
    for _ in range(_ASKED):
        started = time.perf_counter()
        await ask()
        seconds.append(time.perf_counter() - started)
    return seconds
