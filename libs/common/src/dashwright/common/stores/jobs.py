"""Store of jobs: submitted, claimed under a lease, reported, finished.

Every change of state is a guarded update, so that a repeated or late step changes nothing. A message is only a wake-up;
these rows are the truth.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import asyncpg
import orjson

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.errors import AlreadyExists
from dashwright.common.jobs import job_messages, routing
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import JOB, find
from dashwright.common.stores import accepted, changes, evaluations
from dashwright.common.stores.changes import StreamName
from dashwright.common.stores.job_records import NewJob, StoredJob
from dashwright.common.stores.outbox import Wakeup
from dashwright.common.stores.resources import StoredObject, not_found

_sql = queries.load(__package__, "jobs.sql")

#: Submitter of the jobs that the scheduler creates.
SCHEDULER: Final = "access-policy:provisioning"

#: Prefix of the submitter uid of a git host, whose webhook deliveries may arrive late or repeatedly.
WEBHOOK: Final = "webhook:"

#: Columns that StoredJob has unchanged.
_COLUMNS: Final = (
    *("uid", "name", "namespace", "resource_version", "generation", "metadata", "spec"),
    *("status", "state", "action", "repository", "attempts", "coalesce_key"),
)

_PENDING = '{"state":"pending"}'


@dataclass(frozen=True, slots=True)
class SubmissionResult:
    """Jobs in the order of the submission, and the wake-ups to publish once the transaction has committed."""

    jobs: Sequence[StoredJob]
    wakeups: Sequence[Wakeup]


@dataclass(frozen=True, slots=True)
class JobPage:
    """Page of a list of jobs."""

    items: Sequence[StoredJob]
    position: int  #: Resource version of the snapshot.
    after: str | None  #: Name to continue after; None on the last page.
    remaining: int  #: Number of jobs after this page.


async def submit(
    connection: Connection, kind: Kind, jobs: Sequence[NewJob], *, submitted_by: Mapping[str, Any], headers: Mapping[str, str]
) -> SubmissionResult:
    """Record jobs as pending together with their wake-ups, in one statement.

    A job that equals a pending one is merged into it. Raises AlreadyExists if a name is taken.
    """
    once: dict[str, NewJob] = {}
    for job in jobs:
        key = f"{job.namespace}/{job.coalesce_key or job.name}"
        # Of equal jobs in one submission a full sync wins: it does all that an incremental one would.
        if key not in once or not is_incremental(job):
            once[key] = job
    uids = {key: uuid.uuid4() for key in once}
    new = once.values()
    query = _sql.bind(
        "submit",
        api_group=kind.group,
        resource=kind.plural,
        status=_PENDING,
        submitted_by=orjson.dumps(dict(submitted_by)).decode(),
        exchange=routing.EXCHANGE,
        headers=orjson.dumps(dict(headers)).decode(),
        scheduler=SCHEDULER,
        webhook=WEBHOOK,
        uids=list(uids.values()),
        namespaces=[job.namespace for job in new],
        names=[job.name for job in new],
        metadata=[_metadata(job, uids[key]) for key, job in once.items()],
        labels=[orjson.dumps(dict(job.labels)).decode() for job in new],
        specs=[job.spec for job in new],
        repositories=[job.repository for job in new],
        actions=[job.action for job in new],
        coalesce_keys=[job.coalesce_key for job in new],
        concurrency_groups=[job.concurrency_group for job in new],
        wake_keys=[job.wake_key for job in new],
        repository_uids=[job.repository_uid for job in new],
        group_limits=[job.group_limit for job in new],
    )
    try:
        rows = await connection.fetch(*query)
    except asyncpg.UniqueViolationError as error:
        taken = ", ".join(job.name for job in once.values())
        raise AlreadyExists(f'{kind.key} "{taken}" already exists', details={"group": kind.group, "kind": kind.plural}) from error
    stored = {f"{row['namespace']}/{row['coalesce_key'] or row['name']}": _job(row) for row in rows}
    wakeups = [
        Wakeup(row["outbox_id"], routing.EXCHANGE, row["wake_key"], row["outbox_body"], dict(headers)) for row in rows if row["outbox_id"]
    ]
    return SubmissionResult([stored[f"{job.namespace}/{job.coalesce_key or job.name}"] for job in jobs], wakeups)


def is_incremental(job: NewJob | StoredJob) -> bool:
    """Return whether a sync examines only what changed since the last one."""
    return bool(_sync_options(job).get("incremental"))


def commit_of(job: StoredJob) -> str:
    """Return the commit that a rollback restores, or an empty string."""
    return str(_sync_options(job).get("ref") or "")


def is_scheduled(job: StoredJob) -> bool:
    """Return whether the job was submitted by the scheduler or a webhook instead of a user."""
    asker = str(job.submitted_by.get("uid"))
    return asker == SCHEDULER or asker.startswith(WEBHOOK)


def _sync_options(job: NewJob | StoredJob) -> Mapping[str, Any]:
    return orjson.loads(job.spec).get("sync") or {}


def _metadata(job: NewJob, uid: uuid.UUID) -> str:
    metadata = {"name": job.name, "namespace": job.namespace, "uid": str(uid), "creationTimestamp": job.created, "labels": dict(job.labels)}
    return orjson.dumps({**metadata, "annotations": dict(job.annotations)} if job.annotations else metadata).decode()


async def get(connection: Connection, kind: Kind, namespace: str, name: str) -> StoredJob:
    """Return a job, finished or not. Raises NotFound if it does not exist or has been trimmed."""
    row = await connection.fetchrow(_sql.get, namespace, kind.group, kind.plural, name)
    if row is None:
        raise not_found(kind, name)
    return _job(row)


async def get_many(connection: Connection, uids: Sequence[uuid.UUID]) -> Sequence[StoredJob]:
    """Return those of the jobs that still exist, in the order of ``uids``."""
    rows = {row["uid"]: row for row in await connection.fetch(_sql.get_many, list(uids))}
    return [_job(rows[uid]) for uid in uids if uid in rows]


async def list_page(connection: Connection, kind: Kind, namespace: str, *, after: str, limit: int) -> JobPage:
    """Return a page of jobs ordered by name, from one snapshot."""
    position = await changes.head(connection, StreamName.JOBS)
    rows = await connection.fetch(_sql.list_page, namespace, kind.group, kind.plural, after, limit + 1)
    items = [_job(row) for row in rows[:limit]]
    if len(rows) <= limit:
        return JobPage(items, position, None, 0)
    remaining = await connection.fetchval(_sql.count_after, namespace, kind.group, kind.plural, items[-1].name)
    return JobPage(items, position, items[-1].name, remaining)


async def lock(connection: Connection) -> None:
    """Make the caller's transaction the only writer of jobs until it ends. If both are needed, take the lock of objects first."""
    await connection.execute(_sql.lock)


