"""The cleaner of the jobs worker deletes any number of rows, in transactions of bounded length."""

from datetime import timedelta

import pytest

from dashwright.common.database.pool import Database
from dashwright.jobs_worker.maintenance import cleaner

#: Several batches of two rows, and a remainder.
ROWS = 7
#: Statements that insert ``ROWS`` old rows into each table; of jobs one more, which the history keeps.
OLD_ROWS = {
    "submission": """
        insert into submission (namespace, submitter, message_id, body_hash, jobs, created_at)
        select 'default', 'user:1', number::text, '', '{}', now() - interval '2 days' from generate_series(1, $1::integer) number""",
    "expired_evaluation": """
        insert into expired_evaluation (namespace, name, expired_at)
        select 'default', number::text, now() - interval '8 days' from generate_series(1, $1::integer) number""",
    "trash": """
        insert into trash (uid, api_group, resource, namespace, name, number, resource_version, generation, stored_version, layout, title,
                           metadata, deleted_at, deleted_by)
        select gen_random_uuid(), 'g', 'r', 'default', number::text, number, 0, 1, 'v1', false, '', '{}', now() - interval '2 hours', ''
        from generate_series(1, $1::integer) number""",
    "job": """
        insert into job (uid, api_group, resource, namespace, name, resource_version, metadata, labels, spec, status, repository, action,
                         state, wake_key, submitted_by, finished_at)
        select gen_random_uuid(), 'provisioning.grafana.app', 'jobs', 'default', number::text, 0, '{}', '{}', '{}', '{}', 'r', 'sync',
               'success', 'work.sync', '{}', now() from generate_series(0, $1::integer) number""",
    "job_queue": """
        insert into job_queue (pool, namespace, lane, lane_width, priority, fairness_key, weight)
        select 'work', 'default', number::text, 1, 3, '', 1 from generate_series(1, $1::integer) number""",
}


@pytest.mark.parametrize("table", OLD_ROWS)
async def test_all_old_rows_are_deleted(database: Database, monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    """One round deletes all old rows, in transactions of limited size."""
    monkeypatch.setattr(cleaner, "_BATCH_SIZE", 2)
    hour = timedelta(hours=1)
    async with database.connection() as connection:
        await connection.execute(OLD_ROWS[table], ROWS)
        await connection.execute(f"""
            create table deletion (rows bigint);
            create function record_deletion() returns trigger language plpgsql as
                'begin insert into deletion select count(*) from old_rows; return null; end';
            create trigger record_deletion after delete on {table} referencing old table as old_rows
                for each statement execute function record_deletion()""")
    await cleaner.Cleaner(database, history=1, versions=1, results=hour, changes=hour, trash=hour).clean()
    async with database.connection() as connection:
        assert await connection.fetchval(f"select count(*) from {table}") == (1 if table == "job" else 0)
        counts = [row["rows"] for row in await connection.fetch("select rows from deletion where rows > 0")]
    # The seven rows, in batches of two.
    assert counts == [2, 2, 2, 1]
