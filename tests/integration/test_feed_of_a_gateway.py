"""A gateway follows the change streams even if its notifications fail."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from dashwright.api.changes.cursor import Cursor
from dashwright.api.changes.feed import Feed
from dashwright.api.changes.stream import ChangeStream
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Unavailable
from dashwright.common.identity import Identity, Role
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.stores import changes
from dashwright.common.stores.changes import Change, Snapshot, StreamName

WATCHER = Identity(uid="user:1", login="watcher", org_id=1, role=Role.ADMIN)
_INSERT = """insert into resource (uid, api_group, resource, namespace, name, resource_version, generation, stored_version, title, labels,
        annotations, created_at, created_by, content_hash, metadata)
    values (gen_random_uuid(), $1, $2, 'default', $3, 0, 1, 'v', '', '{}', '{}', now(), 'user:1', '', '')"""


async def insert_dashboard(database: Database, name: str) -> None:
    """Insert a dashboard, which adds a change to the stream of objects."""
    async with database.connection() as connection:
        await connection.execute(_INSERT, DASHBOARD.group, DASHBOARD.plural, name)


async def next_names(cursor: Cursor) -> list[str]:
    """Return the names of the next changes of a cursor. Waits until the cursor has changes."""
    async with asyncio.timeout(20):
        while True:
            if changes := await cursor.read_changes():
                return [change.name for change in changes]
            if cursor.is_caught_up:
                await cursor.wait()
                cursor.take_wake_reasons()


async def watch_from_head(database: Database, feed: Feed) -> Cursor:
    """Watch dashboards from the newest committed change on."""
    cursor = feed.watch(DASHBOARD, "default", None, WATCHER, seconds=100, bookmarks=False)
    async with database.connection() as connection:
        cursor.start(await changes.visible_version(connection, StreamName.OBJECTS, "default"), None)
    return cursor


async def test_changes_are_polled_without_notifications(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Watchers get changes although the connection for notifications is down."""

    @asynccontextmanager
    async def no_notifications() -> AsyncIterator[None]:
        yield

    def listen(channel: str, *callbacks: Callable[..., None]) -> AbstractAsyncContextManager[None]:
        return no_notifications()

    monkeypatch.setattr(database, "listen", listen)
    feed = Feed(database)
    await feed.start()
    cursor = await watch_from_head(database, feed)
    for name in "ab":
        await insert_dashboard(database, name)
        assert await next_names(cursor) == [name]
    assert not feed.is_listening
    feed.leave(cursor)
    await feed.stop()


async def test_changes_continue_after_an_outage(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failed read, no change is missed or second."""
    feed = Feed(database)
    await feed.start()
    cursor = await watch_from_head(database, feed)
    await insert_dashboard(database, "a")
    assert await next_names(cursor) == ["a"]
    failed = asyncio.Event()
    list_since = changes.list_since

    async def fail_once(connection: Connection, stream_name: StreamName, earlier: Snapshot, *, page: int) -> AsyncIterator[Change]:
        """Yield changes, but the first time fail after the first one."""
        async for change in list_since(connection, stream_name, earlier, page=page):
            yield change
            if not failed.is_set():
                failed.set()
                raise Unavailable("the database is not reachable")

    monkeypatch.setattr(changes, "list_since", fail_once)
    await insert_dashboard(database, "b")
    await failed.wait()
    await insert_dashboard(database, "c")
    assert await next_names(cursor) == ["b", "c"]
    feed.leave(cursor)
    await feed.stop()


async def test_a_watcher_misses_nothing_if_the_last_one_left_during_a_read(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the last watcher leaves during a read, the next watcher gets later changes, even if no notification arrives."""
    feed = Feed(database)
    await feed.start()
    first = await watch_from_head(database, feed)
    await insert_dashboard(database, "a")
    assert await next_names(first) == ["a"]
    advance, has_begun, may_end, has_ended = ChangeStream.advance, asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow_advance(stream: ChangeStream) -> set[str] | None:
        """Read changes when the test permits it."""
        has_begun.set()
        await may_end.wait()
        changed_namespaces = await advance(stream)
        has_ended.set()
        return changed_namespaces

    monkeypatch.setattr(ChangeStream, "advance", slow_advance)
    async with asyncio.timeout(20):
        await has_begun.wait()
        feed.leave(first)
        may_end.set()
        await has_ended.wait()
    await insert_dashboard(database, "b")
    second = feed.watch(DASHBOARD, "default", None, WATCHER, seconds=100, bookmarks=False)
    second.start(first.version, first.index)
    assert await next_names(second) == ["b"]
    feed.leave(second)
    await feed.stop()


async def test_a_watcher_after_a_pause_misses_nothing(database: Database) -> None:
    """Changes are not buffered while there are no watchers; the next watcher reads them from the database."""
    feed = Feed(database)
    await feed.start()
    first = await watch_from_head(database, feed)
    await insert_dashboard(database, "a")
    assert await next_names(first) == ["a"]
    feed.leave(first)
    await insert_dashboard(database, "b")
    second = feed.watch(DASHBOARD, "default", None, WATCHER, seconds=100, bookmarks=False)
    second.start(first.version, first.index)
    assert await next_names(second) == ["b"]
    feed.leave(second)
    assert feed.watch_count == 0
    await feed.stop()
