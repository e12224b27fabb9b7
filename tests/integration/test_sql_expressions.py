"""SQL expressions over the results of queries and other expressions, in a real child process."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
import pytest
from tests.unit.expressions.test_frames_as_values import TIME, frame

from dashwright.common.errors import BadRequest, DashwrightError, TooLarge
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.common.settings import load
from dashwright.expressions.consumer import query_settings
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import NoData, Numbers
from dashwright.expressions.formats.frame_reader import read_frames
from dashwright.expressions.queries import QuerySettings, respond
from dashwright.expressions.sql.engine import SqlEngine
from dashwright.expressions.sql.expression import SqlExpression

#: Two series, and a table of three rows.
LOAD = [
    frame(TIME, ("load", "number", [1, None], {"host": "a"}), type_="timeseries-multi"),
    frame(TIME, ("load", "number", [3, 5], {"host": "b"}), type_="timeseries-multi"),
]
SMALL_TABLE = [frame(("host", "string", ["a", "b", None]), ("v", "number", [1, 2, 3]))]


@pytest.fixture(scope="module")
def engine() -> Iterator[SqlEngine]:
    """Provide an engine with two child processes for all tests."""
    created = SqlEngine(Limits(), slots=2)
    yield created
    created.stop()


def raw_query(ref_id: str, frames: list[Any], **fields: Any) -> dict[str, Any]:
    """Return a query whose result is these frames."""
    source = {"datasource": {"type": "grafana-testdata-datasource"}, "scenarioId": "raw_frame"}
    return {"refId": ref_id, "hide": True, **source, "rawFrameContent": json.dumps(frames), **fields}


def sql_query(ref_id: str, statement: str, **fields: Any) -> dict[str, Any]:
    """Return a query of the type ``sql``, which is an SQL expression."""
    return {"refId": ref_id, "type": "sql", "expression": statement, **fields}


async def send_queries(
    engine: SqlEngine | None, *queries: Any, endpoint: QueryEndpoint = QueryEndpoint.QUERY, limits: Limits | None = None, **fields: Any
) -> Any:
    """Send queries to an endpoint and return the decoded response; ``fields`` are those of its context."""
    body = {"queries": queries, **({"type": "x", "targets": []} if endpoint is not QueryEndpoint.QUERY else {})}
    response = await respond(orjson.dumps(body), QueryContext(endpoint, **fields), QuerySettings(limits or Limits(), sql=engine))
    assert isinstance(response.body, bytes)
    return json.loads(response.body)


def columns(result: Any) -> dict[str, list[Any]]:
    """Return the columns of a result, which must be one frame, by name."""
    assert "error" not in result, result["error"]
    (frame,) = result["frames"]
    names = [field["name"] for field in frame["schema"]["fields"]]
    return dict(zip(names, frame["data"]["values"], strict=True))


async def result_table(engine: SqlEngine, statement: str, *queries: Any, **fields: Any) -> dict[str, list[Any]]:
    """Return the columns that a statement selects from the results of queries."""
    return columns((await send_queries(engine, *queries, sql_query("S", statement), **fields))["results"]["S"])


async def sql_error(engine: SqlEngine | None, statement: str, *queries: Any, **fields: Any) -> Any:
    """Return the result of a refused statement, after checking that another expression of the request succeeds."""
    body = await send_queries(engine, *queries, {"refId": "Z", "type": "math", "expression": "1"}, sql_query("S", statement), **fields)
    assert body["results"]["Z"]["status"] == 200
    assert body["results"]["S"]["frames"] == []
    return body["results"]["S"]


async def test_a_statement_selects_from_a_query(engine: SqlEngine) -> None:
    """The result of a statement is one frame with the refId as its name; null is NULL, which aggregates ignore."""
    body = await send_queries(
        engine, raw_query("A", LOAD), sql_query("S", "SELECT host, AVG(__value__) AS mean FROM A GROUP BY host ORDER BY host")
    )
    (frame,) = body["results"]["S"]["frames"]
    assert (frame["schema"]["name"], frame["schema"]["refId"]) == ("S", "S")
    assert columns(body["results"]["S"]) == {"host": ["a", "b"], "mean": [1, 4]}


@pytest.mark.parametrize("endpoint", [QueryEndpoint.QUERY, QueryEndpoint.PANEL])
async def test_tables_are_joined_at_every_endpoint(engine: SqlEngine, endpoint: QueryEndpoint) -> None:
    """Columns of any type can be joined, and refIds of any spelling are quoted with backticks."""
    statement = "SELECT a.host, SUM(a.__value__ * b.v) AS s FROM A AS a JOIN `my query` AS b ON a.host = b.host GROUP BY a.host ORDER BY 1"
    assert await result_table(engine, statement, raw_query("A", LOAD), raw_query("my query", SMALL_TABLE), endpoint=endpoint) == {
        "host": ["a", "b"],
        "s": [1, 16],
    }


async def test_a_panel_with_a_statement_is_validated_without_running_it(engine: SqlEngine) -> None:
    """The validation of a panel with a statement checks that its tables exist and that the statement is allowed, without running it."""
    expected = await send_queries(engine, sql_query("S", "SELECT * FROM A"), raw_query("A", LOAD), endpoint=QueryEndpoint.VALIDATION)
    assert expected == {"valid": True, "faults": []}
    faults = (await send_queries(engine, sql_query("S", "SELECT * FROM B"), raw_query("b", LOAD), endpoint=QueryEndpoint.VALIDATION))[
        "faults"
    ]
    assert [fault["pointer"] for fault in faults] == ["/queries/0/expression"]
    assert "selects from table (refId/query) [B] and that table was not found; write it [b]" in faults[0]["message"]
    faults_without_sql = (await send_queries(None, sql_query("S", "SELECT 1"), endpoint=QueryEndpoint.VALIDATION))["faults"]
    assert "DASHWRIGHT_FEATURES=sqlExpression" in faults_without_sql[0]["message"]


def run_statement(
    ref_id: str, engine: SqlEngine, statement: str, tables: dict[str, Frame], form: str = "", limits: Limits | None = None
) -> Any:
    """Run a statement over frames, and return its value. ``form`` is the format of the result, by default that of queries."""
    inputs = {name: Table((source_frame,)) for name, source_frame in tables.items()}
    return SqlExpression.parse(ref_id, statement, form, engine).select(inputs, limits or Limits()).values


def every_type() -> Frame:
    """Return a frame with two fields of each type except enums: one without and one with a null, with extreme values if there are any."""
    fields = []
    for kind in FieldType:
        if kind is FieldType.ENUM:
            continue
        values: Any = np.empty(2, kind.dtype)
        if kind is FieldType.STRING:
            values[:] = ["ein Grüßen\0 😀", ""]
        elif kind is FieldType.JSON:
            values[:] = [{"a": [1, None]}, [1, 2]]
        elif kind is FieldType.BOOL:
            values[:] = [True, False]
        elif kind is FieldType.TIME:
            values[:] = [1_735_787_045_000_000_001, -1]
        elif kind.is_float:
            values[:] = [np.finfo(kind.dtype).max, np.nan]
        else:
            values[:] = [np.iinfo(kind.dtype).max, np.iinfo(kind.dtype).min]
        fields.append(Field(kind.name.lower(), kind, values))
        fields.append(Field(f"{kind.name.lower()}_null", kind, values.copy(), np.array([False, True]), nullable=True))
    return Frame(fields)


def values_with_nulls(field: Field) -> list[Any]:
    """Return the values of a field, with ``None`` for each null."""
    nulls = np.zeros(len(field), np.bool_) if field.nulls is None else field.nulls
    return [None if null else value for value, null in zip(field.values.tolist(), nulls.tolist(), strict=True)]


def test_every_type_keeps_its_values_nulls_and_width(engine: SqlEngine) -> None:
    """Integers are exact to the last bit, times to the nanosecond, texts are unchanged, and NaN differs from null."""
    source_frame = every_type()
    (result,) = run_statement("S", engine, "SELECT * FROM A", {"A": source_frame}).frames
    assert [field.name for field in result.fields] == [field.name for field in source_frame.fields]
    for old, new in zip(source_frame.fields, result.fields, strict=True):
        assert (new.type, new.nullable) == (old.type, old.nullable), old.name
        assert repr(values_with_nulls(new)) == repr(values_with_nulls(old)), old.name
        assert new.values.dtype == new.type.dtype


def test_many_rows_are_returned_in_order(engine: SqlEngine) -> None:
    """A result with more rows than one chunk of the engine has them in order, with strings and nulls."""
    count = 300_001
    numbers = np.arange(count)
    texts = np.empty(count, object)
    texts[:] = [f"ü{index % 7}" for index in range(count)]
    nulls = numbers % 3 == 0
    source_frame = Frame([Field("n", FieldType.INT64, numbers), Field("s", FieldType.STRING, texts, nulls, nullable=True)])
    (result,) = run_statement("S", engine, "SELECT n, s FROM A ORDER BY n", {"A": source_frame}).frames
    assert result.fields[0].values.tolist() == numbers.tolist()
    assert values_with_nulls(result.fields[1]) == values_with_nulls(source_frame.fields[1])


@pytest.mark.parametrize(
    ("expression", "kind", "value"),
    [
        ("2.35", FieldType.FLOAT64, 2.35),
        ("-12.5", FieldType.FLOAT64, -12.5),
        ("40", FieldType.INT32, 40),
        ("COUNT(*)", FieldType.INT64, 2),
        ("SUM(n)", FieldType.FLOAT64, 3),
        ("AVG(n)", FieldType.FLOAT64, 1.5),
        ("LENGTH('abc')", FieldType.INT32, 3),
        ("LENGTH('abc') * 2000000000", FieldType.INT64, 6_000_000_000),
        ("'x'", FieldType.STRING, "x"),
        ("SUM(n) > 1", FieldType.BOOL, True),
        ("NULL", FieldType.STRING, None),
    ],
)
def test_computed_columns_have_the_type_of_their_kind(engine: SqlEngine, expression: str, kind: FieldType, value: Any) -> None:
    """Decimals and sums of integers are 64-bit floats."""
    source_frame = Frame([Field("n", FieldType.INT64, np.array([1, 2]))])
    (result,) = run_statement("S", engine, f"SELECT {expression} AS x FROM A LIMIT 1", {"A": source_frame}).frames
    assert result.fields[0].type is kind
    assert values_with_nulls(result.fields[0]) == [value]


async def test_a_division_by_zero_is_null(engine: SqlEngine) -> None:
    """A division by zero is null, because the database's settings apply to every statement."""
    result = await result_table(
        engine, "SELECT v / 0 AS a, v % 0 AS b, v DIV 0 AS c, 1 / 0 AS d FROM A LIMIT 1", raw_query("A", SMALL_TABLE)
    )
    assert result == {"a": [None], "b": [None], "c": [None], "d": [None]}


