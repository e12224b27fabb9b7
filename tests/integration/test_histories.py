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
AT_ONCE = timedelta(0)


AGE = """
update change set changed_at = now() - interval '2 hours'
where resource_version <= (select percentile_disc($1) within group (order by resource_version) from change)"""

WITHOUT_BODY = """
with told as (
    select uid, generation from change where feed = 1
    union select uid, old_generation from change where feed = 1 and old_generation is not null
    union select uid, generation from resource
    union select uid, generation - 1 from resource where generation > 1
    union select uid, generation from trash
    union select uid, generation - 1 from trash where generation > 1
)
select * from told where not exists (select from resource_history h where h.uid = told.uid and h.generation = told.generation)"""


async def save(database: Database, name: str, *titles: str, folder: str = "") -> uuid.UUID:
    """Saves a dashboard with each title in turn; answers its uid."""
    async with database.transaction() as connection:
        for title in titles:
            annotations = {"grafana.app/message": f"to {title}"} | ({"grafana.app/folder": folder} if folder else {})
            spec = orjson.dumps({"title": title}).decode()
            write = resources.Write(DASHBOARD, name, spec, "v2alpha1", extract=Extract(title), annotations=annotations)
            await resources.put(await resources.lock(connection), "default", write, actor="user:1", now=NOW)
        return (await resources.get(connection, DASHBOARD, "default", name)).uid


async def throw_away(database: Database, name: str) -> None:
    """Deletes a dashboard so that it can be had again."""
    async with database.transaction() as connection:
        await resources.delete(connection, DASHBOARD, "default", [name], actor="user:2", keep=True)


async def restore(database: Database, name: str) -> None:
    """Makes again what is in the trash, unless something else has its name by now."""
    async with database.transaction() as connection:
        items = await histories.list_trash(connection, DASHBOARD, "default", name=name, limit=1)
        if not items or await resources.version(connection, DASHBOARD, "default", name) is not None:
            return
        taken = await histories.restore(connection, DASHBOARD, "default", name, str(items[0].uid))
        assert taken is not None
        write = resources.Write(DASHBOARD, name, '{"title":"again"}', "v2alpha1", extract=Extract("again"))
        write = replace(write, uid=taken.uid, generation=taken.generation + 1, number=taken.number)
        await resources.create(await resources.lock(connection), "default", write, actor="user:1", now=NOW)


async def clean(database: Database, *, keep: int = 2, changes_for: timedelta = AT_ONCE, trash_for: timedelta = timedelta(days=1)) -> None:
    """A round of the cleaner, as far as it is about generations."""
    async with database.transaction() as connection:
        await histories.trim(connection, (await changes.trim(connection, older_than=changes_for)).objects, keep=keep)
        await histories.empty_trash(connection, older_than=trash_for)


async def kept(connection: Connection, uid: uuid.UUID) -> list[int]:
    return [version.generation for version in await histories.versions(connection, uid, limit=100)]


async def test_versions_come_newest_first_and_in_pages(database: Database) -> None:
    """Each with who wrote it and why, but for the bodies."""
    uid = await save(database, "a", "one", "two", "three")
    async with database.connection() as connection:
        first = await histories.versions(connection, uid, limit=2)
        second = await histories.versions(connection, uid, before=first[-1].generation, limit=2)
        stored = await resources.get(connection, DASHBOARD, "default", "a")
    assert [(version.generation, version.message) for version in first] == [(3, "to three"), (2, "to two")]
    assert [(version.generation, version.created_by, version.spec) for version in second] == [(1, "user:1", "{}")]
    assert first[0].resource_version == stored.resource_version


async def test_a_version_is_the_object_as_it_was(database: Database) -> None:
    """With its own annotations, the message, and the versions it had; an unknown generation is none."""
    uid = await save(database, "a", "one", folder="f")
    await save(database, "a", "two")
    async with database.connection() as connection:
        stored = await resources.get(connection, DASHBOARD, "default", "a")
        found = await histories.version(connection, uid, 1)
        assert await histories.version(connection, uid, 3) is None
    assert found is not None
    then = found.of(stored)
    told: dict[str, Any] = orjson.loads(then.encode("v2alpha1"))
    assert (told["spec"], told["metadata"]["generation"], then.folder) == ({"title": "one"}, 1, "f")
    assert told["metadata"]["annotations"] == {
        "grafana.app/folder": "f",
        "grafana.app/message": "to one",
        "grafana.app/createdBy": "user:1",
    }
    assert int(told["metadata"]["resourceVersion"]) < stored.resource_version


