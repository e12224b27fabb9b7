"""The resource store over a real PostgreSQL."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import AlreadyExists, NotFound
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, REPOSITORY
from dashwright.common.models.provisioning import RepositoryStatus, SyncState
from dashwright.common.stores import changes, resources

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def dashboard(name: str, title: str = "T", **annotations: str) -> resources.Write:
    """Return the write of a dashboard, with annotations whose keys get the prefix ``grafana.app/``."""
    prefixed_annotations = {f"grafana.app/{key}": text for key, text in annotations.items()}
    return resources.Write(
        DASHBOARD, name, orjson.dumps({"title": title}).decode(), "v2alpha1", extract=Extract(title), annotations=prefixed_annotations
    )


async def write_objects(database: Database, *writes: resources.Write, actor: str = "user:1") -> int:
    """Write objects like a sync, in one statement; return how many were changed."""
    async with database.transaction() as connection:
        staging = resources.StagedWrites(connection)
        await staging.create_table()
        await staging.add(writes)
        await resources.lock(connection, "default")
        return await staging.write("default", actor=actor, now=NOW)


async def read_dashboard(database: Database, name: str) -> dict[str, Any]:
    """Return a dashboard as the API encodes it."""
    async with database.connection() as connection:
        stored = await resources.get(connection, DASHBOARD, "default", name)
    decoded: dict[str, Any] = orjson.loads(stored.encode("v2alpha1"))
    return decoded


async def feed(connection: Connection) -> list[tuple[str, str, int]]:
    """Return the name, type and generation of all changes, oldest first."""
    rows = await connection.fetch("select name, type, generation from change order by resource_version")
    return [(row["name"], row["type"], row["generation"]) for row in rows]


async def test_a_created_object_is_read_as_it_was_sent(database: Database) -> None:
    """A created object has its name, uid, versions, creator and the exact text of its spec."""
    async with database.transaction() as connection:
        write = dashboard("a", folder="f")
        written = await resources.create(await resources.lock(connection, "default"), "default", write, actor="user:7", now=NOW)
    stored = await read_dashboard(database, "a")
    assert stored["spec"] == {"title": "T"}
    assert stored["apiVersion"] == "dashboard.grafana.app/v2alpha1"
    metadata = stored["metadata"]
    assert ("a", "default", str(written.uid)) == (metadata["name"], metadata["namespace"], metadata["uid"])
    assert (str(written.resource_version), 1) == (metadata["resourceVersion"], metadata["generation"])
    assert metadata["creationTimestamp"] == "2026-01-02T03:04:05Z"
    assert metadata["annotations"] == {"grafana.app/folder": "f", "grafana.app/createdBy": "user:7"}


async def test_a_duplicate_name_is_rejected(database: Database) -> None:
    """A second create of a name raises AlreadyExists, and the first object does not change."""
    async with database.transaction() as connection:
        await resources.create(await resources.lock(connection, "default"), "default", dashboard("a"), actor="user:1", now=NOW)
    with pytest.raises(AlreadyExists, match=r'dashboards\.dashboard\.grafana\.app "a" already exists'):
        async with database.transaction() as connection:
            await resources.create(await resources.lock(connection, "default"), "default", dashboard("a", "other"), actor="user:1", now=NOW)
    assert (await read_dashboard(database, "a"))["spec"] == {"title": "T"}


async def test_one_of_two_concurrent_creates_succeeds(database: Database) -> None:
    """One of two concurrent creates of a name succeeds, and the other one raises AlreadyExists."""

    async def create(title: str) -> str:
        try:
            async with database.transaction() as connection:
                await resources.create(
                    await resources.lock(connection, "default"), "default", dashboard("a", title), actor="user:1", now=NOW
                )
        except AlreadyExists:
            return "refused"
        return "created"

    assert sorted(await asyncio.gather(create("one"), create("two"))) == ["created", "refused"]


async def test_an_unchanged_write_has_no_effect(database: Database) -> None:
    """Writing an equal object creates no version, no generation, no history and no change."""
    await write_objects(database, dashboard("a"))
    before = await read_dashboard(database, "a")
    assert await write_objects(database, dashboard("a"), actor="user:2") == 0
    assert before == await read_dashboard(database, "a")
    async with database.connection() as connection:
        assert await feed(connection) == [("a", "ADDED", 1)]
        assert await connection.fetchval("select count(*) from resource_history") == 1


async def test_generation_grows_with_spec_and_folder_only(database: Database) -> None:
    """A new spec or folder is a new generation with its author; a new label or annotation is a new version only."""
    await write_objects(database, dashboard("a"))
    await write_objects(database, dashboard("a", team="x"), actor="user:2")
    metadata = (await read_dashboard(database, "a"))["metadata"]
    assert metadata["generation"] == 1
    assert "grafana.app/updatedBy" not in metadata["annotations"]
    await write_objects(database, dashboard("a", "new"), actor="user:3")
    await write_objects(database, dashboard("a", "new", folder="f"), actor="user:4")
    metadata = (await read_dashboard(database, "a"))["metadata"]
    assert metadata["generation"] == 3
    assert metadata["annotations"]["grafana.app/updatedBy"] == "user:4"
    async with database.connection() as connection:
        assert await feed(connection) == [("a", "ADDED", 1), ("a", "MODIFIED", 1), ("a", "MODIFIED", 2), ("a", "MODIFIED", 3)]
        history = await connection.fetch("select generation, created_by, spec from resource_history order by generation")
    assert [(row["generation"], row["created_by"]) for row in history] == [(1, "user:1"), (2, "user:3"), (3, "user:4")]
    assert history[0]["spec"] == '{"title":"T"}'


async def test_server_fields_cannot_be_written(database: Database) -> None:
    """Values for createdBy and updatedBy in a write are ignored."""
    await write_objects(database, dashboard("a", createdBy="user:99", updatedBy="user:99"))
    assert (await read_dashboard(database, "a"))["metadata"]["annotations"] == {"grafana.app/createdBy": "user:1"}


async def test_a_deletion_is_recorded(database: Database) -> None:
    """Deletion removes the object, keeps its history, and is the newest change of the feed."""
    await write_objects(database, dashboard("a"), dashboard("b"))
    async with database.transaction() as connection:
        assert await resources.delete(connection, DASHBOARD, "default", ["a", "unknown"], actor="user:1") == ["a"]
    with pytest.raises(NotFound, match=r'dashboards\.dashboard\.grafana\.app "a" not found'):
        await read_dashboard(database, "a")
    async with database.connection() as connection:
        assert (await feed(connection))[-1] == ("a", "DELETED", 1)
        assert await connection.fetchval("select count(*) from resource_history") == 2


async def test_a_status_write_is_a_change_without_generation(database: Database) -> None:
    """A status write is a change with a new version and no new generation; the same status again has no effect."""
    spec = '{"title":"R","workflows":[],"type":"local","sync":{"enabled":true,"target":"folder"}}'

    def succeed(status: RepositoryStatus, stored: resources.StoredObject) -> None:
        status.sync.state = SyncState.SUCCESS
        status.observed_generation = stored.generation

    await write_objects(database, resources.Write(REPOSITORY, "r", spec, "v0alpha1", extract=Extract("R")))
    for _ in range(2):  # a new status, and the same one again
        async with database.transaction() as connection:
            await resources.update_status(connection, REPOSITORY, "default", "r", RepositoryStatus, succeed)
    async with database.connection() as connection:
        assert await feed(connection) == [("r", "ADDED", 1), ("r", "MODIFIED", 1)]
        stored = await resources.get(connection, REPOSITORY, "default", "r")
    assert stored.status is not None
    assert orjson.loads(stored.status)["sync"] == {"state": "success", "message": []}
    assert orjson.loads(stored.status)["observedGeneration"] == 1


async def test_names_are_unique_within_namespace_and_kind(database: Database) -> None:
    """Objects of different namespaces or kinds may have equal names."""
    await write_objects(database, dashboard("a"), resources.Write(FOLDER, "a", '{"title":"F"}', "v0alpha1", extract=Extract("F")))
    async with database.transaction() as connection:
        await resources.create(await resources.lock(connection, "org-2"), "org-2", dashboard("a", "other"), actor="user:1", now=NOW)
        assert (await resources.get(connection, FOLDER, "default", "a")).spec == '{"title":"F"}'
        assert (await resources.get(connection, DASHBOARD, "org-2", "a")).spec == '{"title":"other"}'
    assert (await read_dashboard(database, "a"))["spec"] == {"title": "T"}


async def test_versions_become_visible_in_order(database: Database) -> None:
    """With any number of writers, a reader that has read up to a version never misses a lower version."""
    recorded: list[int] = []
    done = asyncio.Event()

    async def write(writer: int) -> None:
        """Write dashboards of the writer's own, and others that all writers write."""
        for index in range(15):
            await write_objects(database, dashboard(f"w{writer}-{index}"), dashboard(f"shared-{index}", f"{writer}"))

    async def follow() -> None:
        """Record all versions above the last recorded one, until a read that began after all writes."""
        position = 0
        while True:
            is_last_read = done.is_set()
            async with database.connection() as connection:
                rows = await connection.fetch("select resource_version from change where resource_version > $1 order by 1", position)
            recorded.extend(row["resource_version"] for row in rows)
            position = recorded[-1] if recorded else 0
            if is_last_read:
                return

    follower = asyncio.create_task(follow())
    await asyncio.gather(*(write(writer) for writer in range(4)))
    done.set()
    await follower
    async with database.connection() as connection:
        all_versions = [row["resource_version"] for row in await connection.fetch("select resource_version from change order by 1")]
    assert all_versions == recorded
    # Four writers write 15 times two objects.
    assert len(all_versions) == 4 * 15 * 2


