"""Steps of workers: jobs are claimed under a lease, reported, and finished or returned.

Every change of state is an update with a condition, so that a repeated or late step changes nothing. Messages only wake workers:
the rows decide which job runs.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from dashwright.common.database import queries
from dashwright.common.database.notifier import notify_after_commit
from dashwright.common.database.pool import Connection
from dashwright.common.stores import jobs
from dashwright.common.stores.job_records import StoredJob, stored_job

_sql = queries.load(__package__, "jobs.sql")

_PENDING_STATUS: Final = '{"state":"pending"}'


@dataclass(frozen=True, slots=True)
class FinalState:
    """End of a job, written by the owner of its lease."""

    uid: uuid.UUID
    owner: uuid.UUID
    state: str
    status: bytes  #: JSON.


async def claim(
    connection: Connection, pool: str, *, limit: int, reserved: int = 0, owner: uuid.UUID, lease: timedelta, status: bytes
) -> Sequence[StoredJob]:
    """Change jobs from pending to working under leases, and return them. Return an empty list if no job of the pool may run now.

    The jobs are of one namespace and priority, and fewer than ``limit`` if other namespaces have ready jobs (jobs.sql describes the
    order). ``limit`` is the number of free slots of a worker. If the pool has several namespaces, the last ``reserved`` of these slots
    are only for a namespace without working jobs. The owner of all leases is ``owner``. Call this outside a transaction.
    """
    while True:
        async with connection.transaction():
            namespace = await connection.fetchval(*_sql.bind("lock_next_namespace", pool=pool, limit=limit, reserved=reserved))
            if namespace is None:
                namespace = await connection.fetchval(*_sql.bind("next_namespace", pool=pool, limit=limit, reserved=reserved))
                if namespace is None:
                    return []
                # Other workers have locked all namespaces. Wait for one only: two workers that wait for several could deadlock.
                await jobs.lock(connection, namespace)
            notify_after_commit(connection, "job")
            query = _sql.bind(
                "claim",
                pool=pool,
                namespace=namespace,
                limit=limit,
                reserved=reserved,
                owner=owner,
                lease=lease,
                status=status.decode(),
            )
            if rows := await connection.fetch(*query):
                return [stored_job(row) for row in rows]
        # Another worker claimed the jobs before this one had the lock. Try the next namespace.


async def place_due(connection: Connection, pool: str) -> int:
    """Make due postponed jobs ready, and return the number of their namespaces. Call this in a transaction."""
    namespaces = [row["namespace"] for row in await connection.fetch(_sql.due_namespaces, pool)]
    if namespaces:
        await jobs.lock(connection, *namespaces)
        await connection.execute(_sql.place_due, namespaces)
    return len(namespaces)


async def holds_lease(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID) -> bool:
    """Return whether ``owner`` still holds the lease of a job."""
    return bool(await connection.fetchval(_sql.holds_lease, uid, owner))


async def renew(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID, lease: timedelta) -> bool:
    """Extend the lease of a job. Return False if ``owner`` no longer holds it."""
    return await connection.fetchval(_sql.renew, uid, owner, lease) is not None


async def report(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID, status: bytes) -> bool:
    """Write the progress of a working job. Return False if ``owner`` no longer holds the lease."""
    async with connection.transaction():
        await _lock_of(connection, uid)
        return await connection.fetchval(_sql.report, uid, owner, status.decode()) is not None


async def finish(connection: Connection, finals: Sequence[FinalState]) -> set[uuid.UUID]:
    """Change jobs from working to their final states, and return the uids of those whose owners still held their leases."""
    await _lock_of(connection, *(final.uid for final in finals))
    query = _sql.bind(
        "finish",
        uids=[final.uid for final in finals],
        owners=[final.owner for final in finals],
        states=[final.state for final in finals],
        statuses=[final.status.decode() for final in finals],
    )
    return {row["uid"] for row in await connection.fetch(*query)}


async def next_of_group(connection: Connection, uid: uuid.UUID) -> uuid.UUID | None:
    """Return the uid of the pending job that is the next of the concurrency group of a job, or None."""
    next_uid: uuid.UUID | None = await connection.fetchval(_sql.next_of_group, uid)
    return next_uid


async def requeue(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID) -> bool:
    """Change a job from working to pending, so that another worker can claim it.

    Return False and change nothing if ``owner`` no longer holds the lease.
    """
    await _lock_of(connection, uid)
    if await connection.fetchval(_sql.requeue, uid, owner, _PENDING_STATUS) is None:
        return False
    await connection.execute(_sql.end_lease, uid)
    return True


async def postpone(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID, delay: timedelta, status: bytes) -> bool:
    """Change a job from working to pending, without counting an attempt. It cannot be claimed again before ``delay``.

    Return False if ``owner`` no longer holds the lease.
    """
    await _lock_of(connection, uid)
    if await connection.fetchval(_sql.postpone, uid, owner, status.decode(), delay) is None:
        return False
    await connection.execute(_sql.end_lease, uid)
    return True


async def list_with_expired_lease(connection: Connection, *, limit: int) -> Sequence[StoredJob]:
    """Return at most ``limit`` working jobs whose lease has expired."""
    return [stored_job(row) for row in await connection.fetch(_sql.list_with_expired_lease, limit)]


async def requeue_expired(connection: Connection, job: StoredJob) -> bool:
    """Change a job with an expired lease from working to pending. Return False if the lease has been renewed.

    Call this under the lock of jobs.
    """
    if await connection.fetchval(_sql.requeue_expired, job.uid, _PENDING_STATUS) is None:
        return False
    await connection.execute(_sql.end_lease, job.uid)
    return True


async def fail_expired(connection: Connection, job: StoredJob, *, status: bytes) -> bool:
    """Change a job with an expired lease from working to error. Return False if the lease has been renewed.

    Call this under the lock of jobs.
    """
    if await connection.fetchval(_sql.fail_expired, job.uid, status.decode()) is None:
        return False
    await connection.execute(_sql.end_lease, job.uid)
    return True


async def _lock_of(connection: Connection, *uids: uuid.UUID) -> None:
    """Lock the namespaces in which the given jobs are, as ``jobs.lock`` does."""
    await connection.execute(_sql.lock_of, list(uids))
    notify_after_commit(connection, "job")