async def test_a_time_before_the_first_of_numpy_is_refused(engine: SqlEngine) -> None:
    """Times start on 1677-09-22: a part of the day before is below the first nanosecond that 64 bits can count."""
    assert await result_table(engine, "SELECT CAST('1677-09-22' AS DATE) AS t") == {"t": [-9223286400000]}
    refusal = await sql_error(engine, "SELECT CAST('1677-09-21' AS DATE) AS t")
    assert "outside the years 1678 to 2262" in refusal["error"]


async def test_a_result_without_rows_keeps_its_columns(engine: SqlEngine) -> None:
    """An empty result is a frame; another expression reads it as no data."""
    body = await send_queries(
        engine,
        raw_query("A", SMALL_TABLE),
        sql_query("S", "SELECT v, host FROM A WHERE v > 9"),
        {"refId": "B", "type": "math", "expression": "$S"},
    )
    assert columns(body["results"]["S"]) == {"v": [], "host": []}
    assert [field["type"] for field in body["results"]["S"]["frames"][0]["schema"]["fields"]] == ["number", "string"]
    assert body["results"]["B"]["frames"][0]["schema"]["name"] == "no data"


@pytest.mark.parametrize("frames", [[], [{"schema": {"fields": []}, "data": {"values": []}}]])
async def test_a_query_without_data_is_an_empty_table(engine: SqlEngine, frames: list[Any]) -> None:
    """The statement runs even if the other queries return no data."""
    assert await result_table(engine, "SELECT COUNT(*) AS n, MAX(__value__) AS m FROM A", raw_query("A", frames)) == {"n": [0], "m": [None]}
    assert await result_table(engine, "SELECT time, __value__, __metric_name__ FROM A", raw_query("A", frames)) == {
        "time": [],
        "__value__": [],
        "__metric_name__": [],
    }