async def test_a_number_is_exact_in_every_client(database: Database) -> None:
    """The numeric id has at most 53 bits and is in a label of dashboards and folders, which clients cannot set."""
    numbers = set()
    for title in ("one", "two"):
        write = replace(dashboard("a", title), labels={"team": "x", "grafana.app/deprecatedInternalID": "4"})
        await write_objects(database, write, resources.Write(REPOSITORY, "r", "{}", "v0alpha1"))
        async with database.connection() as connection:
            stored = await resources.get(connection, DASHBOARD, "default", "a")
            repository = await resources.get(connection, REPOSITORY, "default", "r")
        assert 0 < stored.number < 2**53
        assert orjson.loads(stored.metadata)["labels"] == {"team": "x", "grafana.app/deprecatedInternalID": str(stored.number)}
        assert "labels" not in orjson.loads(repository.metadata)
        numbers.add(stored.number)
    assert len(numbers) == 1


async def test_a_change_includes_the_previous_state(database: Database) -> None:
    """An update has both states, a deletion the last one with its version, and a new object only its own."""
    await write_objects(database, replace(dashboard("a", "old", folder="f"), labels={"n": "1"}))
    await write_objects(database, replace(dashboard("a", "new"), labels={"n": "2"}))
    async with database.transaction() as connection:
        await resources.delete(connection, DASHBOARD, "default", ["a"], actor="user:1")
        created, changed, deleted = await connection.fetch("select * from change order by resource_version")
    assert [row["feed"] for row in (created, changed, deleted)] == [1, 1, 1]
    columns = ("generation", "title", "folder", "labels", "stored_version", "layout", "metadata", "status")
    assert [created[f"old_{field}"] for field in columns] == [None] * len(columns)
    assert [created[field] for field in columns] == [changed[f"old_{field}"] for field in columns]
    assert [changed[field] for field in columns] == [deleted[field] for field in columns]
    assert (created["title"], created["folder"], created["labels"]) == ("old", "f", '{"n": "1"}')
    assert (changed["title"], changed["folder"], changed["labels"]) == ("new", None, '{"n": "2"}')
    assert created["old_resource_version"] is None
    assert (created["resource_version"], changed["resource_version"]) == (changed["old_resource_version"], deleted["old_resource_version"])


