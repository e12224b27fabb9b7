"""Dead letters in PostgreSQL: each message is stored once, and the cleaner deletes those that are too old or too many."""

import asyncio
import hashlib
from datetime import UTC, datetime, timedelta

import pytest

from dashwright.api.accounts.organizations import Organizations
from dashwright.api.accounts.rights import RightsTransactions
from dashwright.api.dead_letters.cleaner import DeadLetterCleaner
from dashwright.api.domain.actor import Actor
from dashwright.api.stores import dead_letters, keys
from dashwright.api.stores.dead_letters import NewDeadLetter
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.models.quotas import QuotaRules

NOW = datetime(2026, 11, 23, tzinfo=UTC)
ACTOR = Actor("user:1", "admin", 1, "", "", "")


class FixedClock(Clock):
    """A clock that always shows NOW."""

    def seconds(self) -> float:
        """Return the time NOW in Unix seconds."""
        return NOW.timestamp()


class NoCache:
    """A cache of identities without entries."""

    def invalidate(self, subject: str) -> None:
        """Do nothing."""


@pytest.fixture(autouse=True)
async def organizations(database: Database) -> None:
    """Create the organizations 1 and 2."""
    async with database.connection() as connection:
        await connection.execute("insert into org (name) values ('One'), ('Two')")


@pytest.fixture
def store(database: Database) -> "Store":
    """Provide the letters of the empty database."""
    return Store(database)


class Store:
    """The stored letters."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self, name: str, *, namespace: str = "default", days: float = 0, message: str | None = None, replayed: bool = False
    ) -> bool:
        """Store a letter of a given age in days, and return whether it is new."""
        async with self._database.transaction() as connection:
            is_new = await dead_letters.insert(connection, letter(name, namespace=namespace, days=days, message=message))
            if replayed:
                await connection.execute("update dead_letter set replayed_at = $1 where name = $2", NOW, name)
        return is_new

    async def names(self) -> list[str]:
        """Return the names of all letters."""
        async with self._database.connection() as connection:
            return [row[0] for row in await connection.fetch("select name from dead_letter order by name")]

    async def clean(self, *, days: int = 0, keep: int = 100) -> None:
        """Clean once."""
        await DeadLetterCleaner(self._database, FixedClock(), days=days, keep=keep).clean()


def letter(name: str, *, namespace: str = "default", days: float = 0, message: str | None = None) -> NewDeadLetter:
    """Return a letter of a given age in days. Its delivery is identified by the name, and its message by ``message``."""
    return NewDeadLetter(
        name=name,
        namespace=namespace,
        delivery_hash=hashlib.sha256(name.encode()).digest(),
        message_hash=None if message is None else hashlib.sha256(message.encode()).digest(),
        routing_key=f"submit.{namespace}",
        exchange="e",
        queue="q",
        reason="no",
        headers={},
        removed_headers=[],
        message_id=message,
        correlation_id=None,
        content_type="",
        body=b"{}",
        body_bytes=2,
        obstacle="",
        received=NOW - timedelta(days=days),
    )


async def test_a_message_is_one_letter_until_it_is_replayed(store: Store) -> None:
    """A delivery is stored once. Another delivery of the same message is stored unless its letter is still dead."""
    assert await store.add("a", message="m")
    assert not await store.add("a", message="m")
    assert not await store.add("b", message="m")
    assert await store.add("c", message="other", replayed=True)
    assert await store.add("d", message="other")
    assert not await store.add("c", message="other")
    assert await store.add("e")
    assert await store.add("f")
    assert await store.names() == ["a", "c", "d", "e", "f"]


async def test_old_letters_are_deleted(store: Store) -> None:
    """Letters beyond the age limit are deleted, whether they were replayed or not. 0 days disable the limit."""
    await store.add("new", days=29.9)
    await store.add("old", days=30.1)
    await store.add("old-replayed", days=31, replayed=True)
    await store.clean(days=0)
    assert await store.names() == ["new", "old", "old-replayed"]
    await store.clean(days=30)
    assert await store.names() == ["new"]


async def test_each_organization_keeps_its_newest_letters(store: Store) -> None:
    """Above the limit, replayed letters are deleted first, and then the oldest; other organizations do not count."""
    for name, days, replayed in (("a1", 5, False), ("a2", 4, False), ("a3", 3, True), ("a4", 1, False), ("a5", 0, True)):
        await store.add(name, days=days, replayed=replayed)
    await store.add("b1", namespace="org-2", days=9)
    await store.add("s1", namespace="", days=9)
    await store.clean(keep=4)
    assert await store.names() == ["a1", "a2", "a4", "a5", "b1", "s1"]
    await store.clean(keep=2)
    assert await store.names() == ["a2", "a4", "b1", "s1"]


async def test_more_letters_than_one_transaction_deletes_are_deleted(database: Database, store: Store) -> None:
    """One run deletes everything that is due, old and surplus letters alike."""
    # Letters that are 100 to 4999 hours old. Those over 2400 hours are too old, and of the others the newest hundred are kept.
    async with database.connection() as connection:
        await connection.execute(
            """
            insert into dead_letter (name, namespace, server_only, delivery_hash, routing_key, exchange, queue, reason, headers,
                removed_headers, content_type, body, body_bytes, obstacle, received_at)
            select 'l' || lpad(n::text, 5, '0'), 'default', false, int4send(n), 'submit.default', 'e', 'q', 'r', '{}',
                '{}', '', '', 0, '', $1::timestamptz - make_interval(hours => 5000 - n)
            from generate_series(1, 4900) n
            """,
            NOW,
        )
    await store.clean(days=100, keep=100)
    assert await store.names() == [f"l{number:05}" for number in range(4801, 4901)]


async def test_only_one_gateway_cleans(database: Database, store: Store) -> None:
    """A gateway that finds another one cleaning deletes nothing, and does not wait."""
    await store.add("old", days=9)
    async with database.transaction() as connection:
        assert await keys.lock_cleanup(connection)
        await store.clean(days=1)
        assert await store.names() == ["old"]
    await store.clean(days=1)
    assert await store.names() == []


async def test_an_organization_is_deleted_with_its_letters(database: Database, store: Store) -> None:
    """Deleting an organization deletes its letters, and no others. A letter that arrives later is for server admins only."""
    await store.add("a")
    await store.add("b", namespace="org-2")
    await remove_organization(database)
    assert await store.names() == ["a"]
    await store.add("c", namespace="org-2")
    async with database.connection() as connection:
        assert await connection.fetchval("select namespace from dead_letter where name = 'c' and server_only") == "default"


async def test_a_letter_that_is_stored_during_the_deletion_of_its_organization_is_deleted(database: Database, store: Store) -> None:
    """The deletion of an organization waits for a letter that is being stored, and then deletes it."""
    async with database.transaction() as connection:
        await dead_letters.insert(connection, letter("late", namespace="org-2"))
        deletion = asyncio.create_task(remove_organization(database))
        await asyncio.wait({deletion}, timeout=0.3)
        assert not deletion.done()
    await deletion
    assert await store.names() == []


async def remove_organization(database: Database) -> None:
    """Delete the organization 2."""
    await Organizations(RightsTransactions(database, NoCache()), QuotaRules()).remove(ACTOR, 2)
