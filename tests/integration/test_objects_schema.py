"""Migration of existing rows in the tables of objects."""

import shutil
from importlib.resources import as_file
from pathlib import Path

import asyncpg
import orjson
from tests.servers import databases

from dashwright.common.database import schema

MIGRATION = "0007_resource_api.sql"

BODIES = {
    "classic": r'{"title":"T","tags":["a","b",7,{"c":1}],"panels":[]}',
    "layout": r'{"title":"T","elements":{},"tags":"a"}',
    "nul": r'{"title":"T","tags":["a\u0000"]}',
    "none": r'{"title":"T"}',
}


async def test_the_migration_fills_the_new_columns(postgres_dsn: str, tmp_path: Path) -> None:
    """Number, label, tags and layout come from the bodies; versions do not change, and watchers have to list again."""
    async with databases.at_migration_before(postgres_dsn, MIGRATION, tmp_path) as url:
        connection = await asyncpg.connect(url)
        await connection.execute("""
            insert into resource (uid, api_group, resource, namespace, name, resource_version, generation, stored_version, title, labels,
                                  annotations, created_at, created_by, content_hash, metadata)
            select gen_random_uuid(), 'dashboard.grafana.app', 'dashboards', 'default', name, 0, 2, 'v0alpha1', 'T', '{"l": "x"}', '{}',
                   '2026-01-02', 'user:1', '', ''
            from unnest(array['classic', 'layout', 'nul', 'none']) name;
            insert into resource_history (uid, generation, metadata, stored_version, spec, created_by)
            select uid, 1, metadata, 'v0alpha1', '{"layout":1,"tags":["old"]}', 'user:1' from resource;
        """)
        for name, body in BODIES.items():
            await connection.execute(
                "insert into resource_history (uid, generation, metadata, stored_version, spec, created_by) "
                "select uid, 2, metadata, 'v0alpha1', $2, 'user:1' from resource where name = $1",
                name,
                body,
            )
        versions = await connection.fetch("select name, resource_version from resource order by name")
        newest = await connection.fetchval("select max(resource_version) from change")
        with as_file(schema.MIGRATIONS) as folder:
            shutil.copy(folder / MIGRATION, tmp_path)
        assert await schema.migrate(url, tmp_path) == [MIGRATION]
        assert await connection.fetch("select name, resource_version from resource order by name") == versions
        rows = {row["name"]: row for row in await connection.fetch("select * from resource")}
        assert {name: list(row["tags"]) for name, row in rows.items()} == {"classic": ["a", "b"], "layout": [], "nul": [], "none": []}
        assert [name for name, row in rows.items() if row["layout"]] == ["layout"]
        for row in rows.values():
            assert row["number"] == row["uid"].int & 2**53 - 1
            assert orjson.loads(row["metadata"])["labels"] == {"l": "x", "grafana.app/deprecatedInternalID": str(row["number"])}
        layouts = await connection.fetch("select generation, layout, count(*) from resource_history group by 1, 2 order by 1, 2")
        assert [tuple(row) for row in layouts] == [(1, True, 4), (2, False, 3), (2, True, 1)]
        assert await connection.fetchval("select count(*) from change") == 0
        assert await connection.fetchval("select resource_version from change_horizon") == newest
        await connection.close()
