"""Store of the queues in which jobs wait: the limit of an organization, and the deletion of empty queues."""

from collections.abc import Mapping, Sequence
from typing import Final

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.errors import Cause, TooManyRequests

#: Time after which a client should repeat a refused submission.
_RETRY_SECONDS: Final = 5.0

_sql = queries.load(__package__, "job_queues.sql")


class TooManyWaitingJobs(TooManyRequests):
    """Refusal of jobs because an organization has too many that wait already."""

    def __init__(self, *, waiting: int, added: int, limit: int) -> None:
        """Create the error for ``added`` jobs that exceed the limit together with the ``waiting`` ones."""
        super().__init__(
            f"the organization would have {waiting + added:,} waiting jobs, more than {limit:,} (DASHWRIGHT_WAITING_JOBS); submit again "
            "when some have ended, or cancel some",
            causes=[Cause("quota.waitingJobs", "QuotaReached", f"limit {limit}")],
            retry_after=_RETRY_SECONDS,
        )


async def capacity_errors(connection: Connection, added: Mapping[str, int], *, limit: int) -> Mapping[str, TooManyWaitingJobs]:
    """Return an error for each namespace that would have more than ``limit`` waiting jobs, by namespace.

    ``added`` has the numbers of jobs to be inserted, by namespace. Postponed jobs are not counted. Concurrent submissions do
    not see each other, so together they may exceed the limit once.
    """
    waiting = await count_waiting(connection, list(added))
    return {
        namespace: TooManyWaitingJobs(waiting=waiting.get(namespace, 0), added=count, limit=limit)
        for namespace, count in added.items()
        if waiting.get(namespace, 0) + count > limit
    }


async def count_waiting(connection: Connection, namespaces: Sequence[str]) -> Mapping[str, int]:
    """Return the number of waiting jobs by namespace, without namespaces that have none. Postponed jobs are not counted."""
    return {row["namespace"]: int(row["waiting"]) for row in await connection.fetch(_sql.waiting, namespaces)}


async def require_capacity(connection: Connection, namespace: str, *, added: int, limit: int) -> None:
    """Raise TooManyWaitingJobs if a namespace would have more than ``limit`` waiting jobs.

    ``added`` is the number of jobs that will be inserted, or 0 after their insertion.
    """
    errors = await capacity_errors(connection, {namespace: added}, limit=limit)
    if namespace in errors:
        raise errors[namespace]


async def delete_empty(connection: Connection, *, limit: int) -> int:
    """Delete at most ``limit`` queues without jobs, and return their number. Call this in a transaction.

    A queue is created again with its next job. Organizations that are writing jobs are left out: waiting for their locks could
    delay them, and the next call finds their queues.
    """
    namespaces = [row["namespace"] for row in await connection.fetch(_sql.lock_empty, limit)]
    return len(await connection.fetch(_sql.delete_empty, namespaces, limit)) if namespaces else 0


async def delete_namespace(connection: Connection, namespace: str) -> None:
    """Delete the queues of a namespace. Call this under the lock of jobs, after the deletion of the jobs."""
    await connection.execute(_sql.delete_queues, namespace)
    await connection.execute(_sql.delete_counts, namespace)
