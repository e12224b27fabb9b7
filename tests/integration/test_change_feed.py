"""Reading and trimming of the change feed."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Gone
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.stores import changes, resources
from dashwright.common.stores.changes import Change, Snapshot, StreamName

LONG_RETENTION = timedelta(hours=1)
_INSERT = """insert into resource (uid, api_group, resource, namespace, name, resource_version, generation, stored_version, title, labels,
        annotations, created_at, created_by, content_hash, metadata)
    select gen_random_uuid(), $1, $2, $3, name, 0, 1, 'v', '', '{}', '{}', now(), 'user:1', '', '' from unnest($4::text[]) name"""


async def insert_objects(connection: Connection, *names: str, namespace: str = "default", folders: bool = False) -> None:
    """Insert dashboards, or folders."""
    kind = FOLDER if folders else DASHBOARD
    await connection.execute(_INSERT, kind.group, kind.plural, namespace, list(names))


async def move_to_folder(connection: Connection, name: str, folder: str) -> None:
    """Move a dashboard or a folder into a folder."""
    statement = "update resource set annotations = jsonb_build_object('grafana.app/folder', $2::text) where name = $1"
    await connection.execute(statement, name, folder)


def summary_of(changes: Sequence[Change]) -> list[tuple[str, str]]:
    """Return the type and the name of each change."""
    return [(change.type, change.name) for change in changes]


async def read_changes(connection: Connection, version: int = 1, *, snapshot: Snapshot | None = None, **options: Any) -> Sequence[Change]:
    """Return changes of dashboards above a version, by default all up to now."""
    options = {"limit": 10, "kind": DASHBOARD, "namespace": "default", **options}
    snapshot = snapshot or await changes.snapshot(connection)
    return await changes.list_after(connection, StreamName.OBJECTS, version, snapshot=snapshot, **options)


async def read_since(connection: Connection, earlier: Snapshot, stream_name: StreamName = StreamName.OBJECTS) -> list[tuple[str, str]]:
    """Return the changes that a snapshot does not contain, read in small pages."""
    async with connection.transaction():
        return summary_of([change async for change in changes.list_since(connection, stream_name, earlier, page=2)])


async def wait_until_blocked(connection: Connection) -> None:
    """Return as soon as another connection waits for an advisory lock."""
    async with asyncio.timeout(10):
        while not await connection.fetchval("select exists (select from pg_locks where locktype = 'advisory' and not granted)"):
            pass


async def test_changes_of_a_kind_are_read_in_pages(database: Database) -> None:
    """Pages have the changes of a snapshot, each once, in the order of their versions."""
    async with database.connection() as connection:
        start = await changes.visible_version(connection, StreamName.OBJECTS, "default")
        await insert_objects(connection, "a", "b", "c")
        snapshot = await changes.snapshot(connection)
        await insert_objects(connection, "d")
        first = await read_changes(connection, start, snapshot=snapshot, limit=2)
        second = await read_changes(connection, first[-1].resource_version, snapshot=snapshot, limit=2)
        assert summary_of([*first, *second]) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]


async def test_changes_since_a_snapshot_are_those_of_later_commits(database: Database) -> None:
    """Changes since a snapshot are those that were committed after it, also with lower versions than committed ones."""
    async with database.connection() as first, database.connection() as second:
        await insert_objects(second, "a")
        async with first.transaction():
            await insert_objects(first, "b", namespace="org-2")
            await insert_objects(second, "c")
            snapshot = await changes.snapshot(second)
            await insert_objects(second, "d", "e", "f")
            assert await read_since(second, snapshot) == [("ADDED", "d"), ("ADDED", "e"), ("ADDED", "f")]
        assert await read_since(second, snapshot) == [("ADDED", "b"), ("ADDED", "d"), ("ADDED", "e"), ("ADDED", "f")]
        assert await read_since(second, snapshot, StreamName.JOBS) == []
        assert await read_since(second, await changes.snapshot(second)) == []


async def test_writers_of_one_namespace_wait_for_each_other(database: Database) -> None:
    """A writer waits for the transaction of another writer of its namespace, but not for those of other namespaces."""
    async with database.connection() as first, database.connection() as second:
        async with first.transaction():
            await resources.lock(first, "default")
            await insert_objects(second, "a", namespace="org-2")
            blocked_insert = asyncio.create_task(insert_objects(second, "b"))
            await wait_until_blocked(first)
            await insert_objects(first, "c")
        await blocked_insert
        assert summary_of(await read_changes(second)) == [("ADDED", "c"), ("ADDED", "b")]


async def test_a_settled_version_gets_no_more_changes_below(database: Database) -> None:
    """Only namespaces without an open transaction are settled up to the newest version: no change below it can be added to them."""
    async with database.connection() as first, database.connection() as second:
        async with first.transaction():
            await insert_objects(first, "a", namespace="org-2")
            version, namespaces = await changes.settled_version(second, StreamName.OBJECTS, ["default", "org-2", "org-3"])
            assert version == await changes.latest_version(second)
            assert set(namespaces) == {"default", "org-3"}
            assert len((await changes.settled_version(second, StreamName.JOBS, ["org-2"]))[1]) == 1
        _, namespaces = await changes.settled_version(second, StreamName.OBJECTS, ["org-2"])
        assert namespaces == ["org-2"]


async def test_writers_share_a_lock_until_older_gateways_are_gone(database: Database) -> None:
    """A gateway that reads in the order of versions keeps writers of all namespaces from writing concurrently."""
    async with database.connection() as first, database.connection() as second:
        await first.execute("update feed_order set by_namespace = false")
        await second.execute("select set_config('application_name', $1, false)", changes.OLD_READERS[0])
        async with first.transaction():
            assert not await changes.order_by_namespace(first)
        async with first.transaction():
            await insert_objects(first, "a")
            blocked_insert = asyncio.create_task(insert_objects(second, "b", namespace="org-2"))
            await wait_until_blocked(first)
        await blocked_insert
        await second.execute("reset application_name")
        async with first.transaction():
            assert await changes.order_by_namespace(first)
        async with first.transaction():
            await insert_objects(first, "c")
            await insert_objects(second, "d", namespace="org-2")


async def test_the_changes_of_a_kind_include_changes_of_access(database: Database) -> None:
    """Changes of dashboards include moves of folders, which are marked as changes of access, but nothing of other namespaces or names."""
    async with database.connection() as connection:
        await insert_objects(connection, "f", "g", folders=True)
        await insert_objects(connection, "a", "b")
        await insert_objects(connection, "a", namespace="org-2")
        await move_to_folder(connection, "f", "g")
        await connection.execute("update resource set title = 'new' where name = 'g'")

        async def changes_of(namespace: str = "default", name: str | None = None) -> list[tuple[str, str]]:
            return summary_of(await read_changes(connection, namespace=namespace, name=name))

        assert await changes_of() == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "f")]
        assert await changes_of(name="b") == [("ADDED", "b"), ("MODIFIED", "f")]
        assert await changes_of(namespace="org-2") == [("ADDED", "a")]
        # The move of a folder is recorded twice: as a change of the folder, and as a change of access.
        folders = await read_changes(connection, kind=FOLDER)
        assert summary_of(folders) == [("ADDED", "f"), ("ADDED", "g"), ("MODIFIED", "f"), ("MODIFIED", "f"), ("MODIFIED", "g")]
        folder_changes = await read_changes(connection, kind=FOLDER, name="f")
        assert summary_of(folder_changes) == [("ADDED", "f"), ("MODIFIED", "f"), ("MODIFIED", "f")]
        assert [change.changes_access for change in folders] == [False, False, False, True, False]


async def test_an_update_includes_the_previous_state(database: Database) -> None:
    """An update has the previous state with its version."""
    async with database.connection() as connection:
        await insert_objects(connection, "a")
        await move_to_folder(connection, "a", "f")
        created, moved = await read_changes(connection)
    assert created.old is None
    assert moved.old is not None
    assert (moved.old.folder, moved.state.folder, moved.old_resource_version) == (None, "f", created.resource_version)


async def test_a_version_below_the_horizon_is_an_error(database: Database) -> None:
    """Reading below the last deleted change fails, even if no matching change was deleted; reading from it on succeeds."""
    async with database.connection() as connection:
        await insert_objects(connection, "a")
        await connection.execute("update change set changed_at = now() - interval '2 hours'")
        await insert_objects(connection, "b")
        trimmed = await changes.trim(connection, older_than=LONG_RETENTION)
        horizon = await changes.horizon(connection)
        assert (len(trimmed.objects), trimmed.is_more) == (1, False)
        for kind in (DASHBOARD, FOLDER):
            with pytest.raises(Gone):
                await read_changes(connection, horizon - 1, kind=kind)
        assert summary_of(await read_changes(connection, horizon)) == [("ADDED", "b")]


async def test_the_feed_is_trimmed_to_a_number_of_changes(database: Database) -> None:
    """The oldest changes are deleted, except for recent ones, whose neighbours may not be committed yet."""
    async with database.connection() as connection:
        await insert_objects(connection, *"abcdef")
        await changes.trim(connection, older_than=LONG_RETENTION, max_changes=2)
        # All six changes are recent.
        assert await connection.fetchval("select count(*) from change") == 6
        await connection.execute("update change set changed_at = now() - interval '20 minutes'")
        await changes.trim(connection, older_than=LONG_RETENTION, max_changes=2)
        assert summary_of(await read_changes(connection, await changes.horizon(connection))) == [
            ("ADDED", "e"),
            ("ADDED", "f"),
        ]


async def test_the_latest_version_includes_open_transactions(database: Database) -> None:
    """The latest version includes versions of uncommitted transactions; the head does not."""
    async with database.connection() as first, database.connection() as second:
        async with first.transaction():
            await insert_objects(first, "a")
            version = await first.fetchval("select resource_version from resource")
            assert await changes.latest_version(second) >= version
            assert await changes.visible_version(second, StreamName.OBJECTS, "default") < version
        assert await changes.visible_version(second, StreamName.OBJECTS, "default") == version