async def claim(
    connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID, lease: timedelta, status: bytes, wake_key: str | None = None
) -> StoredJob | None:
    """Change a job from pending to working under a lease, and return it.

    That is the woken job or another one of a concurrency group; jobs.sql describes the order. Returns None if no job
    may run now, or if the wake-up came with another ``wake_key`` than the job's.
    """
    await connection.execute(_sql.lock)
    row = await connection.fetchrow(_sql.claim, uid, status.decode(), wake_key)
    if row is None:
        return None
    await connection.execute(_sql.lease, row["uid"], owner, lease)
    return _job(row)


async def holds(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID) -> bool:
    """Return whether the owner still holds the lease of a job."""
    return bool(await connection.fetchval(_sql.holds, uid, owner))


async def renew(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID, lease: timedelta) -> bool:
    """Extend a lease. Return False if the owner does not hold it any more."""
    return await connection.fetchval(_sql.renew, uid, owner, lease) is not None


async def report(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID, status: bytes) -> bool:
    """Write the progress of a working job. Return False if the owner does not hold the lease any more."""
    return await connection.fetchval(_sql.report, uid, owner, status.decode()) is not None


async def finish(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID, state: str, status: bytes) -> Sequence[Wakeup] | None:
    """Change a job from working to ``state`` and return the wake-up of the next job of its group.

    Returns None if the owner does not hold the lease any more.
    """
    await connection.execute(_sql.lock)
    row = await connection.fetchrow(_sql.finish, uid, owner, state, status.decode())
    if row is None:
        return None
    await connection.execute(_sql.end_lease, uid)
    return await _wake_group(connection, row)