async def test_history_has_the_first_version_of_a_generation(database: Database) -> None:
    """A generation in the history has the version of the write that created it. Later writes without a new generation do not change it."""
    await write_objects(database, replace(dashboard("a", "old"), extract=Extract("old", layout=True)))
    first = (await read_dashboard(database, "a"))["metadata"]["resourceVersion"]
    await write_objects(database, dashboard("a", "old", team="x"))
    await write_objects(database, dashboard("a", "new"))
    second = (await read_dashboard(database, "a"))["metadata"]["resourceVersion"]
    async with database.connection() as connection:
        rows = await connection.fetch("select resource_version, layout from resource_history order by generation")
    assert [tuple(row) for row in rows] == [(int(first), True), (int(second), False)]


async def test_a_large_sync_is_fast_after_a_single_change(database: Database) -> None:
    """The query plan of the feed is cached: a plan for a single row would join thousands of rows with each other for minutes."""
    dashboards = [dashboard(f"d{index}") for index in range(8000)]
    await write_objects(database, *dashboards)
    async with database.transaction() as connection:
        await connection.execute("set local statement_timeout = '20s'")
        # So many single changes that PostgreSQL caches a plan.
        for index in range(10):
            await connection.execute("update resource set status = $1 where name = 'd1'", f"{index}")
        await connection.execute("update resource set status = 'all'")
        assert await connection.fetchval("select count(*) from change where status = 'all'") == len(dashboards)


