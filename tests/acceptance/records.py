"""What the database holds in the end: read directly, since it is the truth the API only shows."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg


class Records:
    """A look at the tables over a connection of the test's own."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        self._connection = connection

    async def attempts(self, job: str) -> int:
        found: int = await self._connection.fetchval("select attempts from job where name = $1", job)
        return found

    async def additions(self) -> Counter[str]:
        """How often the feed says ADDED, for each dashboard."""
        return await self._counted("select name from change where resource = 'dashboards' and type = 'ADDED'")

    async def generations(self) -> Counter[str]:
        """Entries of history, for each dashboard that is there."""
        return await self._counted("select r.name from resource_history h join resource r using (uid) where r.resource = 'dashboards'")

    async def jobs(self) -> list[asyncpg.Record]:
        """Every job, in the order of submission."""
        return await self._connection.fetch("select name, repository, state, attempts, status from job order by created_at, name")

    async def job_feed(self) -> list[asyncpg.Record]:
        """Repository, name and state of each change of a job, in the feed's order."""
        return await self._connection.fetch(
            "select spec::json ->> 'repository' as repository, name, type, status::json ->> 'state' as state "
            "from change where resource = 'jobs' order by resource_version"
        )

    async def outbox_is_empty(self) -> bool:
        """Whether the outbox is empty."""
        return not await self._connection.fetchval("select exists (select from outbox)")

    async def all_jobs_ended(self) -> bool:
        """Whether every job has ended."""
        return not await self._connection.fetchval("select exists (select from job where state in ('pending', 'working'))")

    async def clone_pending_job(self, times: int) -> None:
        """Makes as many jobs like the one that waits, each in a lane of its own."""
        await self._connection.execute(
            "insert into job (uid, api_group, resource, namespace, name, resource_version, metadata, spec, status, repository, action, "
            "state, lane, wake_key, submitted_by) select gen_random_uuid(), api_group, resource, namespace, name || '-' || number, 0, "
            "metadata, spec, status, repository, action, state, 'lane-' || number, wake_key, submitted_by "
            "from job, generate_series(1, $1::integer) as number where state = 'pending'",
            times,
        )

    @asynccontextmanager
    async def blocked_syncs(self) -> AsyncIterator[None]:
        """A sync that begins in the block stands before its one write of objects, for the services' patience with a lock, 5 s.

        Nothing else that a job does writes history.
        """
        async with self._connection.transaction():
            await self._connection.execute("lock table resource_history in share mode")
            yield

    async def count_blocked_syncs(self) -> int:
        """How many connections stand there."""
        found: int = await self._connection.fetchval(
            "select count(*) from pg_locks where relation = 'resource_history'::regclass and not granted"
        )
        return found

    async def _counted(self, sql: str) -> Counter[str]:
        return Counter(row[0] for row in await self._connection.fetch(sql))


@asynccontextmanager
async def open_records(url: str) -> AsyncIterator[Records]:
    connection = await asyncpg.connect(url)
    try:
        yield Records(connection)
    finally:
        await connection.close()
