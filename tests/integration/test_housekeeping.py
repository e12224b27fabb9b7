"""Housekeeping of a gateway over a real database: batches of last-used times, expired tokens, old audit events, and refusals."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dashwright.api.domain.actor import Actor
from dashwright.api.housekeeping import Cleaner, LastUseTimes
from dashwright.api.refusals import RefusalBuffer
from dashwright.api.stores import keys
from dashwright.api.stores.users import ensure_first_user
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import Unavailable
from dashwright.common.identity import CallerType, Identity, Role

START = datetime(2026, 1, 1, tzinfo=UTC)
USER = Identity("user:1", "admin", 1, Role.ADMIN, 1)
TOKEN = Identity("service-account:2", "sa", 1, Role.VIEWER, 2, kind=CallerType.SERVICE_ACCOUNT, key_id=1)
KEY = Identity("api-key:2", "old", 1, Role.VIEWER, kind=CallerType.API_KEY, key_id=2)


class ManualClock(Clock):
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.elapsed = timedelta()

    def seconds(self) -> float:
        """Return the start and the elapsed time."""
        return (START + self.elapsed).timestamp()


async def fetch_values(database: Database, statement: str, *arguments: Any) -> list[Any]:
    """Execute a statement and return the first column of its rows."""
    async with database.connection() as connection:
        return [row[0] for row in await connection.fetch(statement, *arguments)]


@pytest.fixture
async def credential_rows(database: Database) -> Database:
    """Insert user 1, and service account 2 with token 1, legacy key 2 and token 3."""
    async with database.connection() as connection:
        await ensure_first_user(connection, "admin", "hash")
        await connection.execute("""insert into "user" (id, login, email, org_id, is_service_account) values (2, 'sa', 'sa', 1, true)""")
        await connection.execute(
            """
            insert into api_key (id, org_id, name, key, role, service_account_id) values
                (1, 1, 'new', 'a', 'Viewer', 2), (2, 1, 'old', 'b', 'Viewer', null), (3, 1, 'other', 'c', 'Viewer', 2)
            """
        )
    return database


SELECT_LAST_USED = "select last_used_at from api_key order by id"
SELECT_LAST_SEEN = 'select last_seen_at from "user" order by id'


async def test_times_of_last_use_are_written_in_batches(credential_rows: Database) -> None:
    """The times are written only as a batch, which has the newest time of each used credential."""
    clock = ManualClock()
    last_used = LastUseTimes(credential_rows, clock)
    for caller in (USER, TOKEN, KEY, TOKEN, USER):
        clock.elapsed += timedelta(seconds=1)
        last_used.record(caller)
    assert await fetch_values(credential_rows, SELECT_LAST_USED) == [None, None, None]
    await last_used.flush()
    # The last of the five uses by each caller: the token's fourth second, the key's third, and the user's fifth.
    assert await fetch_values(credential_rows, SELECT_LAST_USED) == [START + timedelta(seconds=4), START + timedelta(seconds=3), None]
    assert await fetch_values(credential_rows, SELECT_LAST_SEEN) == [START + timedelta(seconds=5), None]


async def test_a_batch_sends_no_notification_and_keeps_newer_times(credential_rows: Database) -> None:
    """A batch does not replace newer times, ignores deleted rows, and sends no notification."""
    clock = ManualClock()
    early, late = LastUseTimes(credential_rows, clock), LastUseTimes(credential_rows, clock)
    early.record(TOKEN)
    clock.elapsed += timedelta(seconds=9)
    late.record(TOKEN)
    late.record(KEY)
    payloads: asyncio.Queue[str] = asyncio.Queue()
    is_listening = asyncio.Event()
    async with credential_rows.listen("identity", payloads.put_nowait, is_listening.set):
        await is_listening.wait()
        await fetch_values(credential_rows, "delete from api_key where id = 2")
        await late.flush()
        # The transactions that wrote the rows: an update with equal values would change them.
        before = await fetch_values(credential_rows, "select xmin::text from api_key order by id")
        await early.flush()
        await early.flush()  # an empty batch
        assert await fetch_values(credential_rows, "select xmin::text from api_key order by id") == before
        await fetch_values(credential_rows, "select pg_notify('identity', 'end')")
        async with asyncio.timeout(10):
            assert [await payloads.get(), await payloads.get()] == ["key:2", "end"]
    assert await fetch_values(credential_rows, SELECT_LAST_USED) == [START + timedelta(seconds=9), None]


async def test_concurrent_batches_do_not_deadlock(credential_rows: Database) -> None:
    """Gateways that record uses in different orders write their batches concurrently without a deadlock."""
    clock = ManualClock()
    gateways = [LastUseTimes(credential_rows, clock) for _ in range(4)]
    for _ in range(5):
        for index, last_used in enumerate(gateways):
            for caller in (TOKEN, KEY, USER) if index % 2 else (USER, KEY, TOKEN):
                clock.elapsed += timedelta(seconds=1)
                last_used.record(caller)
        await asyncio.gather(*(last_used.flush() for last_used in gateways))
    assert max(await fetch_values(credential_rows, "select last_used_at from api_key where id < 3")) <= START + clock.elapsed


async def test_a_failed_batch_is_repeated(credential_rows: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an outage of the database, the next batch contains the failed one and all later times."""
    clock = ManualClock()
    last_used = LastUseTimes(credential_rows, clock)
    last_used.record(TOKEN)
    last_used.record(KEY)
    write_last_use = keys.write_last_use

    async def fail(*_: object, **__: object) -> None:
        raise Unavailable("not reachable")

    monkeypatch.setattr(keys, "write_last_use", fail)
    with pytest.raises(Unavailable):
        await last_used.flush()
    monkeypatch.setattr(keys, "write_last_use", write_last_use)
    clock.elapsed += timedelta(seconds=5)
    last_used.record(TOKEN)
    await last_used.flush()
    assert await fetch_values(credential_rows, SELECT_LAST_USED) == [START + timedelta(seconds=5), START, None]