async def test_a_layout_of_old_is_a_stub_with_the_title_of_then(database: Database) -> None:
    """In a version that cannot show it, whatever the dashboard is called now."""
    uid = await save(database, "a", "new")
    async with database.connection() as connection:
        stored = await resources.get(connection, DASHBOARD, "default", "a")
        found = await histories.version(connection, uid, 1)
    assert found is not None
    then = replace(found, spec='{"title":"old","layout":{}}', layout=True).of(stored)
    assert orjson.loads(then.encode("v1beta1"))["spec"] == {"title": "old", "schemaVersion": 9999}


async def test_what_was_deleted_lies_in_the_trash(database: Database) -> None:
    """By name, with when and by whom it was deleted, in pages; those of one name too."""
    for name in ("b", "a", "a"):
        await save(database, name, "T", folder="f" if name == "b" else "")
        await throw_away(database, name)
    async with database.connection() as connection:
        first = await histories.list_trash(connection, DASHBOARD, "default", limit=2)
        rest = await histories.list_trash(connection, DASHBOARD, "default", after=TrashPosition(first[-1].name, first[-1].uid), limit=2)
        named = await histories.list_trash(connection, DASHBOARD, "default", name="b", limit=2)
        seen = [
            len(await histories.list_trash(connection, DASHBOARD, "default", limit=9, deleted_by=f"user:{number}")) for number in (1, 2)
        ]
    assert [item.name for item in (*first, *rest)] == ["a", "a", "b"]
    assert [item.uid for item in named] == [item.uid for item in rest]
    assert seen == [0, 3]
    metadata = orjson.loads(named[0].encode("v2alpha1"))["metadata"]
    assert metadata["annotations"]["grafana.app/updatedBy"] == "user:2"
    assert metadata["deletionTimestamp"] == metadata["annotations"]["grafana.app/updatedTimestamp"]


async def test_what_is_taken_back_is_in_the_trash_no_more(database: Database) -> None:
    """It is taken once, by its own name."""
    uid = await save(database, "a", "one", "two")
    await throw_away(database, "a")
    async with database.transaction() as connection:
        assert await histories.restore(connection, DASHBOARD, "default", "b", str(uid)) is None
        taken = await histories.restore(connection, DASHBOARD, "default", "a", str(uid))
        assert await histories.restore(connection, DASHBOARD, "default", "a", str(uid)) is None
    assert taken is not None
    assert (taken.uid, taken.generation) == (uid, 2)


async def test_what_is_deleted_twice_lies_there_as_it_was_last(database: Database) -> None:
    """Where somebody made it anew under its old uid without taking it back, as an import does."""
    uid = await save(database, "a", "one")
    await throw_away(database, "a")
    async with database.transaction() as connection:
        write = resources.Write(DASHBOARD, "a", '{"title":"two"}', "v2alpha1", extract=Extract("two"), uid=uid, generation=2)
        await resources.create(await resources.lock(connection), "default", write, actor="user:1", now=NOW)
    await throw_away(database, "a")
    async with database.connection() as connection:
        (item,) = await histories.list_trash(connection, DASHBOARD, "default", limit=9)
    assert (item.uid, item.generation, item.title) == (uid, 2, "two")


async def test_the_newest_generations_are_kept(database: Database) -> None:
    """Once the feed tells no more of the others; the current one always."""
    uid = await save(database, "a", "one", "two", "three", "four")
    await clean(database, changes_for=timedelta(hours=1))
    async with database.connection() as connection:
        assert await kept(connection, uid) == [4, 3, 2, 1]
    await clean(database)
    async with database.connection() as connection:
        assert await kept(connection, uid) == [4, 3]
        assert (await resources.get(connection, DASHBOARD, "default", "a")).spec == '{"title":"four"}'


async def test_what_the_feed_tells_of_is_kept(database: Database) -> None:
    """A change still in the feed may need the generation it made, and the one before it."""
    uid = await save(database, "a", "one", "two", "three")
    async with database.transaction() as connection:
        await connection.execute("update change set changed_at = now() - interval '1 hour'")
    await save(database, "a", "four", "five")
    await clean(database, keep=1, changes_for=timedelta(minutes=1))
    async with database.connection() as connection:
        assert await kept(connection, uid) == [5, 4, 3]
        needed = await connection.fetch("select generation from change union select old_generation from change order by 1")
    assert [row["generation"] for row in needed] == [3, 4, 5]


