"""Results of a PostgreSQL data source as frames: every type, both formats, and the numbers of direct queries."""

import json
from datetime import timedelta
from functools import partial
from typing import Any

import orjson
import pytest
from tests.integration.postgres_source.conftest import RANGE, RunQuery, Warehouse, column_values, patient_limits, sql_query
from tests.unit.expressions.sources.records import MemoryRecords

from dashwright.common.errors import BadRequest
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.queries import QuerySettings, respond
from dashwright.expressions.sources.postgres.connections import Connections
from dashwright.expressions.sources.postgres.source import TYPES, Postgres
from dashwright.expressions.sources.registry import SourceRegistry

SECOND = 1_000_000_000
DAY = 86_400 * SECOND

#: An expression of each type of PostgreSQL, the type of its column, and its value there.
TYPES_OF_COLUMNS = [
    ("smallint '-7'", "int16", -7),
    ("2147483647", "int32", 2147483647),
    ("9007199254740993", "int64", 9007199254740993),
    ("0.1::real", "float64", 0.1),
    ("'-Infinity'::float8", "float64", float("-inf")),
    ("123456.789", "float64", 123456.789),
    ("true", "bool", True),
    ("timestamp '2020-01-02 03:04:05.000006'", "time.Time", 1577934245 * SECOND + 6000),
    ("timestamptz '2020-01-02 03:04:05+02'", "time.Time", 1577927045 * SECOND),
    ("date '1969-12-31'", "time.Time", -DAY),
    ("timestamptz '1700-01-01Z'", "time.Time", -8520336000 * SECOND),
    ("'text'", "string", "text"),
    ("'v'::varchar(5)", "string", "v"),
    ("'c'::char(3)", "string", "c  "),
    ("'n'::name", "string", "n"),
    ("'x'::\"char\"", "string", "x"),
    ("'hi'::bytea", "string", "hi"),
    ("'\\xff'::bytea", "string", "\\xff"),
    ("'{\"a\": [1, null]}'::json", "json.RawMessage", {"a": [1, None]}),
    ("'{\"a\": 1.5}'::jsonb", "json.RawMessage", {"a": 1.5}),
    ("'\"\\ud800\"'::json", "json.RawMessage", '"\\ud800"'),
    ("uuid '7f3c9a52-0000-4000-8000-000000000001'", "string", "7f3c9a52-0000-4000-8000-000000000001"),
    ("inet '192.0.2.1/24'", "string", "192.0.2.1/24"),
    ("array[array[1,2],array[null,4]]", "string", "{{1,2},{NULL,4}}"),
    ("array['a b', 'c\"']", "string", '{"a b","c\\""}'),
    ("interval '1 day 2 hours'", "string", "1 day 02:00:00"),
    ("time '03:04'", "string", "03:04:00"),
    ("row(1, 'a')", "string", "(1,a)"),
    ("int4range(1, 5)", "string", "[1,5)"),
    ("'(1,2)'::point", "string", "(1,2)"),
    ("b'101'", "string", "101"),
    ("'a b'::tsvector", "string", "'a' 'b'"),
    ("'pg_class'::regclass", "string", "pg_class"),
    ("1::oid", "string", "1"),
]


@pytest.mark.parametrize(("expression", "kind", "value"), TYPES_OF_COLUMNS)
async def test_every_type_has_its_column(run_query: RunQuery, expression: str, kind: str, value: Any) -> None:
    """Each type of PostgreSQL has its type of column, and null is null. A type without an equivalent is the server's text."""
    frame = await run_query(f"select x from (select {expression} as x) a union all select null where $__timeFrom() < $__timeTo()")
    (column,) = frame.fields
    assert (column.type.value, column.nullable) == (kind, True)
    assert column_values(frame)["x"] == [value, None]


async def test_an_enum_a_domain_and_a_composite_are_read(run_query: RunQuery, owner: Any) -> None:
    """Values of types that the database defines are read."""
    await owner.execute("create type mood as enum ('fine'); create domain year as int; create type pair as (a int, b text)")
    try:
        frame = await run_query("select 'fine'::mood as m, 2020::year as y, (1, 'x')::pair as p, array['fine']::mood[] as ms;")
        assert column_values(frame) == {"m": ["fine"], "y": [2020], "p": ["(1,x)"], "ms": ["{fine}"]}
    finally:
        await owner.execute("drop type mood; drop domain year; drop type pair")