async def test_two_columns_may_have_one_name(engine: SqlEngine) -> None:
    """Two columns with one name are in the result. A later statement reads the second one under another name, with a notice."""
    body = await send_queries(
        engine,
        raw_query("A", SMALL_TABLE),
        sql_query("S", "SELECT v AS x, v + 1 AS x FROM A LIMIT 1"),
        sql_query("T", "SELECT x, x_1 FROM S"),
    )
    (frame,) = body["results"]["S"]["frames"]
    assert [field["name"] for field in frame["schema"]["fields"]] == ["x", "x"]
    assert columns(body["results"]["T"]) == {"x": [1], "x_1": [2]}
    (notice,) = body["results"]["T"]["frames"][0]["schema"]["meta"]["notices"]
    assert "column 2 ('x') is x_1 in the table" in notice["text"]


async def test_expressions_and_statements_can_be_chained(engine: SqlEngine) -> None:
    """A result of any type is a table, and the result of a statement is series or numbers, with strings as labels."""
    body = await send_queries(
        engine,
        raw_query("A", LOAD),
        {"refId": "M", "type": "math", "expression": "$A * 10", "hide": True},
        {"refId": "R", "type": "reduce", "expression": "A", "reducer": "last", "hide": True},
        {"refId": "N", "type": "math", "expression": "1 + 1", "hide": True},
        sql_query("S", "SELECT M.time, M.host, M.__value__ + R.__value__ + N.__value__ AS v FROM M JOIN R ON M.host = R.host CROSS JOIN N"),
        {"refId": "T", "type": "reduce", "expression": "S", "reducer": "max", "settings": {"mode": "dropNN"}},
        sql_query("U", "SELECT host, v FROM S WHERE v > 40"),
        {"refId": "V", "type": "math", "expression": "$U > $T"},
    )
    results = body["results"]
    assert results["S"]["frames"][0]["data"]["values"][2] == [None, 37, None, 57]
    assert [(frame["schema"]["fields"][0]["labels"], frame["data"]["values"]) for frame in results["T"]["frames"]] == [
        ({"host": "a"}, [[None]]),
        ({"host": "b"}, [[57.0]]),
    ]
    assert columns(results["U"]) == {"host": ["b"], "v": [57]}
    assert results["V"]["frames"][0]["data"]["values"] == [[0]]


