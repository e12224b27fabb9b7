"""Older generations and the trash, over a real PostgreSQL."""

import random
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from dashwright.common.database.pool import Connection, Database
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.stores import changes, histories, resources
from dashwright.common.stores.histories import TrashPosition
from dashwright.jobs_worker.maintenance.cleaner import Cleaner

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
IMMEDIATELY = timedelta(0)

#: Makes the given share of the changes in the feed two hours old.
AGE_CHANGES = """
update change set changed_at = now() - interval '2 hours'
where resource_version <= (select percentile_disc($1) within group (order by resource_version) from change)"""

#: The generations without a body among those in use: those of changes in the feed, and the newest two of each stored and deleted object.
WITHOUT_BODY = """
with referenced as (
    select uid, generation from change where feed = 1
    union select uid, old_generation from change where feed = 1 and old_generation is not null
    union select uid, generation from resource
    union select uid, generation - 1 from resource where generation > 1
    union select uid, generation from trash
    union select uid, generation - 1 from trash where generation > 1
)
select * from referenced where not exists (
    select from resource_history h where h.uid = referenced.uid and h.generation = referenced.generation)"""


async def save_versions(database: Database, name: str, *titles: str, folder: str = "") -> uuid.UUID:
    """Save a dashboard with each title in turn and return its uid."""
    async with database.transaction() as connection:
        for title in titles:
            annotations = {"grafana.app/message": f"to {title}"} | ({"grafana.app/folder": folder} if folder else {})
            spec = orjson.dumps({"title": title}).decode()
            write = resources.Write(DASHBOARD, name, spec, "v2alpha1", extract=Extract(title), annotations=annotations)
            await resources.put(await resources.lock(connection, "default"), "default", write, actor="user:1", now=NOW)
        return (await resources.get(connection, DASHBOARD, "default", name)).uid


async def delete_to_trash(database: Database, name: str) -> None:
    """Delete a dashboard into the trash."""
    async with database.transaction() as connection:
        await resources.delete(connection, DASHBOARD, "default", [name], actor="user:2", to_trash=True)


async def restore(database: Database, name: str) -> None:
    """Restore an object from the trash, unless another object has its name."""
    async with database.transaction() as connection:
        items = await histories.list_trash(connection, DASHBOARD, "default", name=name, limit=1)
        if not items or await resources.find_resource_version(connection, DASHBOARD, "default", name) is not None:
            return
        restored = await histories.restore(connection, DASHBOARD, "default", name, str(items[0].uid))
        assert restored is not None
        write = resources.Write(DASHBOARD, name, '{"title":"again"}', "v2alpha1", extract=Extract("again"))
        write = replace(write, uid=restored.uid, generation=restored.generation + 1, number=restored.number)
        await resources.create(await resources.lock(connection, "default"), "default", write, actor="user:1", now=NOW)


async def delete_old_generations(
    database: Database, *, keep: int = 2, changes_for: timedelta = IMMEDIATELY, trash_for: timedelta = timedelta(days=1)
) -> None:
    """Run the part of a housekeeping round that deletes generations."""
    async with database.transaction() as connection:
        await histories.trim(connection, (await changes.trim(connection, older_than=changes_for)).objects, keep=keep)
        await histories.empty_trash(connection, older_than=trash_for, limit=100)


async def generations(connection: Connection, uid: uuid.UUID) -> list[int]:
    """Return the stored generations of an object, newest first."""
    return [version.generation for version in await histories.versions(connection, uid, limit=100)]


async def test_versions_are_listed_newest_first_in_pages(database: Database) -> None:
    """Versions are listed from the newest on, each with its author and message, but without a body."""
    uid = await save_versions(database, "a", "one", "two", "three")
    async with database.connection() as connection:
        first = await histories.versions(connection, uid, limit=2)
        second = await histories.versions(connection, uid, before=first[-1].generation, limit=2)
        stored = await resources.get(connection, DASHBOARD, "default", "a")
    assert [(version.generation, version.message) for version in first] == [(3, "to three"), (2, "to two")]
    assert [(version.generation, version.created_by, version.spec) for version in second] == [(1, "user:1", "{}")]
    assert first[0].resource_version == stored.resource_version


async def test_a_version_is_the_object_at_that_time(database: Database) -> None:
    """A version has its own annotations, message and numbers; an unknown generation is not found."""
    uid = await save_versions(database, "a", "one", folder="f")
    await save_versions(database, "a", "two")
    async with database.connection() as connection:
        stored = await resources.get(connection, DASHBOARD, "default", "a")
        version = await histories.version(connection, uid, 1)
        assert await histories.version(connection, uid, 3) is None
    assert version is not None
    earlier_object = version.to_object(stored)
    result: dict[str, Any] = orjson.loads(earlier_object.encode("v2alpha1"))
    assert (result["spec"], result["metadata"]["generation"], earlier_object.folder) == ({"title": "one"}, 1, "f")
    assert result["metadata"]["annotations"] == {
        "grafana.app/folder": "f",
        "grafana.app/message": "to one",
        "grafana.app/createdBy": "user:1",
    }
    assert int(result["metadata"]["resourceVersion"]) < stored.resource_version


