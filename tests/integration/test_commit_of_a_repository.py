"""The stored commit, the quarantined files and the objects by path of a repository, from which its next sync starts.

The generation counts changes of the repository's spec, the edition counts writes to its objects.
"""

import uuid
from dataclasses import replace
from datetime import timedelta

from tests.integration import synced_repository

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.kinds.annotations import MANAGED_BY, MANAGER_ID, SOURCE_PATH
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, REPOSITORY
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.stores import repositories, resources
from dashwright.common.stores.repositories import QuarantineEntry, StoredCommit
from dashwright.jobs_worker.adapters.store import DatabaseObjectStore
from dashwright.jobs_worker.domain.objects import Key

NOW = Clock().now()
SPEC = '{"title":"R","workflows":[],"type":"local","sync":{"enabled":true,"target":"folder"}}'


async def create_object(database: Database, write: resources.Write) -> uuid.UUID:
    """Create an object and return its uid."""
    async with database.transaction() as connection:
        return (await resources.create(await resources.lock(connection, "default"), "default", write, actor="user:1", now=NOW)).uid


async def test_a_commit_belongs_to_one_generation(database: Database) -> None:
    """The newest commit is stored for its generation only. An empty one means no commit. It is deleted with the repository."""
    uid = await create_object(database, resources.Write(REPOSITORY, "r", SPEC, "v0alpha1", extract=Extract("R")))
    async with database.connection() as connection:
        assert await repositories.stored_commit(connection, uid, generation=3) == StoredCommit(0, None)
        for edition, commit in enumerate(("c1", "c2")):
            assert await repositories.record_commit(connection, uid, commit, generation=3, edition=edition)
            assert await repositories.stored_commit(connection, uid, generation=3) == StoredCommit(edition + 1, commit)
        assert await repositories.stored_commit(connection, uid, generation=4) == StoredCommit(2, None)
        assert await repositories.record_commit(connection, uid, "", generation=3, edition=2)
        assert await repositories.stored_commit(connection, uid, generation=3) == StoredCommit(3, None)
    async with database.transaction() as connection:
        await resources.delete(connection, REPOSITORY, "default", ["r"], actor="user:1")
        assert await connection.fetchval("select count(*) from repository_commit") == 0
        # Recording for a deleted repository succeeds, but stores nothing.
        assert await repositories.record_commit(connection, uid, "c4", generation=3, edition=3)
        assert await repositories.stored_commit(connection, uid, generation=3) == StoredCommit(0, None)


async def test_an_outdated_edition_stores_no_commit(database: Database) -> None:
    """A commit is stored only for the present edition, not for an earlier or later one."""
    uid = await create_object(database, resources.Write(REPOSITORY, "r", SPEC, "v0alpha1", extract=Extract("R")))
    async with database.connection() as connection:
        assert await repositories.record_commit(connection, uid, "c1", generation=3, edition=0)
        for edition in (0, 2):
            assert not await repositories.record_commit(connection, uid, "other", generation=3, edition=edition)
        assert await repositories.stored_commit(connection, uid, generation=3) == StoredCommit(1, "c1")


async def test_a_quarantine_replaces_the_examined_paths(database: Database) -> None:
    """A sync changes only the paths that it examined (None means all), and a file that is still broken keeps its time.

    The quarantine is deleted with the repository.
    """
    uid = await create_object(database, resources.Write(REPOSITORY, "r", SPEC, "v0alpha1", extract=Extract("R")))
    # A path may be this long, in characters that take two bytes each.
    long_path = "ü" * 5000 + ".json"
    later = NOW + timedelta(hours=1)
    async with database.connection() as connection:
        first = [
            QuarantineEntry(path, name="", message="bad", checksum="c1", rules="rules", since=NOW)
            for path in ("a.json", "b.json", long_path)
        ]
        await repositories.quarantine(connection, uid, first, paths=None)
        assert await repositories.list_quarantined(connection, uid) == first
        assert await repositories.list_quarantined(connection, uid, limit=2) == first[:2]
        worse_file = QuarantineEntry("b.json", name="n", message="worse", checksum="", rules="", since=later)
        await repositories.quarantine(connection, uid, [worse_file], paths={long_path, "b.json", "c.json"})
        assert await repositories.list_quarantined(connection, uid) == [first[0], replace(worse_file, since=NOW)]
        await repositories.quarantine(connection, uid, [QuarantineEntry("c.json", "", "bad", "", "", later)], paths=None)
        assert [fault.path for fault in await repositories.list_quarantined(connection, uid)] == ["c.json"]
    async with database.transaction() as connection:
        await resources.delete(connection, REPOSITORY, "default", ["r"], actor="user:1")
        assert await repositories.list_quarantined(connection, uid) == []
        await repositories.quarantine(connection, uid, first, paths=None)
        assert await repositories.list_quarantined(connection, uid) == []


async def test_a_difference_from_another_commit_is_incomplete(database: Database) -> None:
    """No commit is stored after a sync that wrote the difference to another commit than the stored one.

    Changes that were stored and then reverted are not in such a difference.
    """
    uid = await create_object(database, resources.Write(REPOSITORY, "r", SPEC, "v0alpha1", extract=Extract("R")))
    async with database.connection() as connection:
        await repositories.record_commit(connection, uid, "c1", generation=3, edition=0, entries=10)
        assert await repositories.record_commit(
            connection, uid, "c2", generation=3, edition=1, base_commit="c1", entries=-2
        ) == StoredCommit(2, "c2", 8)  # two of the ten entries were removed
        assert await repositories.record_commit(connection, uid, "c3", generation=3, edition=2, base_commit="c1") == StoredCommit(
            3, None, 8
        )
        assert await repositories.record_commit(connection, uid, "c4", generation=3, edition=3, base_commit="c3") == StoredCommit(
            4, None, 8
        )
        assert await repositories.record_commit(connection, uid, "c5", generation=3, edition=4, entries=7) == StoredCommit(5, "c5", 7)


async def test_objects_are_found_by_path(database: Database) -> None:
    """Objects of the repository are found by their file or directory, and by their key, each once."""
    for name, kind, owner, path in (
        ("a", DASHBOARD, "r", "x/a.json"),
        ("b", DASHBOARD, "r", "x/b.json"),
        ("c", DASHBOARD, "r", "x/c.json"),
        ("x", FOLDER, "r", "x"),
        ("r", FOLDER, "r", ""),
        ("theirs", DASHBOARD, "other", "x/a.json"),
        ("long", DASHBOARD, "r", "ü" * 5000 + ".json"),
    ):
        annotations = {MANAGED_BY: "repo", MANAGER_ID: owner} | ({SOURCE_PATH: path} if path else {})
        await create_object(
            database, resources.Write(kind, name, '{"title":"T"}', kind.version, extract=Extract("T"), annotations=annotations)
        )
    store = DatabaseObjectStore(database, Clock(), QuotaRules(), repository=synced_repository.repository("r"), edition=0)
    keys = [Key(DASHBOARD.group, DASHBOARD.plural, name) for name in ("a", "b", "theirs", "none")]
    objects = await store.managed_at("default", "r", ["x/", "x/a.json", "none/"], [*keys, Key(FOLDER.group, FOLDER.plural, "r")])
    assert sorted(item.key.name for item in objects) == ["a", "b", "r", "x"]
    assert [item.key.name for item in await store.managed_at("default", "r", ["ü" * 5000 + ".json"], [])] == ["long"]
    assert list(await store.managed_at("default", "r", [], [])) == []