async def test_trimming_raises_the_horizon(database: Database) -> None:
    """After trimming, a list returns a version that is not below the deleted changes, so that a watch from it misses nothing."""
    await write_objects(database, dashboard("a"), dashboard("b"))
    async with database.transaction() as connection:
        newest = await connection.fetchval("select max(resource_version) from change")
        await connection.execute("update change set changed_at = now() - interval '2 hours'")
        await changes.trim(connection, older_than=timedelta(hours=1))
        assert await feed(connection) == []
        assert newest == await changes.visible_version(connection, changes.StreamName.OBJECTS, "default")


async def test_an_empty_store_has_a_version_above_0(database: Database) -> None:
    """An empty store has the version 1, because 0 means any version. Each change stream has a version of its own."""
    async with database.connection() as connection:
        assert {await changes.visible_version(connection, stream_name, "default") for stream_name in changes.StreamName} == {1}
    await write_objects(database, dashboard("a"))
    async with database.connection() as connection:
        assert await changes.visible_version(connection, changes.StreamName.OBJECTS, "default") > 1
        assert await changes.visible_version(connection, changes.StreamName.JOBS, "default") == 1


async def test_a_deleted_object_is_in_the_trash(database: Database) -> None:
    """The last state of a deleted object is in the trash if requested, and is deleted with its namespace."""
    async with database.transaction() as connection:
        for name in ("a", "b"):
            await resources.create(await resources.lock(connection, "default"), "default", dashboard(name, "T"), actor="user:1", now=NOW)
        assert await resources.delete(connection, DASHBOARD, "default", ["a"], actor="user:2", to_trash=True) == ["a"]
        assert await resources.delete(connection, DASHBOARD, "default", ["b"], actor="user:2") == ["b"]
        remaining = await connection.fetch("select name, title, generation, deleted_by from trash")
        assert [tuple(row) for row in remaining] == [("a", "T", 1, "user:2")]
        await resources.delete_namespace(connection, "default")
        assert await connection.fetchval("select count(*) from trash") == 0


async def test_a_pending_deletion_is_a_generation_with_the_same_body(database: Database) -> None:
    """A pending deletion has the previous generation's spec; an unknown object is not found."""
    async with database.transaction() as connection:
        await resources.create(await resources.lock(connection, "default"), "default", dashboard("a", "T"), actor="user:1", now=NOW)
        marked = await resources.mark_deleted(connection, DASHBOARD, "default", "a", actor="user:2", now=NOW)
        rows = await connection.fetch("select generation, created_by, parent_version, spec from resource_history order by generation")
        assert [tuple(row)[:3] for row in rows] == [(1, "user:1", None), (2, "user:2", 1)]
        assert rows[0]["spec"] == rows[1]["spec"]
        assert (await resources.get(connection, DASHBOARD, "default", "a")).resource_version == marked.resource_version
        with pytest.raises(NotFound):
            await resources.mark_deleted(connection, DASHBOARD, "default", "b", actor="user:2", now=NOW)