async def test_an_old_layout_is_a_placeholder_with_its_former_title(database: Database) -> None:
    """An API version that cannot represent a layout returns a placeholder with the title of that generation."""
    uid = await save_versions(database, "a", "new")
    async with database.connection() as connection:
        stored = await resources.get(connection, DASHBOARD, "default", "a")
        version = await histories.version(connection, uid, 1)
    assert version is not None
    earlier_object = replace(version, spec='{"title":"old","layout":{"kind":"Unknown"}}', layout=True).to_object(stored)
    assert orjson.loads(earlier_object.encode("v1beta1"))["spec"] == {"title": "old", "schemaVersion": 9999}


async def test_deleted_objects_are_in_the_trash(database: Database) -> None:
    """The trash is listed by name in pages, with time and author of the deletion, including several objects of one name."""
    for name in ("b", "a", "a"):
        await save_versions(database, name, "T", folder="f" if name == "b" else "")
        await delete_to_trash(database, name)
    async with database.connection() as connection:
        first = await histories.list_trash(connection, DASHBOARD, "default", limit=2)
        second_page = await histories.list_trash(
            connection, DASHBOARD, "default", after=TrashPosition(first[-1].name, first[-1].uid), limit=2
        )
        items_of_b = await histories.list_trash(connection, DASHBOARD, "default", name="b", limit=2)
        counts_by_author = [
            len(await histories.list_trash(connection, DASHBOARD, "default", limit=9, deleted_by=f"user:{number}")) for number in (1, 2)
        ]
    assert [item.name for item in (*first, *second_page)] == ["a", "a", "b"]
    assert [item.uid for item in items_of_b] == [item.uid for item in second_page]
    assert counts_by_author == [0, 3]
    metadata = orjson.loads(items_of_b[0].encode("v2alpha1"))["metadata"]
    assert metadata["annotations"]["grafana.app/updatedBy"] == "user:2"
    assert metadata["deletionTimestamp"] == metadata["annotations"]["grafana.app/updatedTimestamp"]


async def test_a_restored_object_is_removed_from_the_trash(database: Database) -> None:
    """A deleted object is restored once, by its own name."""
    uid = await save_versions(database, "a", "one", "two")
    await delete_to_trash(database, "a")
    async with database.transaction() as connection:
        assert await histories.restore(connection, DASHBOARD, "default", "b", str(uid)) is None
        restored = await histories.restore(connection, DASHBOARD, "default", "a", str(uid))
        assert await histories.restore(connection, DASHBOARD, "default", "a", str(uid)) is None
    assert restored is not None
    assert (restored.uid, restored.generation) == (uid, 2)


async def test_an_object_deleted_twice_is_in_the_trash_once(database: Database) -> None:
    """An object that was created again with its old uid, as by an import, is in the trash once after its deletion, in its last state."""
    uid = await save_versions(database, "a", "one")
    await delete_to_trash(database, "a")
    async with database.transaction() as connection:
        write = resources.Write(DASHBOARD, "a", '{"title":"two"}', "v2alpha1", extract=Extract("two"), uid=uid, generation=2)
        await resources.create(await resources.lock(connection, "default"), "default", write, actor="user:1", now=NOW)
    await delete_to_trash(database, "a")
    async with database.connection() as connection:
        (item,) = await histories.list_trash(connection, DASHBOARD, "default", limit=9)
    assert (item.uid, item.generation, item.title) == (uid, 2, "two")


async def test_the_newest_generations_are_kept(database: Database) -> None:
    """Older generations are deleted once the feed no longer contains them; the current one is always kept."""
    uid = await save_versions(database, "a", "one", "two", "three", "four")
    await delete_old_generations(database, changes_for=timedelta(hours=1))
    async with database.connection() as connection:
        assert await generations(connection, uid) == [4, 3, 2, 1]
    await delete_old_generations(database)
    async with database.connection() as connection:
        assert await generations(connection, uid) == [4, 3]
        assert (await resources.get(connection, DASHBOARD, "default", "a")).spec == '{"title":"four"}'


async def test_generations_in_the_feed_are_kept(database: Database) -> None:
    """While a change is in the feed, the generation that it created and the one before are kept."""
    uid = await save_versions(database, "a", "one", "two", "three")
    async with database.transaction() as connection:
        await connection.execute("update change set changed_at = now() - interval '1 hour'")
    await save_versions(database, "a", "four", "five")
    await delete_old_generations(database, keep=1, changes_for=timedelta(minutes=1))
    async with database.connection() as connection:
        assert await generations(connection, uid) == [5, 4, 3]
        feed_generations = await connection.fetch("select generation from change union select old_generation from change order by 1")
    assert [row["generation"] for row in feed_generations] == [3, 4, 5]


