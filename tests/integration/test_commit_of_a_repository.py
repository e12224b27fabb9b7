"""What a store remembers of a sync, and finds again by path: what the next one begins with."""

import uuid

from tests.integration import syncing

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.kinds.annotations import MANAGED_BY, MANAGER_ID, SOURCE_PATH
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, REPOSITORY
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.stores import repositories, resources
from dashwright.jobs_worker.adapters.store import StoredResources
from dashwright.jobs_worker.domain.objects import Key

NOW = Clock().now()
SPEC = '{"title":"R","workflows":[],"type":"local","sync":{"enabled":true,"target":"folder"}}'


async def make(database: Database, write: resources.Write) -> uuid.UUID:
    async with database.transaction() as connection:
        return (await resources.create(connection, "default", write, actor="user:1", now=NOW)).uid


async def test_a_commit_is_that_of_one_generation(database: Database) -> None:
    """The newest one counts, an empty one is none, and it goes with the repository."""
    uid = await make(database, resources.Write(REPOSITORY, "r", SPEC, "v0alpha1", extract=Extract("R")))
    async with database.connection() as connection:
        for commit in ("c1", "c2"):
            await repositories.note_commit(connection, uid, commit, generation=3)
            assert await repositories.commit_of(connection, uid, generation=3) == commit
        assert await repositories.commit_of(connection, uid, generation=4) is None
        await repositories.note_commit(connection, uid, "", generation=3)
        assert await repositories.commit_of(connection, uid, generation=3) is None
        await repositories.note_commit(connection, uid, "c3", generation=3)
    async with database.transaction() as connection:
        await resources.delete(connection, REPOSITORY, "default", ["r"], actor="user:1")
        assert await connection.fetchval("select count(*) from repository_commit") == 0
        await repositories.note_commit(connection, uid, "c4", generation=3)
        assert await repositories.commit_of(connection, uid, generation=3) is None


async def test_what_came_from_a_path_is_found(database: Database) -> None:
    """Files, directories with or without a slash at the end, and objects by their keys: the repository's own, each once."""
    for name, kind, owner, path in (
        ("a", DASHBOARD, "r", "x/a.json"),
        ("b", DASHBOARD, "r", "x/b.json"),
        ("c", DASHBOARD, "r", "x/c.json"),
        ("x", FOLDER, "r", "x"),
        ("r", FOLDER, "r", ""),
        ("theirs", DASHBOARD, "other", "x/a.json"),
        ("long", DASHBOARD, "r", "ü" * 5000 + ".json"),
    ):
        notes = {MANAGED_BY: "repo", MANAGER_ID: owner} | ({SOURCE_PATH: path} if path else {})
        await make(database, resources.Write(kind, name, '{"title":"T"}', kind.version, extract=Extract("T"), annotations=notes))
    stored = StoredResources(database, Clock(), QuotaRules(), repository=syncing.repository("r"), job=uuid.uuid4(), owner=uuid.uuid4())
    keys = [Key(DASHBOARD.group, DASHBOARD.plural, name) for name in ("a", "b", "theirs", "none")]
    found = await stored.managed_at("default", "r", ["x/", "x/a.json", "none/"], [*keys, Key(FOLDER.group, FOLDER.plural, "r")])
    assert sorted(item.key.name for item in found) == ["a", "b", "r", "x"]
    assert [item.key.name for item in await stored.managed_at("default", "r", ["ü" * 5000 + ".json"], [])] == ["long"]
    assert list(await stored.managed_at("default", "r", [], [])) == []
