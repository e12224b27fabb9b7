"""E7: SQL expressions, including the transfer of tables to the child process and back.

The references are DuckDB in this process, and SQLite. DuckDB has one thread on both sides, because the sandbox allows the child only one.
"""

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import duckdb
import numpy as np
import orjson
from numpy.typing import NDArray

from benchmarks import series
from benchmarks.measurement import Row, alternate, compare_functions, median_ms, sequential_calls
from dashwright.expressions import queries
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.table import Table
from dashwright.expressions.formats.frame_reader import read_frames
from dashwright.expressions.sql.engine import SqlEngine
from dashwright.expressions.sql.expression import SqlExpression
from dashwright.expressions.sql.tables import relation_of

Columns = dict[str, NDArray[Any]]
"""Values by name of the column."""

_ROWS = 1_000_000
#: SQLite gets a fraction of the rows, 1 of so many, because it is slow.
_SQLITE_FRACTION = 20
_LIMITS = Limits()
#: The same join, over series by their labels, and over tables by their columns.
_JOIN_SERIES = (
    "SELECT A.host, SUM(A.__value__ * B.__value__) AS s, COUNT(*) AS n FROM A JOIN B ON A.time = B.time AND A.host = B.host GROUP BY A.host"
)
_JOIN_TABLES = "SELECT A.host, SUM(A.v * B.w) AS s, COUNT(*) AS n FROM A JOIN B ON A.id = B.id GROUP BY A.host"
_SMALL_STATEMENT = "SELECT host, AVG(__value__) AS v FROM A GROUP BY host ORDER BY host"
_SMALL_STATEMENTS_PER_ROUND = 100
_SMALL_FRAMES = [
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
        return [*await _join_rows(engine), await _small_statement_row(engine)]
    finally:
        engine.stop()


async def _join_rows(engine: SqlEngine) -> list[Row]:
    """Measure joins of large tables, compared with DuckDB and SQLite."""
    tables = {"A": _table(1, "v"), "B": _table(2, "w")}
    series_tables = {"A": _series_table(1), "B": _series_table(2)}
    join_tables = partial(SqlExpression.parse("C", _JOIN_TABLES, "", engine).select, tables, _LIMITS)
    join_series = partial(SqlExpression.parse("C", _JOIN_SERIES, "", engine).select, series_tables, _LIMITS)
    sqlite_rows = _ROWS // _SQLITE_FRACTION
    samples = [{name: column[:sqlite_rows].tolist() for name, column in _columns(table).items()} for table in tables.values()]
    return [
        await compare_functions(
            "E7", "join two of 1,000 series x 1,000, group", 1.3, join_series, _duckdb_function(_JOIN_SERIES, series_tables), calls=3
        ),
        await compare_functions(
            "E7", "join two tables of 1,000,000 rows, group", 1.3, join_tables, _duckdb_function(_JOIN_TABLES, tables), calls=3
        ),
        await compare_functions(
            "E7",
            "join two tables, to SQLite with load",
            1 / 50,
            join_tables,
            partial(_join_in_sqlite, *samples),
            calls=1,
            reference_scale=_SQLITE_FRACTION,
        ),
    ]


def _series_table(seed: int) -> Table:
    """Return 1,000 frames of a data source that declares their type."""
    meta = {"type": "timeseries-multi", "typeVersion": [0, 1]}
    return Table(tuple([Frame(frame.fields, meta=meta) for frame in series.frames(1000, _ROWS // 1000, seed)]))


def _table(seed: int, value_column: str) -> Table:
    """Return a frame of a million rows with permuted ids, 1,000 hosts and random values."""
    random = np.random.default_rng(seed)
    hosts = np.array([f"h{index}" for index in range(1000)], object)[np.arange(_ROWS) % 1000]
    fields = [
        Field("id", FieldType.INT64, random.permutation(_ROWS)),
        Field("host", FieldType.STRING, hosts),
        Field(value_column, FieldType.FLOAT64, random.normal(size=_ROWS)),
    ]
    return Table((Frame(fields),))


def _columns(table: Table) -> Columns:
    """Return the columns of a table, as arrays that DuckDB reads without a copy."""
    columns: Columns = {}
    for column in relation_of("A", table, _LIMITS).columns:
        values = column.values if column.dictionary is None else np.array(column.dictionary, object)[column.values]
        columns[column.name] = values.view("datetime64[ns]") if column.type is FieldType.TIME else values
    return columns


def _duckdb_function(statement: str, tables: Mapping[str, Table]) -> Callable[[], object]:
    """Return a function that runs a statement in DuckDB alone."""
    connection = duckdb.connect(":memory:", config={"threads": 1})
    arrays = {name: _columns(table) for name, table in tables.items()}

    def run() -> object:
        with closing(connection.cursor()) as cursor:
            for name, columns in arrays.items():
                cursor.register(name, columns)
            return cursor.execute(statement).fetchnumpy()

    return run


def _join_in_sqlite(*tables: Mapping[str, Sequence[Any]]) -> object:
    """Load two tables into a new SQLite database, and return the result of their join."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for name, columns in zip("AB", tables, strict=True):
            connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", zip(*columns.values(), strict=True))
        return connection.execute(_JOIN_TABLES).fetchall()


async def _small_statement_row(engine: SqlEngine) -> Row:
    """Measure a statement over two series of three points, from the bytes of the request to those of the response."""
    settings = queries.QuerySettings(_LIMITS, sql=engine)
    duckdb_statement = _duckdb_function(_SMALL_STATEMENT, {"A": Table(tuple(read_frames(orjson.dumps(_SMALL_FRAMES))))})
    source = {
        "datasource": {"type": "grafana-testdata-datasource"},
        "scenarioId": "raw_frame",
        "rawFrameContent": json.dumps(_SMALL_FRAMES),
    }
    body = orjson.dumps(
        {"queries": [{"refId": "A", "hide": True, **source}, {"refId": "B", "type": "sql", "expression": _SMALL_STATEMENT}]}
    )

    async def query() -> None:
        reply = await queries.respond(body, None, settings)
        assert int(reply.headers["status"]) == 200

    async def query_duckdb() -> None:
        duckdb_statement()

    product_seconds, reference_seconds = await alternate(
        sequential_calls(query, _SMALL_STATEMENTS_PER_ROUND), sequential_calls(query_duckdb, _SMALL_STATEMENTS_PER_ROUND)
    )
    return Row("E7", "a small statement, to bare DuckDB, p50", "ms", median_ms(product_seconds), median_ms(reference_seconds), 6)
