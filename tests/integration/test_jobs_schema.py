"""Migration of existing rows in the tables of jobs."""

import shutil
from importlib.resources import as_file
from pathlib import Path

import asyncpg
from tests.servers import databases

from dashwright.common.database import schema

EARLIER_MIGRATIONS = ("0001_resources.sql", "0002_identity.sql", "0003_accounts.sql", "0004_quotas_audit.sql")
MIGRATION = "0006_repository_of_job.sql"


async def test_the_migration_assigns_jobs_to_repositories(postgres_dsn: str, tmp_path: Path) -> None:
    """An existing job belongs to the repository of its name if that is not younger than the job; no change is recorded."""
    with as_file(schema.MIGRATIONS) as folder:
        for name in EARLIER_MIGRATIONS:
            shutil.copy(folder / name, tmp_path)
    async with databases.temporary_database(postgres_dsn, "template0") as url:
        await schema.migrate(url, tmp_path)
        connection = await asyncpg.connect(url)
        await connection.execute("""
            insert into resource (uid, api_group, resource, namespace, name, resource_version, generation, stored_version, title, labels,
                                  annotations, created_at, created_by, content_hash, metadata)
            select gen_random_uuid(), 'provisioning.grafana.app', 'repositories', namespace, 'r', 0, 1, 'v0alpha1', 'R', '{}', '{}',
                   '2026-01-02', 'user:1', '', ''
            from unnest(array['default', 'org-2']) namespace;
            insert into job (uid, api_group, resource, namespace, name, resource_version, metadata, spec, status, repository, action, state,
                             wake_key, submitted_by, created_at)
            select gen_random_uuid(), 'provisioning.grafana.app', 'jobs', 'default', name, 0, '{}', '{}', '{}', repository, 'sync',
                   'success', 'work.sync', '{}', at::timestamptz
            from (values ('old', 'r', '2026-01-01'), ('new', 'r', '2026-01-03'), ('other', 's', '2026-01-03')) t(name, repository, at);
        """)
        changes = await connection.fetchval("select count(*) from change")
        with as_file(schema.MIGRATIONS) as folder:
            shutil.copy(folder / MIGRATION, tmp_path)
        assert await schema.migrate(url, tmp_path) == [MIGRATION]
        rows = await connection.fetch(
            "select j.name, r.namespace from job j left join resource r on r.uid = j.repository_uid order by j.name"
        )
        assert [tuple(row) for row in rows] == [("new", "default"), ("old", None), ("other", None)]
        assert await connection.fetchval("select count(*) from change") == changes
        await connection.close()