async def test_imported_versions_do_not_delete_the_current_one(database: Database) -> None:
    """The current generation is kept while its change is in the feed, even if older versions are imported later."""
    uid = await save_versions(database, "a", "one")
    async with database.transaction() as connection:
        await connection.execute("update change set changed_at = now() - interval '1 hour'")
    await save_versions(database, "a", "two")
    async with database.transaction() as connection:
        # Makes the generations 2 and 3 imported ones: no change of the feed has created them.
        await connection.execute("update resource set generation = 4")
        await connection.execute("update resource_history set generation = 4 where generation = 2")
        await connection.execute("delete from change where type = 'MODIFIED' and generation = 4")
        await connection.execute("update change set generation = 4 where generation = 2")
        await connection.execute(
            "insert into resource_history (uid, generation, metadata, stored_version, spec, created_by) "
            "select uid, n, metadata, stored_version, spec, created_by from resource_history, generate_series(2, 3) n where generation = 4"
        )
    await delete_old_generations(database, keep=1, changes_for=timedelta(minutes=1))
    async with database.connection() as connection:
        assert await generations(connection, uid) == [4, 3, 2, 1]
    await delete_old_generations(database, keep=1)
    async with database.connection() as connection:
        assert await generations(connection, uid) == [4]


async def test_the_history_of_a_deleted_object_is_deleted(database: Database) -> None:
    """History is deleted once neither the feed nor the trash contains the object."""
    deleted_uid, trashed_uid = await save_versions(database, "gone", "one"), await save_versions(database, "trashed", "one", "two", "three")
    await delete_to_trash(database, "trashed")
    async with database.transaction() as connection:
        await resources.delete(connection, DASHBOARD, "default", ["gone"], actor="user:1")
    await delete_old_generations(database, changes_for=timedelta(hours=1))
    async with database.connection() as connection:
        assert (await generations(connection, deleted_uid), await generations(connection, trashed_uid)) == ([1], [3, 2, 1])
    await delete_old_generations(database)
    async with database.connection() as connection:
        assert (await generations(connection, deleted_uid), await generations(connection, trashed_uid)) == ([], [3, 2])


@pytest.mark.parametrize(("changes_for", "remaining"), [(IMMEDIATELY, []), (timedelta(hours=1), [1])], ids=["trimmed feed", "kept feed"])
async def test_expired_trash_is_deleted(database: Database, changes_for: timedelta, remaining: list[int]) -> None:
    """Expired objects cannot be restored, and their history is deleted unless the feed still contains it."""
    uid = await save_versions(database, "a", "one")
    await delete_to_trash(database, "a")
    await delete_old_generations(database, changes_for=changes_for)
    async with database.connection() as connection:
        assert len(await histories.list_trash(connection, DASHBOARD, "default", limit=9)) == 1
    await delete_old_generations(database, changes_for=changes_for, trash_for=IMMEDIATELY)
    async with database.connection() as connection:
        assert await histories.list_trash(connection, DASHBOARD, "default", limit=9) == []
        assert await generations(connection, uid) == remaining


async def test_housekeeping_follows_the_settings(database: Database) -> None:
    """Versions, changes and trash are kept as long as the settings say."""
    uid = await save_versions(database, "a", "one", "two", "three")
    await save_versions(database, "b", "one")
    await delete_to_trash(database, "b")
    async with database.transaction() as connection:
        await connection.execute("update change set changed_at = now() - interval '2 hours'")
        await connection.execute("update trash set deleted_at = now() - interval '2 days'")
    # The second round keeps both versions: it trims no changes, and only histories of objects with trimmed changes are examined.
    for versions, days, remaining in ((2, 3, ([3, 2], 1)), (1, 1, ([3, 2], 0))):
        hour = timedelta(hours=1)
        await Cleaner(database, history=1, versions=versions, results=hour, changes=hour, trash=timedelta(days=days)).clean()
        async with database.connection() as connection:
            assert (
                await generations(connection, uid),
                len(await histories.list_trash(connection, DASHBOARD, "default", limit=9)),
            ) == remaining


@pytest.mark.parametrize("seed", range(4))
async def test_no_referenced_body_is_deleted(database: Database, seed: int) -> None:
    """After any sequence of saves, deletions, restores and housekeeping, every state in use has its body.

    These are the states in the feed, the current objects, the trash, and the newest versions of both.
    """
    generator, saved = random.Random(seed), 0
    for _ in range(60):
        name = generator.choice("abc")
        match generator.choice(["save", "save", "save", "move to trash", "delete", "restore", "clean", "empty"]):
            case "save":
                await save_versions(database, name, f"title {saved}")
                saved += 1
            case "move to trash":
                await delete_to_trash(database, name)
            case "delete":
                async with database.transaction() as connection:
                    await resources.delete(connection, DASHBOARD, "default", [name], actor="user:2")
            case "restore":
                await restore(database, name)
            case "clean":
                async with database.transaction() as connection:
                    await connection.execute(AGE_CHANGES, generator.random())
                await delete_old_generations(database, keep=2, changes_for=timedelta(hours=1))
            case "empty":
                await delete_old_generations(database, changes_for=timedelta(hours=1), trash_for=IMMEDIATELY)
        async with database.connection() as connection:
            assert await connection.fetch(WITHOUT_BODY) == []
