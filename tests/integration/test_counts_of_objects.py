"""Counts of objects, which triggers maintain for the statements that write objects."""

import random
import shutil
from importlib.resources import as_file
from pathlib import Path

import asyncpg
import pytest
from tests.servers import databases

from dashwright.common.database import schema
from dashwright.common.database.pool import Connection, Database

MIGRATION = "0030_counts_of_objects.sql"

#: The stored counts, and the same rows counted from the objects.
SELECT_COUNTS = "select namespace, repository, api_group, resource, count from resource_count order by 1, 2, 3, 4"
COUNTED = """
    select namespace, case when manager_kind = 'repo' then coalesce(manager_id, '') else '' end as repository, api_group, resource,
           count(*) as count
    from resource group by 1, 2, 3, 4 order by 1, 2, 3, 4
"""

INSERT_OBJECTS = """
    insert into resource (uid, api_group, resource, namespace, name, resource_version, generation, stored_version, title, labels,
                          annotations, created_at, created_by, content_hash, metadata)
    select gen_random_uuid(), 'dashboard.grafana.app', $1, $2, name, 0, 1, 'v0alpha1', 'T', '{}',
           jsonb_strip_nulls(jsonb_build_object('grafana.app/managedBy', $4::text, 'grafana.app/managerId', $5::text)),
           now(), 'user:1', '', ''
    from unnest($3::text[]) name
    on conflict (namespace, api_group, resource, name) do update set annotations = excluded.annotations
"""
RENAME = "update resource set title = title || '.' where name = any($1::text[])"
RELEASE = "update resource set annotations = '{}' where manager_id = $1"
MOVE = "update resource set namespace = 'org-3' where namespace = 'org-2' and name = any($1::text[])"
REMOVE = "delete from resource where name = any($1::text[])"


@pytest.mark.parametrize("seed", range(4))
async def test_stored_counts_equal_the_rows(database: Database, seed: int) -> None:
    """After any statements for any number of objects, committed or rolled back, the stored counts equal those of the rows."""
    generator = random.Random(seed)
    async with database.connection() as connection:
        for _ in range(40):
            transaction = connection.transaction()
            await transaction.start()
            for _ in range(generator.randint(1, 3)):
                await _write(connection, generator)
            await (transaction.commit() if generator.random() < 0.7 else transaction.rollback())
            assert await connection.fetch(SELECT_COUNTS) == await connection.fetch(COUNTED)


async def test_a_count_of_zero_is_deleted(database: Database) -> None:
    """A count that becomes zero is deleted: by a deletion, a release, or a truncation of the objects."""
    async with database.connection() as connection:
        for statement in (REMOVE, RELEASE):
            await connection.execute(INSERT_OBJECTS, "dashboards", "default", ["a", "b"], "repo", "r")
            await connection.execute(statement, "r" if statement is RELEASE else ["a", "b"])
            assert not await connection.fetch("select from resource_count where repository = 'r' or count = 0")
        await connection.execute("truncate resource cascade")
        assert await connection.fetch(SELECT_COUNTS) == []


async def test_the_migration_counts_existing_objects(postgres_dsn: str, tmp_path: Path) -> None:
    """The first counts include the objects that exist before the migration."""
    async with databases.at_migration_before(postgres_dsn, MIGRATION, tmp_path) as url:
        connection = await asyncpg.connect(url)
        await connection.execute(INSERT_OBJECTS, "dashboards", "default", ["a", "b"], "repo", "r")
        await connection.execute(INSERT_OBJECTS, "folders", "default", ["c"], None, None)
        with as_file(schema.MIGRATIONS) as folder:
            shutil.copy(folder / MIGRATION, tmp_path)
        assert await schema.migrate(url, tmp_path) == [MIGRATION]
        assert [tuple(row) for row in await connection.fetch(SELECT_COUNTS)] == [
            ("default", "", "dashboard.grafana.app", "folders", 1),
            ("default", "r", "dashboard.grafana.app", "dashboards", 2),
        ]
        await connection.close()


async def _write(connection: Connection, generator: random.Random) -> None:
    """Execute a random statement on up to five objects with a random manager."""
    names = generator.sample("abcdefgh", generator.randint(0, 5))
    manager, manager_id = generator.choice([(None, None), ("repo", "r"), ("repo", "s"), ("repo", None), ("kubectl", "r")])
    match generator.choice(["put", "put", "put", "rename", "release", "move", "remove"]):
        case "put":
            kind, namespace = generator.choice(["dashboards", "folders"]), generator.choice(["default", "org-2"])
            await connection.execute(INSERT_OBJECTS, kind, namespace, names, manager, manager_id)
        case "rename":
            await connection.execute(RENAME, names)
        case "release":
            await connection.execute(RELEASE, "r")
        case "move":
            await connection.execute(f"{REMOVE} and namespace = 'org-3'", names)
            await connection.execute(MOVE, names)
        case "remove":
            await connection.execute(REMOVE, names)