async def test_versions_that_were_brought_in_end_no_earlier_one(database: Database) -> None:
    """What was current is told of until the change that followed it has left the feed, whatever older versions came with that change."""
    uid = await save(database, "a", "one")
    async with database.transaction() as connection:
        await connection.execute("update change set changed_at = now() - interval '1 hour'")
    await save(database, "a", "two")
    async with database.transaction() as connection:
        # As if generations 2 and 3 had come with the fourth.
        await connection.execute("update resource set generation = 4")
        await connection.execute("update resource_history set generation = 4 where generation = 2")
        await connection.execute("delete from change where type = 'MODIFIED' and generation = 4")
        await connection.execute("update change set generation = 4 where generation = 2")
        await connection.execute(
            "insert into resource_history (uid, generation, metadata, stored_version, spec, created_by) "
            "select uid, n, metadata, stored_version, spec, created_by from resource_history, generate_series(2, 3) n where generation = 4"
        )
    await clean(database, keep=1, changes_for=timedelta(minutes=1))
    async with database.connection() as connection:
        assert await kept(connection, uid) == [4, 3, 2, 1]
    await clean(database, keep=1)
    async with database.connection() as connection:
        assert await kept(connection, uid) == [4]


async def test_the_history_of_what_is_gone_goes_with_the_feed(database: Database) -> None:
    """As soon as neither the feed nor the trash tells of it."""
    gone, trashed = await save(database, "gone", "one"), await save(database, "trashed", "one", "two", "three")
    await throw_away(database, "trashed")
    async with database.transaction() as connection:
        await resources.delete(connection, DASHBOARD, "default", ["gone"], actor="user:1")
    await clean(database, changes_for=timedelta(hours=1))
    async with database.connection() as connection:
        assert (await kept(connection, gone), await kept(connection, trashed)) == ([1], [3, 2, 1])
    await clean(database)
    async with database.connection() as connection:
        assert (await kept(connection, gone), await kept(connection, trashed)) == ([], [3, 2])


@pytest.mark.parametrize(("changes_for", "left"), [(AT_ONCE, []), (timedelta(hours=1), [1])], ids=["silent feed", "telling feed"])
async def test_the_trash_is_emptied_in_time(database: Database, changes_for: timedelta, left: list[int]) -> None:
    """What has lain there too long cannot be had again; its history goes, too, unless the feed still tells of it."""
    uid = await save(database, "a", "one")
    await throw_away(database, "a")
    await clean(database, changes_for=changes_for)
    async with database.connection() as connection:
        assert len(await histories.list_trash(connection, DASHBOARD, "default", limit=9)) == 1
    await clean(database, changes_for=changes_for, trash_for=AT_ONCE)
    async with database.connection() as connection:
        assert await histories.list_trash(connection, DASHBOARD, "default", limit=9) == []
        assert await kept(connection, uid) == left


async def test_a_round_of_the_cleaner_keeps_what_was_set(database: Database) -> None:
    """Versions, changes and trash, each for as long as the settings say."""
    uid = await save(database, "a", "one", "two", "three")
    await save(database, "b", "one")
    await throw_away(database, "b")
    async with database.transaction() as connection:
        await connection.execute("update change set changed_at = now() - interval '2 hours'")
        await connection.execute("update trash set deleted_at = now() - interval '2 days'")
    for versions, days, left in ((2, 3, ([3, 2], 1)), (1, 1, ([3, 2], 0))):
        hour = timedelta(hours=1)
        await Cleaner(database, history=1, versions=versions, results=hour, changes=hour, trash=timedelta(days=days)).clean()
        async with database.connection() as connection:
            assert (await kept(connection, uid), len(await histories.list_trash(connection, DASHBOARD, "default", limit=9))) == left


@pytest.mark.parametrize("seed", range(4))
async def test_nothing_that_is_told_of_is_ever_dropped(database: Database, seed: int) -> None:
    """Whatever is saved, deleted, made again and cleaned up, in any order.

    Every state that the feed tells of has its body, and so has every object, what is in the trash, and the newest versions of both.
    """
    chance, saved = random.Random(seed), 0
    for _ in range(60):
        name = chance.choice("abc")
        match chance.choice(["save", "save", "save", "throw away", "delete", "restore", "clean", "empty"]):
            case "save":
                await save(database, name, f"title {saved}")
                saved += 1
            case "throw away":
                await throw_away(database, name)
            case "delete":
                async with database.transaction() as connection:
                    await resources.delete(connection, DASHBOARD, "default", [name], actor="user:2")
            case "restore":
                await restore(database, name)
            case "clean":
                async with database.transaction() as connection:
                    await connection.execute(AGE, chance.random())
                await clean(database, keep=2, changes_for=timedelta(hours=1))
            case "empty":
                await clean(database, changes_for=timedelta(hours=1), trash_for=AT_ONCE)
        async with database.connection() as connection:
            assert await connection.fetch(WITHOUT_BODY) == []
