"""Rows of the database, which tests read directly, because responses of the API depend on the code under test."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg


class Records:
    """The product's tables, read over a connection of the test."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        self._connection = connection

    async def attempts(self, job: str) -> int:
        """Return how often a job was started."""
        count: int = await self._connection.fetchval("select attempts from job where name = $1", job)
        return count

    async def additions(self) -> Counter[str]:
        """Return the number of changes of the type ADDED by name of the dashboard."""
        return await self._count_rows("select name from change where resource = 'dashboards' and type = 'ADDED'")

    async def generations(self) -> Counter[str]:
        """Return the number of history entries by name of each existing dashboard."""
        return await self._count_rows("select r.name from resource_history h join resource r using (uid) where r.resource = 'dashboards'")

    async def jobs(self) -> list[asyncpg.Record]:
        """Return every job in the order of submission."""
        return await self._connection.fetch("select name, repository, state, attempts, status from job order by created_at, name")

    async def job_feed(self) -> list[asyncpg.Record]:
        """Return repository, name and state of each change of a job, in the order of the changes."""
        return await self._connection.fetch(
            "select spec::json ->> 'repository' as repository, name, type, status::json ->> 'state' as state "
            "from change where resource = 'jobs' order by resource_version"
        )

    async def all_jobs_ended(self) -> bool:
        """Return whether no job is pending or working."""
        return not await self._connection.fetchval("select exists (select from job where state in ('pending', 'working'))")

    async def clone_pending_job(self, times: int) -> None:
        """Copy the pending job ``times`` times, each copy in a concurrency group of its own."""
        await self._connection.execute(
            "insert into job (uid, api_group, resource, namespace, name, resource_version, metadata, spec, status, repository, action, "
            "state, lane, wake_key, submitted_by) select gen_random_uuid(), api_group, resource, namespace, name || '-' || number, 0, "
            "metadata, spec, status, repository, action, state, 'lane-' || number, wake_key, submitted_by "
            "from job, generate_series(1, $1::integer) as number where state = 'pending'",
            times,
        )

    @asynccontextmanager
    async def blocked_syncs(self) -> AsyncIterator[None]:
        """Block syncs before they write objects while the block runs, which must end before the lock timeout of services, 5 s."""
        async with self._connection.transaction():
            # Only a sync's write of objects adds history, so the lock stops nothing else that a job does.
            await self._connection.execute("lock table resource_history in share mode")
            yield

    async def count_blocked_syncs(self) -> int:
        """Return the number of connections that wait for the lock of ``blocked_syncs``."""
        count: int = await self._connection.fetchval(
            "select count(*) from pg_locks where relation = 'resource_history'::regclass and not granted"
        )
        return count

    async def _count_rows(self, sql: str) -> Counter[str]:
        """Return how often each name occurs in the first column of a query."""
        return Counter(row[0] for row in await self._connection.fetch(sql))


@asynccontextmanager
async def open_records(url: str) -> AsyncIterator[Records]:
    """Connect to the database while the block runs."""
    connection = await asyncpg.connect(url)
    try:
        yield Records(connection)
    finally:
        await connection.close()