async def test_a_query_may_be_the_input_of_a_statement_and_an_expression(engine: SqlEngine) -> None:
    """A statement reads the frames of a query, and another expression its series; if the latter fails, the statement still runs."""
    long_frame = [frame(TIME, ("host", "string", ["a", "b"]), ("v", "number", [1, 2]))]
    body = await send_queries(
        engine, raw_query("A", long_frame), {"refId": "B", "type": "math", "expression": "$A"}, sql_query("S", "SELECT v FROM A ORDER BY v")
    )
    assert (
        "got type long"
        in (await send_queries(engine, raw_query("A", long_frame, hide=False), {"refId": "B", "type": "math", "expression": "$A"}))[
            "message"
        ]
    )
    assert body["results"]["B"]["error"].startswith("[sse.dependencyError]")
    assert columns(body["results"]["S"]) == {"v": [1, 2]}


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("SELECT host, time FROM A", "got type not"),
        ("SELECT host FROM A", "got type not"),
        ("SELECT CAST(NULL AS DATETIME) AS time, 1 AS v", "null time stamps"),
    ],
)
async def test_reading_a_table_without_series_is_an_error(engine: SqlEngine, statement: str, fault: str) -> None:
    """The error for a table without series belongs to the expression that reads the table, not to the statement."""
    body = await send_queries(engine, raw_query("A", LOAD), sql_query("S", statement), {"refId": "B", "type": "math", "expression": "$S"})
    assert body["results"]["S"]["status"] == 200
    refusal = body["results"]["B"]["error"]
    assert refusal.startswith("[sse.readDataError] failed to read the table of sql expression [S] as series or numbers")
    assert fault in refusal