async def test_times_out_of_range_are_null_with_a_notice(run_query: RunQuery) -> None:
    """Infinities and times after 2262 are out of range."""
    frame = await run_query(
        "select * from (values ('infinity'::timestamptz, 'infinity'::date), ('2500-01-01', '-infinity'), (null, null)) x(a, b)"
    )
    assert column_values(frame) == {"a": [None, None, None], "b": [None, None, None]}
    assert frame.meta
    assert [notice["text"] for notice in frame.meta["notices"]] == [
        "2 timestamps in column a are outside the years 1677 to 2262 and became null",
        "2 timestamps in column b are outside the years 1677 to 2262 and became null",
    ]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("show timezone_abbreviations", {"timezone_abbreviations": ["Default"]}),
        ("values (1), (2)", {"column1": [1, 2]}),
        ("table measurement limit 0", {"id": [], "measured_at": [], "host": [], "watts": []}),
        ("select 1 as a, 2 as b -- done;", {"a": [1], "b": [2]}),
        ("(select 1 as a);;", {"a": [1]}),
        ("with x as (select 1 as a) select * from x", {"a": [1]}),
        (
            "select host, array_agg(id) as ids from measurement where id < 4 group by 1 order by 1; -- end",
            {"host": ["h0", "h1"], "ids": ["{0,2}", "{1,3}"]},
        ),
        ("select 1 as time, 2000000000 as timeend", {"time": [1_000_000], "timeend": [2_000_000_000 * SECOND]}),
        ("select 'noon' as time", {"time": ["noon"]}),
    ],
)
async def test_a_table_is_the_result_of_the_statement(run_query: RunQuery, sql: str, expected: dict[str, Any]) -> None:
    """Any reading statement is accepted; numeric columns named time or timeend are times."""
    frame = await run_query(sql)
    assert column_values(frame) == expected
    assert (frame.meta or {})["executedQueryString"] == sql


async def test_explain_returns_a_table(run_query: RunQuery) -> None:
    """Plans are returned with and without an execution."""
    frame = await run_query("explain (analyze, format json) select * from measurement")
    ((plan,),) = column_values(frame)["QUERY PLAN"]
    # The table ``measurement`` has 60 rows.
    assert plan["Plan"]["Actual Rows"] == 60


async def test_series_equal_a_direct_query(run_query: RunQuery, owner: Any) -> None:
    """Series by macros, labels and fill have the numbers of a query without macros."""
    selection = "host, sum(watts) as watts from measurement where id not between 10 and 30"
    sql = f"select $__timeGroupAlias(measured_at, '7m', NULL), {selection} and $__timeFilter(measured_at) group by 1, 2 order by 1"
    frame = await run_query(sql, format="time_series")
    direct = await owner.fetch(f"select (floor(extract(epoch from measured_at) / 420) * 420)::bigint as t, {selection} group by 1, 2")
    expected = {(row["t"] * SECOND, row["host"]): row["watts"] for row in direct}
    # The multiples of seven minutes in the first hour of 2020, in seconds since 1970.
    grid = list(range(1577836800 // 420 * 420, 1577840400 + 1, 420))
    assert frame.fields[0].name == "Time"
    assert frame.fields[0].values.tolist() == [time * SECOND for time in grid]
    assert [(item.name, dict(item.labels.pairs) if item.labels else {}) for item in frame.fields[1:]] == [
        ("watts", {"host": "h0"}),
        ("watts", {"host": "h1"}),
    ]
    for item in frame.fields[1:]:
        assert item.labels
        host = dict(item.labels.pairs)["host"]
        nulls = item.nulls if item.nulls is not None else [False] * len(item)
        numbers = [None if null else value for value, null in zip(item.values.tolist(), nulls, strict=True)]
        assert numbers == [expected.get((time * SECOND, host)) for time in grid]
    assert (frame.meta or {})["type"] == "timeseries-wide"
    assert "$__" not in (frame.meta or {})["executedQueryString"]


async def test_an_excessive_fill_is_omitted_with_a_notice(run_query: RunQuery) -> None:
    """A fill with too many rows, such as an hour in microseconds, is omitted with a notice."""
    frame = await run_query("select $__timeGroupAlias(measured_at, '1us', 0), watts from measurement order by 1", format="time_series")
    # The 60 rows of the table, without any filled ones.
    assert frame.row_count == 60
    (notice,) = (frame.meta or {})["notices"]
    assert notice["text"].startswith(
        "gaps were not filled: that would take 3600000001 rows, more than the 1000000 allowed (setting DASHWRIGHT_SOURCE_ROWS)"
    )


async def test_a_series_without_rows_keeps_its_columns(run_query: RunQuery) -> None:
    """A series without rows has the columns of the statement."""
    frame = await run_query("select measured_at as time, host, watts from measurement where false", format="time_series")
    assert [(item.name, item.type.value, len(item)) for item in frame.fields] == [
        ("time", "time.Time", 0),
        ("host", "string", 0),
        ("watts", "float64", 0),
    ]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("select nope", 'column "nope" does not exist (SQLSTATE 42703) at line 1, column 8\nselect nope\n       ^'),
        (
            "select 1,\n  wats\nfrom measurement",
            'at line 2, column 3\n  wats\n  ^\nhint: Perhaps you meant to reference the column "measurement.watts".',
        ),
        ("select array[1], nope", "at line 1, column 18\nselect array[1], nope\n                 ^"),
        ("select 1 / (id - id) from measurement", "division by zero (SQLSTATE 22012)"),
        (
            "select * from pg_authid",
            "permission denied for table pg_authid (SQLSTATE 42501)\nhint: let the role of the data source read it: grant select on … to …",
        ),
        ("select 'x", "unterminated quoted string"),
        ("select $__timeFilter(measured_at) from measuremen", 'relation "measuremen" does not exist'),
    ],
)
async def test_an_error_of_the_statement_has_its_position(run_query: RunQuery, sql: str, message: str) -> None:
    """The error of a statement is a 400 with the server's message, the position, and what to do."""
    with pytest.raises(BadRequest) as caught:
        await run_query(sql)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"rawSql": ""}, "the query has no statement"),
        ({"rawSql": 7}, "the query has no statement"),
        ({"format": "logs"}, "format 'logs' is not supported; use time_series or table"),
    ],
)
async def test_an_empty_query_is_refused(run_query: RunQuery, query: dict[str, Any], message: str) -> None:
    """An empty query is refused with the name of the property to set."""
    with pytest.raises(BadRequest, match=message):
        await run_query("select 1", **query)