async def hand_back(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID) -> Sequence[Wakeup]:
    """Change a job from working to pending, for another worker, and return its wake-up.

    If an equal job is pending already, nothing changes and the lease is left to lapse.
    """
    await connection.execute(_sql.lock)
    if await connection.fetchval(_sql.hand_back, uid, owner, _PENDING) is None:
        return []
    await connection.execute(_sql.end_lease, uid)
    return await wake(connection, uid)


async def postpone(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID, delay: timedelta, status: bytes) -> Sequence[Wakeup] | None:
    """Change a job from working to pending, not to be claimed before ``delay``, without counting an attempt.

    Returns the wake-up of the next job of its group, or None if the owner does not hold the lease any more.
    """
    await connection.execute(_sql.lock)
    row = await connection.fetchrow(_sql.postpone, uid, owner, status.decode(), delay)
    if row is None:
        return None
    await connection.execute(_sql.end_lease, uid)
    return await _wake_group(connection, row)


async def fail_pending(connection: Connection, uid: uuid.UUID, *, status: bytes) -> Sequence[Wakeup]:
    """Change a job that can never run from pending to error; return the wake-up of the next job of its group."""
    await connection.execute(_sql.lock)
    row = await connection.fetchrow(_sql.fail_pending, uid, status.decode())
    return await _wake_group(connection, row)


async def cancel(connection: Connection, kind: Kind, namespace: str, name: str, *, now: int) -> tuple[StoredJob, Sequence[Wakeup]]:
    """End an unfinished job or delete a finished one; return it with the wake-up of the next job of its group.

    ``now`` is in Unix milliseconds. Raises NotFound if the job does not exist.
    """
    await connection.execute(_sql.lock)
    job = await get(connection, kind, namespace, name)
    if job.state in ("success", "error"):
        await connection.execute(_sql.drop, job.uid)
        return job, []
    status = orjson.loads(job.status) | {
        "state": "error",
        "finished": now,
        "message": job_messages.CANCELLED,
        "errors": [job_messages.CANCELLED],
    }
    row = await connection.fetchrow(_sql.cancel, job.uid, orjson.dumps(status).decode())
    await connection.execute(_sql.end_lease, job.uid)
    return job, await _wake_group(connection, row)


async def end_all(connection: Connection, kind: Kind, namespace: str, repository: str, *, status: bytes) -> int:
    """End every unfinished job of a repository and return their number. Call under the lock."""
    await lock(connection)
    rows = await connection.fetch(_sql.end_all, namespace, repository, kind.plural, status.decode())
    await connection.execute(_sql.end_leases, [row["uid"] for row in rows])
    return len(rows)


async def delete_namespace(connection: Connection, namespace: str) -> None:
    """Delete every job of a namespace. Call under the lock. A worker that loses its lease writes nothing more."""
    await connection.execute(_sql.delete_namespace, namespace)
    await accepted.forget_namespace(connection, namespace)
    await evaluations.forget_namespace(connection, namespace)


async def recent(connection: Connection, repository: StoredObject, *, limit: int) -> Sequence[StoredJob]:
    """Return the newest jobs of a repository, without those of an earlier repository of the same name."""
    return [_job(row) for row in await connection.fetch(_sql.recent, repository.namespace, repository.name, repository.uid, limit)]


async def get_of_repository(connection: Connection, repository: StoredObject, uid: uuid.UUID) -> StoredJob:
    """Return a job of a repository. Raises NotFound if it does not exist or has been trimmed."""
    row = await connection.fetchrow(_sql.get_of_repository, repository.uid, uid)
    if row is None:
        raise not_found(JOB, str(uid))
    return _job(row)