def select_for_alert_rule(engine: SqlEngine, statement: str) -> Any:
    """Return the result of a statement over rows of host, dc and v, in the format for alert rules."""
    rows = [frame(("host", "string", ["a", "b", "b", None]), ("dc", "string", ["x", "x", "y", "x"]), ("v", "number", [1, None, 3, 4]))]
    return run_statement("S", engine, statement, {"A": read_frames(orjson.dumps(rows))[0]}, "alerting")


def test_for_alert_rules_each_row_is_a_number(engine: SqlEngine) -> None:
    """In the format for alert rules, each row is a number whose texts are labels, except for nulls. No rows count as no data."""
    numbers = select_for_alert_rule(engine, "SELECT * FROM A ORDER BY v IS NULL, v")
    assert isinstance(numbers, Numbers)
    assert [str(labels) for labels in numbers.labels] == ["dc=x, host=a", "dc=y, host=b", "dc=x", "dc=x, host=b"]
    assert numbers.cells.values[:3].tolist() == [1, 3, 4]
    assert numbers.cells.null_mask().tolist() == [False, False, False, True]
    assert isinstance(select_for_alert_rule(engine, "SELECT * FROM A WHERE v > 9"), NoData)


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("SELECT v, v + 1 AS w FROM A", "expected exactly one numeric field, but found multiple: v, w"),
        ("SELECT host FROM A", "no numeric field found in frame"),
        ("SELECT host, v FROM A WHERE host = 'b'", "duplicate values across the string columns: {host=b}"),
    ],
)
def test_an_invalid_result_for_an_alert_rule_is_an_error(engine: SqlEngine, statement: str, fault: str) -> None:
    """A result for an alert rule needs exactly one number in each row, and texts that distinguish the rows."""
    with pytest.raises(BadRequest) as raised:
        select_for_alert_rule(engine, statement)
    assert fault in raised.value.message
    assert raised.value.message_id == "sse.sql.alerting_format"


async def test_the_format_for_alert_rules_is_accepted_for_saved_rules(engine: SqlEngine) -> None:
    """The format for alert rules is accepted in a panel's target, although the schema does not list it."""
    target = sql_query("S", "SELECT host, v FROM A WHERE host IS NOT NULL ORDER BY v", format="alerting")
    body = await send_queries(engine, raw_query("A", SMALL_TABLE), target)
    assert [frame["schema"]["meta"]["type"] for frame in body["results"]["S"]["frames"]] == ["numeric-multi"] * 2
    assert "format" in (await send_queries(engine, raw_query("A", SMALL_TABLE), target, endpoint=QueryEndpoint.PANEL))["message"]


