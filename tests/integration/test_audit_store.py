"""The audit over a real PostgreSQL: recorded with the change or not at all, searchable, and deleted by age only."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit
from dashwright.api.stores.audit import Event, EventFilter, Outcome
from dashwright.common.database.pool import Database

ADMIN = Actor("user:1", "admin", 1, "192.0.2.7", "r1", "t1")


async def record_events(database: Database, *events: Event) -> None:
    """Record events in one transaction."""
    async with database.transaction() as connection:
        await audit.record_all(connection, events)


async def find_actions(database: Database, query: EventFilter) -> list[str]:
    """Return the actions of the events that match a filter, newest first."""
    async with database.connection() as connection:
        return [event.action for event in (await audit.query(connection, query)).events]


async def test_an_event_is_read_as_it_was_recorded(database: Database) -> None:
    """An event has its actor, action, target, address, request, details and time."""
    async with database.transaction() as connection:
        await audit.record(connection, ADMIN, "org.create", "org:5", org_id=1, details={"name": "Öl"})
        before = await connection.fetchval("select now()")
    async with database.connection() as connection:
        (event,) = (await audit.query(connection, EventFilter())).events
    assert (event.at, event.org_id, event.actor, event.login) == (before, 1, "user:1", "admin")
    assert (event.action, event.object, event.outcome, event.status) == ("org.create", "org:5", Outcome.OK, 200)
    assert (event.address, event.request_id, event.trace_id, event.details) == ("192.0.2.7", "r1", "t1", {"name": "Öl"})


async def test_the_event_of_a_rolled_back_change_is_not_recorded(database: Database) -> None:
    """An event is part of the transaction of its change."""

    async def fail() -> None:
        async with database.transaction() as connection:
            await audit.record(connection, ADMIN, "org.create", "org:5", org_id=None)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    assert await find_actions(database, EventFilter()) == []


async def test_unstorable_text_does_not_prevent_an_event(database: Database) -> None:
    """An event with text that PostgreSQL cannot store, or that is too long, is recorded with shorter or replaced text."""
    await record_events(
        database, Event(replace(ADMIN, login="a\0b\ud800" + "c" * 5000), "login", outcome=Outcome.REFUSED, status=401, org_id=0)
    )
    async with database.connection() as connection:
        (event,) = (await audit.query(connection, EventFilter())).events
    assert event.login.startswith("a\N{REPLACEMENT CHARACTER}b?ccc")
    assert (len(event.login), event.org_id) == (1000, None)


async def test_filters_of_events_are_combined(database: Database) -> None:
    """All filters must match, and each organization finds its own events only."""
    await record_events(
        database,
        Event(ADMIN, "one", "org:1", org_id=1),
        Event(replace(ADMIN, uid="user:2", request_id="r2"), "two", "org:1", Outcome.REFUSED, 403, org_id=1),
        Event(ADMIN, "three", "org:2", org_id=2),
        Event(ADMIN, "four", org_id=None),
    )
    all_names = ["four", "three", "two", "one"]
    now = datetime.now(UTC)
    assert await find_actions(database, EventFilter()) == all_names
    assert await find_actions(database, EventFilter(org_id=1)) == ["two", "one"]
    assert await find_actions(database, EventFilter(actor="user:2")) == ["two"]
    assert await find_actions(database, EventFilter(action="three")) == ["three"]
    assert await find_actions(database, EventFilter(object="org:1", outcome=Outcome.OK)) == ["one"]
    assert await find_actions(database, EventFilter(outcome=Outcome.REFUSED)) == ["two"]
    assert await find_actions(database, EventFilter(request_id="r2", org_id=2)) == []
    assert await find_actions(database, EventFilter(since=now - timedelta(hours=1), until=now + timedelta(hours=1))) == all_names
    assert await find_actions(database, EventFilter(since=now + timedelta(hours=1))) == []
    assert await find_actions(database, EventFilter(until=now - timedelta(hours=1))) == []


async def test_pages_are_stable_while_events_are_added(database: Database) -> None:
    """Pages list each event once, newest first. Events that are recorded between two pages are on neither."""
    await record_events(database, *(Event(ADMIN, f"a{number}", org_id=1) for number in range(7)))
    recorded: list[str] = []
    next_position: int | None = None
    sizes = []
    while True:
        async with database.connection() as connection:
            page = await audit.query(connection, EventFilter(org_id=1), before=next_position, limit=3)
        await record_events(database, Event(ADMIN, "later", org_id=1))
        recorded += [event.action for event in page.events]
        sizes.append(len(page.events))
        next_position = page.next
        if next_position is None:
            break
    assert recorded == [f"a{number}" for number in reversed(range(7))]
    assert sizes == [3, 3, 1]


async def test_only_old_events_are_deleted(database: Database) -> None:
    """Retention deletes older events in batches, and the table is append-only afterwards, even in the same transaction."""
    await record_events(database, *(Event(ADMIN, f"a{index}", org_id=1) for index in range(5)))
    async with database.transaction() as connection:
        assert await audit.delete_old(connection, datetime.now(UTC) - timedelta(days=1)) == 0
        assert await audit.delete_old(connection, datetime.now(UTC) + timedelta(days=1), limit=3) == 3
        with pytest.raises(asyncpg.RaiseError):
            async with connection.transaction():
                await connection.execute("delete from audit_event")
        assert await audit.delete_old(connection, datetime.now(UTC) + timedelta(days=1), limit=3) == 2
    assert await find_actions(database, EventFilter()) == []