async def test_equal_statements_are_one_query(warehouse: Warehouse, connections: Connections) -> None:
    """Queries with equal statements have one key; the time range is part of it only if macros or a fill use it."""
    source = Postgres(warehouse.record, connections)
    later = TimeRange(RANGE.start, RANGE.end + timedelta(minutes=1))

    def have_same_key(sql: str, **query: Any) -> bool:
        source_query = sql_query(sql, **query)
        return source.prepare(source_query, RANGE).key == source.prepare(source_query, later).key

    assert have_same_key("select 1")
    assert not have_same_key("select $__timeTo()")
    assert have_same_key("select $__timeGroup(measured_at, '5m', 0)")
    assert not have_same_key("select $__timeGroup(measured_at, '5m', 0)", format="time_series")


async def test_expressions_read_results_of_a_data_source(warehouse: Warehouse, connections: Connections) -> None:
    """Series and tables are inputs of expressions, and an empty result counts as no data."""
    registry = SourceRegistry(dict.fromkeys(TYPES, partial(Postgres, connections=connections)), MemoryRecords([warehouse.record]))
    datasource = {"type": TYPES[0], "uid": "w"}
    series = "select measured_at as time, host, watts from measurement where $__timeFilter(measured_at) order by 1"
    queries = [
        {"refId": "A", "hide": True, "datasource": datasource, "rawSql": series, "format": "time_series"},
        {
            "refId": "B",
            "hide": True,
            "datasource": datasource,
            "rawSql": "select host, count(*)::int as n from measurement group by 1 order by 1",
            "format": "table",
        },
        {
            "refId": "E",
            "hide": True,
            "datasource": datasource,
            "rawSql": f"select * from ({series}) x where false",
            "format": "time_series",
        },
        {"refId": "C", "type": "reduce", "expression": "A", "reducer": "sum", "settings": {"mode": "dropNN"}},
        {"refId": "D", "type": "math", "expression": "$C / $B"},
        {"refId": "F", "type": "reduce", "expression": "E", "reducer": "sum", "settings": {"mode": "dropNN"}},
    ]
    body = {"queries": queries, "from": "2020-01-01", "to": "2020-01-01T01"}
    response = await respond(orjson.dumps(body), QueryContext(org_id=1), QuerySettings(limits=patient_limits(), sources=registry))
    assert isinstance(response.body, bytes)
    results = json.loads(response.body)["results"]
    # The sums of the even and of the odd numbers below 60, and the same divided by the 30 rows of each host.
    assert series_of_result(results["C"]) == [({"host": "h0"}, [870.0]), ({"host": "h1"}, [900.0])]
    assert series_of_result(results["D"]) == [({"host": "h0"}, [29.0]), ({"host": "h1"}, [30.0])]
    assert series_of_result(results["F"]) == []


def series_of_result(result: dict[str, Any]) -> list[Any]:
    """Return the labels and the values of each series or number."""
    assert "error" not in result, result
    frames = [frame for frame in result["frames"] if frame["schema"]["fields"]]
    return [(frame["schema"]["fields"][-1].get("labels"), frame["data"]["values"][-1]) for frame in frames]
