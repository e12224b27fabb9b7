"""The laws of the audit over a real PostgreSQL: told with the change or not at all, found again, forgotten only by age."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit
from dashwright.api.stores.audit import Event, EventFilter, Outcome
from dashwright.common.database.pool import Database

ADMIN = Actor("user:1", "admin", 1, "192.0.2.7", "r1", "t1")


async def put(database: Database, *events: Event) -> None:
    async with database.transaction() as connection:
        await audit.record_all(connection, events)


async def found(database: Database, wanted: EventFilter) -> list[str]:
    async with database.connection() as connection:
        return [event.action for event in (await audit.query(connection, wanted)).events]


async def test_an_event_is_read_as_it_was_recorded(database: Database) -> None:
    """Who, what, to what, from where, by which request, with which details and when."""
    async with database.transaction() as connection:
        await audit.record(connection, ADMIN, "org.create", "org:5", org_id=1, details={"name": "Öl"})
        before = await connection.fetchval("select now()")
    async with database.connection() as connection:
        (event,) = (await audit.query(connection, EventFilter())).events
    assert (event.at, event.org_id, event.actor, event.login) == (before, 1, "user:1", "admin")
    assert (event.action, event.object, event.outcome, event.status) == ("org.create", "org:5", Outcome.OK, 200)
    assert (event.address, event.request_id, event.trace_id, event.details) == ("192.0.2.7", "r1", "t1", {"name": "Öl"})


async def test_what_is_rolled_back_was_not_done(database: Database) -> None:
    """An event shares the fate of its change."""

    async def fail() -> None:
        async with database.transaction() as connection:
            await audit.record(connection, ADMIN, "org.create", "org:5", org_id=None)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    assert await found(database, EventFilter()) == []


async def test_a_strange_caller_costs_no_event(database: Database) -> None:
    """Text that cannot be stored, or has no end, is told as far as it can be."""
    await put(database, Event(replace(ADMIN, login="a\0b\ud800" + "c" * 5000), "login", outcome=Outcome.REFUSED, status=401, org_id=0))
    async with database.connection() as connection:
        (event,) = (await audit.query(connection, EventFilter())).events
    assert event.login.startswith("a\N{REPLACEMENT CHARACTER}b?ccc")
    assert (len(event.login), event.org_id) == (1000, None)


async def test_events_are_found_by_what_is_known_of_them(database: Database) -> None:
    """Each filter narrows; together they are all to hold; an organization's are nobody else's and none without one."""
    await put(
        database,
        Event(ADMIN, "one", "org:1", org_id=1),
        Event(replace(ADMIN, uid="user:2", request_id="r2"), "two", "org:1", Outcome.REFUSED, 403, org_id=1),
        Event(ADMIN, "three", "org:2", org_id=2),
        Event(ADMIN, "four", org_id=None),
    )
    everything = ["four", "three", "two", "one"]
    now = datetime.now(UTC)
    assert await found(database, EventFilter()) == everything
    assert await found(database, EventFilter(org_id=1)) == ["two", "one"]
    assert await found(database, EventFilter(actor="user:2")) == ["two"]
    assert await found(database, EventFilter(action="three")) == ["three"]
    assert await found(database, EventFilter(object="org:1", outcome=Outcome.OK)) == ["one"]
    assert await found(database, EventFilter(outcome=Outcome.REFUSED)) == ["two"]
    assert await found(database, EventFilter(request_id="r2", org_id=2)) == []
    assert await found(database, EventFilter(since=now - timedelta(hours=1), until=now + timedelta(hours=1))) == everything
    assert await found(database, EventFilter(since=now + timedelta(hours=1))) == []
    assert await found(database, EventFilter(until=now - timedelta(hours=1))) == []


async def test_pages_follow_one_another_while_events_come_in(database: Database) -> None:
    """From the newest down, each event once; what is recorded meanwhile is on no later page, and the last names no next."""
    await put(database, *(Event(ADMIN, f"a{number}", org_id=1) for number in range(7)))
    seen: list[str] = []
    before: int | None = None
    sizes = []
    while True:
        async with database.connection() as connection:
            page = await audit.query(connection, EventFilter(org_id=1), before=before, limit=3)
        await put(database, Event(ADMIN, "later", org_id=1))
        seen += [event.action for event in page.events]
        sizes.append(len(page.events))
        before = page.next
        if before is None:
            break
    assert seen == [f"a{number}" for number in reversed(range(7))]
    assert sizes == [3, 3, 1]


async def test_only_age_is_forgotten(database: Database) -> None:
    """Retention takes what is older, as many as it is told at once, and leaves the table closed behind it, in its transaction too."""
    await put(database, *(Event(ADMIN, f"a{number}", org_id=1) for number in range(5)))
    async with database.transaction() as connection:
        assert await audit.forget(connection, datetime.now(UTC) - timedelta(days=1)) == 0
        assert await audit.forget(connection, datetime.now(UTC) + timedelta(days=1), limit=3) == 3
        with pytest.raises(asyncpg.RaiseError):
            async with connection.transaction():
                await connection.execute("delete from audit_event")
        assert await audit.forget(connection, datetime.now(UTC) + timedelta(days=1), limit=3) == 2
    assert await found(database, EventFilter()) == []
