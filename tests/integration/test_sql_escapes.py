"""Hostile SQL expressions sent like those of any client: each ends in an error with the reason, and the worker continues."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.integration.test_sql_expressions import SMALL_TABLE, raw_query, result_table, send_queries, sql_query
from tests.unit.expressions.test_event_loop_stays_free import MAX_GAP_SECONDS, measure_gaps

from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.sql.engine import SqlEngine

LIMITS = Limits(sql_seconds=20, sql_bytes=64 * 1024 * 1024)
BLOCKED, INVALID, EMPTY, MISSING = (
    f"sse.sql.{name}" for name in ("blocked_node_or_func", "invalid_query", "empty_query", "table_not_found")
)


@pytest.fixture(scope="module")
def engine() -> Iterator[SqlEngine]:
    """Provide an engine with one child process for all tests."""
    created = SqlEngine(LIMITS, slots=1)
    yield created
    created.stop()


async def error_of(engine: SqlEngine, statement: str, limits: Limits = LIMITS) -> tuple[int, str]:
    """Return status and text of the error, after checking that other nodes of the request and the next statement succeed."""
    body = await send_queries(
        engine, raw_query("A", SMALL_TABLE), sql_query("S", statement), {"refId": "B", "type": "math", "expression": "1"}, limits=limits
    )
    assert body["results"]["B"]["status"] == 200
    result = body["results"]["S"]
    assert result["frames"] == []
    assert await result_table(engine, "SELECT COUNT(*) AS n FROM A", raw_query("A", SMALL_TABLE)) == {"n": [3]}
    return result["status"], result["error"]


@pytest.mark.parametrize(
    "statement",
    [
        # files and network
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/proc/self/environ')",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM '/etc/passwd'",
        'SELECT * FROM "/etc/passwd"',
        "SELECT * FROM `/etc/passwd`",
        "SELECT * FROM `https://example.org/x.csv`",
        "SELECT LOAD_FILE('/etc/passwd')",
        "SELECT * FROM A INTO OUTFILE '/tmp/x'",
        "SELECT * INTO DUMPFILE '/tmp/x' FROM A",
        "LOAD DATA INFILE '/etc/passwd' INTO TABLE A",
        "COPY A TO '/tmp/x'",
        "ATTACH '/tmp/x.db'",
        "EXPORT DATABASE '/tmp/x'",
        "IMPORT DATABASE '/tmp/x'",
        "SELECT getenv('PATH')",
        # settings, variables, extensions
        "SET GLOBAL max_connections = 1",
        "SET @x = 1",
        "SET enable_external_access = true",
        "SELECT @x",
        "SELECT @@version",
        "SELECT @x := 1",
        "PRAGMA database_list",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT current_setting('threads')",
        # statements other than queries
        "DROP TABLE A",
        "DELETE FROM A",
        "UPDATE A SET v = 1",
        "INSERT INTO A VALUES ('x', 1)",
        "REPLACE INTO A VALUES ('x', 1)",
        "CREATE TABLE t AS SELECT 1",
        "CREATE FUNCTION f() RETURNS INT RETURN 1",
        "TRUNCATE A",
        "CALL p()",
        "DO SLEEP(1)",
        "SHOW TABLES",
        "DESCRIBE A",
        "EXPLAIN SELECT 1",
        "USE x",
        "LOCK TABLES A READ",
        "HANDLER A OPEN",
        "SELECT * FROM A FOR UPDATE",
        "SELECT * FROM A LOCK IN SHARE MODE",
        # more than one statement, and comments that hide one
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE A",
        "SELECT 1;;; DROP TABLE A; --",
        "SELECT 1 /* x */; DROP TABLE A",
        "SELECT 1 -- x\n; DROP TABLE A",
        "SELECT 1 # x\n; DROP TABLE A",
        "SELECT 1 /*! ; DROP TABLE A */; DROP TABLE A",
        "/*!50000 DROP TABLE A */",
        "SELECT 1 /*!50000 INTO OUTFILE '/tmp/x' */; SELECT 2",
        # the catalog
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM mysql.user",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM duckdb_secrets()",
        "SELECT * FROM pragma_version()",
        "SELECT * FROM pg_catalog.pg_tables",
        "SELECT * FROM main.A",
        "SELECT * FROM memory.main.A",
        "SELECT * FROM system.A",
        "SELECT * FROM temp.A",
        # functions outside the list
        "SELECT SLEEP(10)",
        "SELECT BENCHMARK(1000000000, MD5('x'))",
        "SELECT GET_LOCK('x', 10)",
        "SELECT USER()",
        "SELECT VERSION()",
        "SELECT DATABASE()",
        "SELECT pg_sleep(10)",
        "SELECT query('SELECT 1')",
        "SELECT * FROM query('SELECT 1')",
        "SELECT * FROM query_table('A')",
        "SELECT * FROM range(10)",
        "SELECT * FROM generate_series(1, 1000000000)",
        "SELECT * FROM repeat_row(1, num_rows=1000000000)",
        "SELECT `system`.`getenv`('PATH')",
        "SELECT main.getenv('PATH')",
        "SELECT UpdateXML(1, 2, 3)",
        "SELECT list_transform([1], x -> x)",
        # syntax of DuckDB that MySQL does not have
        "FROM A",
        "SELECT * EXCLUDE (v) FROM A",
        "SELECT COLUMNS('.*') FROM A",
        "PIVOT A ON host",
        "SUMMARIZE A",
        "SELECT [1, 2, 3]",
        "SELECT {'a': 1}",
        "SELECT 1::BLOB",
        "SELECT ?",
        # look-alikes
        "SELECT ｌｏａｄ＿ｆｉｌｅ('/etc/passwd')",  # noqa: RUF001
        "SELECT lo\u0430d_file('/etc/passwd')",
        "SELECT\u200bread_text('/etc/passwd')",
        "SELECT * FROM\u00a0read_text('/etc/passwd')",
        "SELECT 1\u037e DROP TABLE A",
        "SELECT 'a\\'; DROP TABLE A; --'; DROP TABLE A",
        "SELECT 1 \u0000; DROP TABLE A",
        "SELECT 'x",
        "SELECT `x",
        "SELECT /* x",
    ],
)
async def test_forbidden_statements_are_refused(engine: SqlEngine, statement: str) -> None:
    """The first layer, the check of the syntax, refuses forbidden statements with the reason."""
    status, text = await error_of(engine, statement)
    assert status == 400
    message_id = text.removeprefix("[").partition("]")[0]
    assert message_id in {BLOCKED, INVALID, EMPTY, MISSING}, text


@pytest.mark.parametrize(
    "name", ["connection", "os", "request", "setup", "sys", "tables", "duckdb_settings", "pragma_version", "sqlite_master"]
)
async def test_only_nodes_of_the_request_are_tables(engine: SqlEngine, name: str) -> None:
    """A statement can read neither variables of the child process nor tables of its database."""
    assert (await error_of(engine, f"SELECT * FROM {name}"))[1].startswith(f"[{MISSING}]")
    assert await result_table(engine, f"SELECT v FROM `{name}` ORDER BY v", raw_query(name, SMALL_TABLE)) == {"v": [1, 2, 3]}


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT REPEAT('x', 2000000000)",
        "SELECT RPAD('x', 2000000000, 'y')",
        "SELECT LENGTH(REPEAT(REPEAT('x', 100000), 100000))",
        "SELECT GROUP_CONCAT(REPEAT('x', 10000000) SEPARATOR '') FROM A a CROSS JOIN A b CROSS JOIN A c",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r ORDER BY n DESC",
    ],
)
async def test_excessive_memory_is_an_error_of_its_ref_id(engine: SqlEngine, statement: str) -> None:
    """A statement that needs too much memory is an error of its refId, by the limit of memory or of time."""
    status, text = await error_of(engine, statement, replace(LIMITS, sql_seconds=3))
    assert status in {400, 503, 504}
    assert text.startswith(("[sse.limit]", "[sse.sql."))


#: A join of eight tables of a thousand rows each.
ENDLESS_JOIN = "SELECT COUNT(*) AS n FROM " + " CROSS JOIN ".join(f"T t{number}" for number in range(8)) + " WHERE (t0.v + t7.v) % 7 = 3"


async def test_an_endless_join_times_out(engine: SqlEngine) -> None:
    """An endless join ends at the time limit of statements with a 504 that names the setting; the event loop is not blocked."""
    large_table = raw_query("T", [{"schema": {"fields": [{"name": "v", "type": "number"}]}, "data": {"values": [list(range(1000))]}}])
    async with measure_gaps() as gaps:
        body = await send_queries(engine, large_table, sql_query("S", ENDLESS_JOIN), limits=Limits(sql_seconds=0.5))
    assert max(gaps) < MAX_GAP_SECONDS
    assert body["results"]["S"]["status"] == 504
    error = body["results"]["S"]["error"]
    assert error.startswith("[sse.sql.timeout] sql expression [S] timed out after 0.5s (setting DASHWRIGHT_SQL_SECONDS)")
    assert await result_table(engine, "SELECT COUNT(*) AS n FROM A", raw_query("A", SMALL_TABLE)) == {"n": [3]}


async def test_a_cancelled_statement_ends(engine: SqlEngine) -> None:
    """The slot of a cancelled statement is free long before its time limit."""
    large_table = raw_query("T", [{"schema": {"fields": [{"name": "v", "type": "number"}]}, "data": {"values": [list(range(1000))]}}])
    request = asyncio.create_task(send_queries(engine, large_table, sql_query("S", ENDLESS_JOIN), limits=Limits(sql_seconds=3600)))
    ended_tasks, _ = await asyncio.wait([request], timeout=0.5)
    assert not ended_tasks
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert await result_table(engine, "SELECT COUNT(*) AS n FROM A", raw_query("A", SMALL_TABLE)) == {"n": [3]}


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT " + "(" * 3_000 + "1" + ")" * 3_000,
        "SELECT " + "NOT " * 2_000 + "1",
        "SELECT " + "- " * 4_000 + "1",
        "SELECT " + "ABS(" * 1_500 + "1" + ")" * 1_500,
        "SELECT * FROM " + "(SELECT * FROM " * 500 + "A" + ") x" * 500,
        "SELECT '" + "x" * 20_000 + "'",
        "SELECT 1" + " UNION ALL SELECT 1" * 500 + " UNION SELECT",
    ],
    ids=["parentheses", "nots", "signs", "calls", "subqueries", "length", "union"],
)
async def test_statements_of_any_shape_end_in_an_error(engine: SqlEngine, statement: str) -> None:
    """Too deep, too long and unfinished statements end in an error."""
    status, text = await error_of(engine, statement)
    assert status in {400, 503, 504}
    assert text.startswith(("[sse.limit]", "[sse.sql."))