async def is_synced_now(connection: Connection, job: StoredJob) -> bool:
    """Return whether another sync of the job's repository is at work."""
    return bool(await connection.fetchval(_sql.is_synced_now, job.namespace, job.repository, job.uid))


async def count_waiting(connection: Connection, submitter: str) -> int:
    """Return the number of pending jobs of a submitter (its uid), without postponed ones."""
    number: int = await connection.fetchval(_sql.count_waiting, submitter)
    return number


async def lapsed(connection: Connection, *, limit: int) -> Sequence[StoredJob]:
    """Return working jobs whose lease has lapsed."""
    return [_job(row) for row in await connection.fetch(_sql.lapsed, limit)]


async def requeue_lapsed(connection: Connection, job: StoredJob) -> Sequence[Wakeup]:
    """Change a job from working to pending after its lease lapsed; return its wake-up.

    Call under the lock, and only if no equal job is pending.
    """
    if await connection.fetchval(_sql.requeue_lapsed, job.uid, _PENDING) is None:
        return []
    await connection.execute(_sql.end_lease, job.uid)
    return await wake(connection, job.uid)


async def end_lapsed(connection: Connection, job: StoredJob, *, status: bytes) -> Sequence[Wakeup] | None:
    """Change a job from working to error after its lease lapsed; return the wake-up of the next job of its group.

    Call under the lock. Returns None if the lease was renewed in the meantime.
    """
    row = await connection.fetchrow(_sql.end_lapsed, job.uid, status.decode())
    if row is None:
        return None
    await connection.execute(_sql.end_lease, job.uid)
    return await _wake_group(connection, row)


async def has_pending_equal(connection: Connection, job: StoredJob) -> bool:
    """Return whether an equal job is pending."""
    return job.coalesce_key is not None and await connection.fetchval(_sql.pending_equal, job.namespace, job.coalesce_key) is not None


async def wake(connection: Connection, uid: uuid.UUID) -> Sequence[Wakeup]:
    """Record a wake-up for a job."""
    return _wakeups(await connection.fetch(_sql.wake, uid, routing.EXCHANGE))


async def wake_stale(connection: Connection, *, older_than: timedelta, limit: int, after: uuid.UUID | None = None) -> Sequence[Wakeup]:
    """Record wake-ups for jobs that wait although they could run, oldest first.

    Only jobs submitted later than ``after`` are considered.
    """
    return _wakeups(await connection.fetch(_sql.wake_stale, older_than, limit, routing.EXCHANGE, after))


async def trim(connection: Connection, *, keep: int) -> int:
    """Drop finished jobs on repositories beyond ``keep`` of each action for each repository; return how many."""
    return len(await connection.fetch(_sql.trim, keep, JOB.group, JOB.plural))


async def count(connection: Connection, kind: Kind, namespace: str) -> int:
    """Return how many jobs of a kind a namespace has, whatever their state."""
    return await connection.fetchval(_sql.count, namespace, kind.group, kind.plural) or 0


async def _wake_group(connection: Connection, row: asyncpg.Record | None) -> Sequence[Wakeup]:
    if row is None or row["lane"] is None:
        return []
    return _wakeups(await connection.fetch(_sql.wake_group, row["namespace"], row["lane"], routing.EXCHANGE))


def _wakeups(rows: Sequence[asyncpg.Record]) -> Sequence[Wakeup]:
    return [Wakeup(row["id"], routing.EXCHANGE, row["routing_key"], row["body"], orjson.loads(row["headers"])) for row in rows]


def _job(row: asyncpg.Record) -> StoredJob:
    kind = find(row["api_group"], row["resource"])
    assert kind is not None, f"{row['resource']}.{row['api_group']} is stored but not described"
    return StoredJob(kind=kind, submitted_by=orjson.loads(row["submitted_by"]), **{name: row[name] for name in _COLUMNS})