def days_ago(days: float) -> int:
    """Return a time before the start in seconds since 1970."""
    return int((START - timedelta(days=days)).timestamp())


async def test_long_expired_tokens_are_deleted(credential_rows: Database) -> None:
    """Tokens are deleted the configured number of days after they expire; legacy keys are kept for their owners."""
    for number, days in ((1, 31), (2, 400), (3, 29)):
        await fetch_values(credential_rows, "update api_key set expires = $2 where id = $1", number, days_ago(days))
    await Cleaner(credential_rows, ManualClock(), expired_token_days=0, audit_days=0).clean()
    assert await fetch_values(credential_rows, "select id from api_key order by id") == [1, 2, 3]
    await Cleaner(credential_rows, ManualClock(), expired_token_days=30, audit_days=0).clean()
    assert await fetch_values(credential_rows, "select id from api_key order by id") == [2, 3]


async def add_events(database: Database, *days: float) -> None:
    """Insert an audit event of each age in days."""
    for age in days:
        await fetch_values(
            database,
            "insert into audit_event (at, actor, login, action, outcome, status) values ($1, 'user:1', 'admin', 'x', 'ok', 200)",
            START - timedelta(days=age),
        )


SELECT_AGES = "select extract(day from $1::timestamptz - at)::int from audit_event order by at"


async def test_old_audit_events_are_deleted(credential_rows: Database) -> None:
    """Audit events are deleted after their retention, and the audit is append-only afterwards."""
    await add_events(credential_rows, 400, 366, 364, 1)
    await Cleaner(credential_rows, ManualClock(), expired_token_days=0, audit_days=0).clean()
    assert len(await fetch_values(credential_rows, SELECT_AGES, START)) == 4
    await Cleaner(credential_rows, ManualClock(), expired_token_days=0, audit_days=365).clean()
    assert await fetch_values(credential_rows, SELECT_AGES, START) == [364, 1]


async def test_one_gateway_at_a_time_does_housekeeping(credential_rows: Database) -> None:
    """While another gateway does housekeeping, a round does nothing and does not wait."""
    await add_events(credential_rows, 400)
    await fetch_values(credential_rows, "update api_key set expires = 1 where id = 1")
    cleaning = Cleaner(credential_rows, ManualClock(), expired_token_days=30, audit_days=365)
    async with credential_rows.transaction() as connection:
        assert await keys.lock_cleanup(connection)
        await cleaning.clean()
        assert (
            len(await fetch_values(credential_rows, SELECT_AGES, START)),
            len(await fetch_values(credential_rows, SELECT_LAST_USED)),
        ) == (1, 3)
    await cleaning.clean()
    assert (len(await fetch_values(credential_rows, SELECT_AGES, START)), len(await fetch_values(credential_rows, SELECT_LAST_USED))) == (
        0,
        2,
    )


ACTOR = Actor("user:1", "admin", 1, "192.0.2.1", "request", "trace")
UNAUTHENTICATED = replace(ACTOR, uid="anonymous", org_id=0)


async def test_refusals_are_recorded_in_batches(credential_rows: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each refusal is an event.

    Excess refusals are dropped, and failed writes are repeated. Unauthenticated clients have a small share of the buffer.
    """
    refusals = RefusalBuffer(credential_rows, size=3)
    for actor, org_id, status in ((UNAUTHENTICATED, 0, 401), (UNAUTHENTICATED, 0, 403), (ACTOR, 5, 401), (ACTOR, 1, 403), (ACTOR, 1, 403)):
        refusals.record(actor, "org.update", org_id=org_id, status=status)

    async def fail(*_: object) -> None:
        raise Unavailable("not reachable")

    with monkeypatch.context() as patch:
        patch.setattr("dashwright.api.stores.audit.record_all", fail)
        with pytest.raises(Unavailable):
            await refusals.flush()
    assert await fetch_values(credential_rows, "select count(*) from audit_event") == [0]
    await refusals.flush()
    await refusals.flush()  # an empty batch
    recorded = await fetch_values(
        credential_rows, "select action || ' ' || outcome || ' ' || status || ' ' || address from audit_event order by id"
    )
    assert recorded == [f"org.update refused {status} 192.0.2.1" for status in (401, 401, 403)]
    assert await fetch_values(credential_rows, "select org_id from audit_event order by id") == [None, 5, 1]
    refusals.record(UNAUTHENTICATED, "org.update", org_id=0, status=401)
    await refusals.flush()
    assert await fetch_values(credential_rows, "select count(*) from audit_event") == [4]