async def test_a_result_with_too_many_cells_is_truncated_with_a_notice(engine: SqlEngine) -> None:
    """The truncated result has the first complete rows."""
    limits = Limits(sql_output_cells=5)
    body = await send_queries(engine, raw_query("A", SMALL_TABLE), sql_query("S", "SELECT v, host FROM A ORDER BY v DESC"), limits=limits)
    assert columns(body["results"]["S"]) == {"v": [3, 2], "host": [None, "b"]}
    (notice,) = body["results"]["S"]["frames"][0]["schema"]["meta"]["notices"]
    assert notice["severity"] == "warning"
    assert "cut after 2 rows of 2 columns" in notice["text"]
    assert "DASHWRIGHT_SQL_OUTPUT_CELLS" in notice["text"]
    complete = await send_queries(
        engine, raw_query("A", SMALL_TABLE), sql_query("S", "SELECT v, host FROM A"), limits=Limits(sql_output_cells=6)
    )
    assert "meta" not in complete["results"]["S"]["frames"][0]["schema"]


@pytest.mark.parametrize(
    ("statement", "message_id", "fault"),
    [
        ("", "sse.sql.empty_query", "sql expression [S] failed because it has an empty SQL query"),
        (" \n ", "sse.sql.empty_query", "empty SQL query"),
        ("SELECT nope FROM A", "sse.sql.column_not_found", "does not exist: nope; the tables are A: host, v"),
        ("SELECT A.nope FROM A", "sse.sql.column_not_found", "does not exist: nope; the tables are A: host, v"),
        ("SELECT nope", "sse.sql.column_not_found", "selects from no table"),
        ("SELECT * FROM B", "sse.sql.table_not_found", "table (refId/query) [B] and that table was not found; add the query"),
        ("SELECT * FROM a", "sse.sql.table_not_found", "[a] and that table was not found; write it [A]"),
        ("SELECT * FROM F", "sse.sql.failed_dependency", "selects from the results of query [F] which has an error"),
        ("SELECT * FROM L", "sse.sql.input_conversion", "results of query [L] (Datasource Type: [grafana-testdata-datasource]) into a"),
        (
            "SELECT v + 9223372036854775807 * 9223372036854775807 * 9223372036854775807 FROM A",
            "sse.sql.general_gms_error",
            "error from the sql expression engine",
        ),
    ],
)
async def test_an_error_has_its_reason_and_remedy(engine: SqlEngine, statement: str, message_id: str, fault: str) -> None:
    """An error has the reason and what to do. The error belongs to its refId alone, and all other nodes run."""
    labelled = [frame(TIME, ("v", "number", [1, 2], {"h": "a"}))]
    refusal = await sql_error(engine, statement, raw_query("A", SMALL_TABLE, hide=False), raw_query("F", [1]), raw_query("L", labelled))
    assert refusal["status"] == 400
    assert refusal["error"].startswith(f"[{message_id}] ")
    assert fault in refusal["error"]


async def test_tables_that_differ_in_case_only_are_refused(engine: SqlEngine) -> None:
    """Tables whose names differ in case only are refused, because DuckDB would read the wrong one."""
    refusal = await sql_error(engine, "SELECT * FROM A JOIN a", raw_query("A", SMALL_TABLE), raw_query("a", SMALL_TABLE))
    assert "the results 'A' and 'a' differ in small and capital letters only" in refusal["error"]


async def test_tables_above_the_memory_limit_are_rejected(engine: SqlEngine) -> None:
    """Large tables are rejected before they are copied."""
    refusal = await sql_error(engine, "SELECT * FROM A", raw_query("A", SMALL_TABLE), limits=Limits(sql_bytes=40))
    assert refusal["error"].startswith("[sse.limit]")
    assert "more than the 40 allowed (setting DASHWRIGHT_SQL_BYTES)" in refusal["error"]


