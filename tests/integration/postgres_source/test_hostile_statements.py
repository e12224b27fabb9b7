"""Hostile statements against a data source: each ends in an error, or has no lasting effect."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from tests.integration.postgres_source.conftest import RunQuery, Warehouse, column_values, patient_limits

from dashwright.common.errors import BadRequest, DashwrightError, DeadlineExceeded, TooLarge
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.limits import Limits

Owner = Any
"""A connection of the owner of the database."""

#: Statements that do not begin like a reading one.
OTHER_STATEMENTS = [
    "insert into measurement values (-1)",
    "update measurement set watts = 0",
    "delete from measurement",
    "merge into measurement using measurement t on true when matched then delete",
    "truncate measurement",
    "drop table measurement",
    "create table copied (x int)",
    "create temp table copied (x int)",
    "alter table measurement add column x int",
    "grant all on measurement to public",
    "copy measurement to '/tmp/copied'",
    "copy (select 1) to program 'id'",
    "copy measurement from '/etc/passwd'",
    "do $$ begin insert into measurement values (-1); end $$",
    "call set_to_two(1)",
    "set role postgres",
    "set session authorization default",
    "set transaction read write",
    "set transaction_read_only = off",
    "reset all",
    "begin",
    "commit; drop table measurement",
    "rollback",
    "savepoint a",
    "prepare transaction 'x'",
    "prepare prepared as select 1",
    "execute prepared",
    "declare c cursor for select 1",
    "fetch all from c",
    "listen x",
    "notify x",
    "lock table measurement",
    "vacuum",
    "checkpoint",
    "load 'x'",
    "discard all",
    "refresh materialized view x",
    "/* select */ drop table measurement",
    "-- select\ndrop table measurement",
    "((drop table measurement))",
    "; drop table measurement",
    "",
    "-- nothing",
]

#: Statements that begin like a reading one, with a pattern of the error.
REFUSED_STATEMENTS = [
    (
        "with x as (insert into measurement values (-1) returning 1) select * from x",
        "cannot execute (INSERT|SELECT) in a read-only transaction",
    ),
    ("with x as (delete from measurement returning 1) select * from x", "cannot execute (DELETE|SELECT) in a read-only transaction"),
    ("with x as (select 1) insert into measurement select -1 from x returning 1", "cannot execute INSERT in a read-only transaction"),
    ("explain analyze insert into measurement values (-1)", "cannot execute INSERT"),
    ("select * into copied from measurement", "no columns"),
    ("select from measurement", "no columns"),
    ("select 1; drop table measurement", "cannot insert multiple commands into a prepared statement"),
    ("select 1 /* ; */; -- \n drop table measurement", "cannot insert multiple commands"),
    ("select 1);drop table measurement;--", "syntax error"),
    ("select array[1]) as answer(c0); drop table measurement; --", "syntax error"),
    ("select array[1] /*", "unterminated"),
    ("select * from measurement for update", "cannot execute SELECT FOR UPDATE"),
    ("select nextval('counter')", "cannot execute nextval"),
    ("select setval('counter', 7)", "cannot execute setval"),
    ("select insert_row()", "cannot execute INSERT"),
    ("select set_config('transaction_read_only', 'off', true), insert_row()", "cannot set transaction read-write mode|must be set before"),
    ("select set_config('transaction_read_only', 'off', false)", "cannot set transaction read-write mode|must be set before"),
    (
        "select query_to_xml('insert into measurement values (-1)', true, true, '')",
        "INSERT is not allowed|cannot execute INSERT|unsupported XML",
    ),
    ("select set_config('role', 'pg_read_server_files', false)", "permission denied to set role"),
    ("select set_config('session_authorization', rolname, false) from pg_roles where rolsuper", "permission denied to set session"),
    ("select pg_read_file('/etc/passwd')", "permission denied for function"),
    ("select pg_read_binary_file('/etc/passwd')", "permission denied for function"),
    ("select pg_ls_dir('/')", "permission denied for function"),
    ("select pg_stat_file('/etc/passwd')", "permission denied for function"),
    ("select lo_import('/etc/passwd')", "permission denied for function"),
    ("select lo_export(1, '/tmp/copied')", "permission denied for function"),
    ("select pg_reload_conf()", "permission denied for function"),
    ("select pg_rotate_logfile()", "permission denied for function"),
    ("select pg_switch_wal()", "permission denied for function"),
    ("select pg_promote()", "permission denied for function"),
    ("select pg_create_restore_point('x')", "permission denied for function"),
    ("select pg_create_physical_replication_slot('x', true)", "must be superuser or replication role|permission denied"),
    ("select pg_terminate_backend(pid) from pg_stat_activity where usename <> current_user", "must be a|permission denied"),
    ("select rolpassword from pg_authid", "permission denied for table"),
    ("table pg_shadow", "permission denied for view"),
    ("select dblink('host=127.0.0.1', 'select 1')", "function dblink(.*) does not exist"),
    ("select 1 as x where $1", "has a parameter"),
    ("select '\0'", "NUL"),
    ("select '\ud800'", "half of a surrogate pair"),
    ("select 1 as x; \ufeff drop table measurement", "cannot insert multiple commands|syntax error"),
    ("select 1 as x\uff1b drop table measurement", "syntax error|does not exist"),
]

#: Statements that are accepted, or refused by newer servers, and whose effects end with their transaction.
WITHOUT_EFFECT = [
    "select lo_create(4711)",
    "select lo_from_bytea(4711, 'x')",
    "select change_session()",
    "select pg_advisory_lock(4711)",
    "select pg_notify('x', 'copied')",
    "select set_config('default_transaction_read_only', 'off', false)",
    "select set_config('search_path', 'copied', false)",
    "select set_config('statement_timeout', '0', false)",
    "explain analyze create table copied as select 1",
]


@pytest.mark.parametrize("sql", OTHER_STATEMENTS)
async def test_only_reading_statements_are_sent(run_query: RunQuery, sql: str) -> None:
    """The error of a statement that does not read lists the keywords with which a statement may begin."""
    with pytest.raises(BadRequest, match=r"begin with one of SELECT, WITH, VALUES, TABLE, SHOW, EXPLAIN|no statement"):
        await run_query(sql)


@pytest.mark.parametrize(("sql", "message"), REFUSED_STATEMENTS)
async def test_a_harmful_statement_is_refused(run_query: RunQuery, owner: Owner, sql: str, message: str) -> None:
    """A statement that begins like a reading one but does more is refused by the server. Nothing changes."""
    with pytest.raises(BadRequest, match=message):
        await run_query(sql)
    await _check_nothing_changed(owner)
    assert column_values(await run_query("select 1 as x")) == {"x": [1]}


@pytest.mark.parametrize("sql", WITHOUT_EFFECT)
async def test_an_accepted_statement_has_no_lasting_effect(run_query: RunQuery, owner: Owner, sql: str) -> None:
    """An accepted statement changes neither the database nor the session, which later queries reuse."""
    session = (
        "select pg_backend_pid() as pid, current_setting('work_mem') as memory, current_setting('search_path') as path, current_user as me"
    )
    before = column_values(await run_query(session))
    notifications: list[object] = []
    await owner.add_listener("x", lambda *arguments: notifications.append(arguments[-1]))
    with suppress(BadRequest):  # newer servers forbid more
        await run_query(sql)
    assert column_values(await run_query(session)) == before
    await _check_nothing_changed(owner)
    assert (await run_query("select name from pg_prepared_statements where name = 'prepared'")).row_count == 0
    await owner.execute("notify x, 'the end'")
    await _wait_for_notification(notifications)
    assert notifications == ["the end"]


async def test_a_transaction_is_read_only_and_bounded(run_query: RunQuery) -> None:
    """Transactions of a data source are read-only, with limited times, and the session has the name of the application."""
    settings = ["transaction_read_only", "application_name", "lock_timeout"]
    sql = "select " + ", ".join(f"current_setting('{name}') as {name}" for name in settings)
    assert column_values(await run_query(sql)) == {
        "transaction_read_only": ["on"],
        "application_name": ["dashwright"],
        "lock_timeout": ["5s"],
    }
    (limit,) = column_values(await run_query("select setting::int as ms from pg_settings where name = 'statement_timeout'"))["ms"]
    assert 0 < limit <= 60_000


@pytest.mark.parametrize(
    "sql",
    [
        "select pg_sleep(600)",
        "with recursive r as (select 1 as x union all select 1 from r) select count(*) from r",
        "select set_config('statement_timeout', '0', false), pg_sleep(600)",
        "select pg_sleep(0.02) from generate_series(1, 1000000)",
    ],
)
async def test_a_slow_statement_is_cancelled(run_query: RunQuery, owner: Owner, warehouse: Warehouse, sql: str) -> None:
    """A slow statement is cancelled at the deadline, also on the server."""
    with pytest.raises(DeadlineExceeded):
        await run_query(sql, Limits(deadline=Deadline(0.5)))
    assert column_values(await run_query("select 1 as x")) == {"x": [1]}
    running = "select count(*) from pg_stat_activity where usename = $1 and state = 'active'"
    assert await owner.fetchval(running, warehouse.reader) == 0


@pytest.mark.parametrize(
    "sql",
    ["select repeat('x', 20000000)", "select repeat('x', 1000) from generate_series(1, 20000)", "select array_fill(1, array[900000])"],
)
async def test_a_large_result_is_cancelled(run_query: RunQuery, sql: str) -> None:
    """A large value, many rows, or a large array is refused before it fills the memory, and the next statement succeeds."""
    with pytest.raises(TooLarge, match=r"too many bytes, more than the 1000000 allowed .*DASHWRIGHT_SOURCE_BYTES"):
        await run_query(sql, patient_limits(source_bytes=1_000_000))
    assert column_values(await run_query("select 1 as x")) == {"x": [1]}


async def test_rows_beyond_the_limit_are_omitted_with_a_notice(run_query: RunQuery) -> None:
    """A result, also an endless one, is read up to the limit of rows."""
    frame = await run_query("select generate_series(1, 1000000000000) as n", patient_limits(source_rows=25_000))
    assert column_values(frame)["n"] == list(range(1, 25_001))
    assert frame.meta
    (notice,) = frame.meta["notices"]
    assert notice == {
        "severity": "warning",
        "text": "the statement returned more rows than the 25000 allowed (setting DASHWRIGHT_SOURCE_ROWS); the rest was omitted",
    }
    exact = await run_query("select n from generate_series(1, 25000) n", patient_limits(source_rows=25_000))
    assert exact.row_count == 25_000
    assert "notices" not in (exact.meta or {})


async def test_cells_beyond_the_limit_are_refused(run_query: RunQuery) -> None:
    """A result with too many cells is refused: columns count as much as rows."""
    with pytest.raises(TooLarge, match="DASHWRIGHT_QUERY_POINTS"):
        await run_query("select n, n, n from generate_series(1, 400) n", patient_limits(query_points=1000))


async def test_a_role_may_end_only_its_sessions(run_query: RunQuery) -> None:
    """A role may end its own session: the query fails with 502, and the next statement succeeds."""
    with pytest.raises(DashwrightError) as caught:
        await run_query("select pg_terminate_backend(pg_backend_pid())")
    assert caught.value.status == 502
    assert column_values(await run_query("select 1 as x")) == {"x": [1]}


async def _check_nothing_changed(owner: Owner) -> None:
    """Check that the table has its 60 rows with the ids 0 to 59, and that nothing was created, advanced or locked."""
    state = """
        select (select count(*) from measurement), (select sum(id) from measurement),
            to_regclass('copied'), (select last_value from counter),
            (select count(*) from pg_locks where locktype = 'advisory' and objid = 4711),
            (select count(*) from pg_largeobject_metadata), (select count(*) from pg_replication_slots where slot_name = 'x')
    """
    assert tuple(await owner.fetchrow(state)) == (60, 1770, None, 1, 0, 0, 0)


async def _wait_for_notification(notifications: list[object]) -> None:
    """Wait until a listener has recorded a notification."""
    async with asyncio.timeout(60):
        while not notifications:  # noqa: ASYNC110 (a call-back of the connection fills it)
            await asyncio.sleep(0.01)
