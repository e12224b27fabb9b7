"""Migration of existing rows in the tables of the trash."""

import shutil
from importlib.resources import as_file
from pathlib import Path

import asyncpg
from tests.servers import databases

from dashwright.common.database import schema

MIGRATION = "0008_restorable.sql"

BODIES = {
    "classic": r'{"title":"T","panels":[{"libraryPanel":{"uid":"a"}},{"panels":[{"libraryPanel":{"uid":"b"}}]},{"libraryPanel":"c"},7]}',
    "layout": r'{"title":"T","elements":{"e":{"kind":"LibraryPanel","spec":{"libraryPanel":{"uid":"a"}}},"f":[]}}',
    "odd": r'{"title":"T","panels":{},"elements":[{"libraryPanel":{"uid":"not a name"}}]}',
    "nul": r'{"title":"a\u0000","panels":[{"libraryPanel":{"uid":"a"}}]}',
}


async def test_the_migration_extracts_library_panels(postgres_dsn: str, tmp_path: Path) -> None:
    """Library panels come from the bodies and versions do not change; history without an object is deleted."""
    async with databases.at_migration_before(postgres_dsn, MIGRATION, tmp_path) as url:
        connection = await asyncpg.connect(url)
        for name, body in BODIES.items():
            await connection.execute(
                """
                with inserted as (
                    insert into resource (uid, api_group, resource, namespace, name, resource_version, generation, stored_version, title,
                                          labels, annotations, created_at, created_by, content_hash, metadata)
                    values (gen_random_uuid(), 'dashboard.grafana.app', 'dashboards', 'default', $1, 0, 1, 'v0alpha1', 'T', '{}', '{}',
                            '2026-01-02', 'user:1', '', '')
                    returning *
                )
                insert into resource_history (uid, generation, metadata, stored_version, spec, created_by)
                select uid, 1, metadata, 'v0alpha1', $2, 'user:1' from inserted
                union all select gen_random_uuid(), 1, '{}', 'v0alpha1', $2, 'user:1'""",
                name,
                body,
            )
        versions = await connection.fetch("select name, resource_version from resource order by name")
        with as_file(schema.MIGRATIONS) as folder:
            shutil.copy(folder / MIGRATION, tmp_path)
        assert await schema.migrate(url, tmp_path) == [MIGRATION]
        assert await connection.fetch("select name, resource_version from resource order by name") == versions
        rows = await connection.fetch("select name, refs from resource")
        assert {row["name"]: sorted(row["refs"]) for row in rows} == {"classic": ["a", "b"], "layout": ["a"], "odd": [], "nul": []}
        assert await connection.fetchval("select count(*) from resource_history") == len(BODIES)
        await connection.close()