@pytest.mark.parametrize(
    ("kind", "value", "config"),
    [
        (FieldType.STRING, "x" * 100_000, None),
        (FieldType.STRING, "ü" * 60_000, None),
        (FieldType.JSON, {"a": ["x" * 100_000]}, None),
        (FieldType.ENUM, 0, {"type": {"enum": {"text": ["x" * 5_000_000]}}}),
    ],
    ids=["text", "characters", "json", "dictionary"],
)
def test_strings_and_documents_count_with_their_length(kind: FieldType, value: Any, config: Any) -> None:
    """Strings and documents count with their length: too large ones are rejected before a process is started."""
    values = np.empty(30, kind.dtype)
    values[:] = [value] * 30
    limits = Limits(sql_bytes=2_000_000)
    engine = SqlEngine(limits, slots=1)
    try:
        with pytest.raises(TooLarge, match=r"more than the 2000000 allowed \(setting DASHWRIGHT_SQL_BYTES\)"):
            run_statement("S", engine, "SELECT * FROM A", {"A": Frame([Field("v", kind, values, config=config)])}, limits=limits)
        assert engine.sandbox.pids == []
    finally:
        engine.stop()


async def test_points_of_tables_count_for_the_request(engine: SqlEngine) -> None:
    """The table that a statement reads and its result count towards the points of the request."""
    statement = sql_query("S", "SELECT A.v FROM A CROSS JOIN A AS b")
    # The table has 6 points, and the result 9. Each of them counts as 32 points more.
    enough = Limits(request_points=6 + 32 + 9 + 32)
    assert (await send_queries(engine, raw_query("A", SMALL_TABLE), statement, limits=enough))["results"]["S"]["status"] == 200
    body = await send_queries(engine, raw_query("A", SMALL_TABLE), statement, limits=replace(enough, request_points=78))
    assert "with S the queries and expressions of the request hold 79 points" in body["results"]["S"]["error"]


async def test_an_explanation_includes_tables(engine: SqlEngine) -> None:
    """The explanation has the frames and cells that a statement read and returned."""
    body = await send_queries(engine, raw_query("A", SMALL_TABLE), sql_query("S", "SELECT v FROM A"), explain=True)
    node = body["meta"]["explain"]["nodes"]["S"]
    assert node["inputs"] == [{"refId": "A", "type": "tableData", "items": 1, "points": 6}]
    assert node["output"] == {"type": "tableData", "items": 1, "points": 3}


async def test_results_are_checked_by_assertions(engine: SqlEngine) -> None:
    """A statement's result has no frame type, so an assertion on its type fails."""
    assertions = {"type": "timeseries-multi", "typeVersion": [0, 1]}
    body = await send_queries(engine, raw_query("A", SMALL_TABLE), sql_query("S", "SELECT v FROM A", resultAssertions=assertions))
    assert "expected frame type [timeseries-multi], but the type is unknown" in body["results"]["S"]["error"]


async def test_statements_run_concurrently(engine: SqlEngine) -> None:
    """More statements than slots run, and each gets its own result."""
    tasks = [result_table(engine, f"SELECT SUM(v) + {index} AS s FROM A", raw_query("A", SMALL_TABLE)) for index in range(12)]
    assert await asyncio.gather(*tasks) == [{"s": [6 + index]} for index in range(12)]
    assert len(engine.sandbox.pids) <= 2


async def test_the_feature_creates_the_engine() -> None:
    """The engine has the limits of the settings; without the feature there is no engine."""
    assert query_settings(load()).sql is None
    settings = query_settings(load(features="sqlExpression", sql_slots=1, sql_output_cells=2))
    assert settings.sql is not None
    try:
        response = await respond(
            orjson.dumps({"queries": [sql_query("S", "SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 3")]}), None, settings
        )
        assert isinstance(response.body, bytes)
        assert columns(json.loads(response.body)["results"]["S"]) == {"a": [1, 2]}
    finally:
        settings.close()
    with pytest.raises(DashwrightError, match="stopping"):
        SqlExpression.parse("S", "SELECT 1", "", settings.sql).select({}, replace(settings.limits))
