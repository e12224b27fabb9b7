"""The store of jobs: submitted, claimed under a lease, reported, finished. Every change of state is a guarded update.

A message is only a wake-up; these rows are the truth.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from dashwright.common.stores.outbox import Wakeup
from dashwright.common.stores.resources import StoredObject, not_found

_sql = queries.load(__package__, "jobs.sql")

SCHEDULER: Final = "access-policy:provisioning"
"""Who asks for the jobs that nobody asks for."""

WEBHOOK: Final = "webhook:"
"""How the uid of a git host begins that asks for a job by a delivery, which may come late, or again."""

_COLUMNS: Final = (
    *("uid", "name", "namespace", "resource_version", "generation", "metadata", "spec"),
    *("status", "state", "action", "repository", "attempts", "coalesce_key"),
)
"""The columns that StoredJob has as they are."""

_PENDING = '{"state":"pending"}'


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to submit.

    ``coalesce_key``: what makes it equal to a pending one. ``concurrency_group``: at most ``group_limit`` of its jobs run concurrently.
    ``wake_key``: the routing key of its wake-up.
    """

    name: str
    namespace: str
    spec: str
    repository: str | None
    action: str
    labels: Mapping[str, str]
    created: str
    coalesce_key: str | None
    concurrency_group: str | None
    wake_key: str
    repository_uid: uuid.UUID | None = None
    group_limit: int = 1
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job as the store holds it; ``metadata``, ``spec`` and ``status`` are JSON text."""

    kind: Kind
    uid: uuid.UUID
    name: str
    namespace: str
    resource_version: int
    generation: int
    metadata: str
    spec: str
    status: str
    state: str
    action: str
    repository: str | None
    attempts: int
    submitted_by: Mapping[str, Any]
    coalesce_key: str | None

    def encode(self) -> bytes:
        """The job as JSON, in its kind's version."""
        return (
            f'{{"kind":"{self.kind.kind}","apiVersion":"{self.kind.api_version()}",'
            f'"metadata":{self.whole_metadata()},"spec":{self.spec},"status":{self.status}}}'
        ).encode()

    def whole_metadata(self) -> str:
        """The metadata as JSON text, its version and generation in it."""
        return f'{{"resourceVersion":"{self.resource_version}","generation":{self.generation},{self.metadata[1:]}'


@dataclass(frozen=True, slots=True)
class SubmissionResult:
    """The jobs in the order asked for, and the wake-ups to publish once the transaction has committed."""

    jobs: Sequence[StoredJob]
    wakeups: Sequence[Wakeup]


@dataclass(frozen=True, slots=True)
class JobPage:
    items: Sequence[StoredJob]
    position: int
    after: str | None
    remaining: int


async def submit(
    connection: Connection, kind: Kind, jobs: Sequence[NewJob], *, submitted_by: Mapping[str, Any], headers: Mapping[str, str]
) -> SubmissionResult:
    """Records jobs as pending together with their wake-ups, in one statement. AlreadyExists where a name is taken."""
    once: dict[str, NewJob] = {}
    for job in jobs:
        key = f"{job.namespace}/{job.coalesce_key or job.name}"
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
    """Whether a sync is asked to look only at what differs from the one before."""
    return bool(_sync_options(job).get("incremental"))


def commit_of(job: StoredJob) -> str:
    """The commit that a sync is to put back, or empty."""
    return str(_sync_options(job).get("ref") or "")


def is_scheduled(job: StoredJob) -> bool:
    """Whether no person asked for it."""
    asker = str(job.submitted_by.get("uid"))
    return asker == SCHEDULER or asker.startswith(WEBHOOK)


def _sync_options(job: NewJob | StoredJob) -> Mapping[str, Any]:
    return orjson.loads(job.spec).get("sync") or {}


def _metadata(job: NewJob, uid: uuid.UUID) -> str:
    metadata = {"name": job.name, "namespace": job.namespace, "uid": str(uid), "creationTimestamp": job.created, "labels": dict(job.labels)}
    return orjson.dumps({**metadata, "annotations": dict(job.annotations)} if job.annotations else metadata).decode()


async def get(connection: Connection, kind: Kind, namespace: str, name: str) -> StoredJob:
    """One job, finished or not; NotFound when there is none or history has dropped it."""
    row = await connection.fetchrow(_sql.get, namespace, kind.group, kind.plural, name)
    if row is None:
        raise not_found(kind, name)
    return _job(row)


async def get_many(connection: Connection, uids: Sequence[uuid.UUID]) -> Sequence[StoredJob]:
    """Those of the jobs that history has not dropped, in the order asked for."""
    rows = {row["uid"]: row for row in await connection.fetch(_sql.get_many, list(uids))}
    return [_job(rows[uid]) for uid in uids if uid in rows]


async def list_page(connection: Connection, kind: Kind, namespace: str, *, after: str, limit: int) -> JobPage:
    """A page of jobs in the order of their names, from one snapshot."""
    position = await changes.head(connection, StreamName.JOBS)
    rows = await connection.fetch(_sql.list_page, namespace, kind.group, kind.plural, after, limit + 1)
    items = [_job(row) for row in rows[:limit]]
    if len(rows) <= limit:
        return JobPage(items, position, None, 0)
    remaining = await connection.fetchval(_sql.count_after, namespace, kind.group, kind.plural, items[-1].name)
    return JobPage(items, position, items[-1].name, remaining)


async def lock(connection: Connection) -> None:
    """Makes the caller's transaction the only writer of jobs until it ends. Where both are needed, the lock of objects comes first."""
    await connection.execute(_sql.lock)


async def claim(
    connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID, lease: timedelta, status: bytes, wake_key: str | None = None
) -> StoredJob | None:
    """pending → working under a lease: the job that was woken, or of those in lanes the oldest of the repository with the fewest at work.

    None where none may be at work now, or the wake-up did not come by the job's ``wake_key``, so perhaps to a worker of others.
    """
    await connection.execute(_sql.lock)
    row = await connection.fetchrow(_sql.claim, uid, status.decode(), wake_key)
    if row is None:
        return None
    await connection.execute(_sql.lease, row["uid"], owner, lease)
    return _job(row)


async def holds(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID) -> bool:
    """Whether a lease is still the owner's."""
    return bool(await connection.fetchval(_sql.holds, uid, owner))


async def renew(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID, lease: timedelta) -> bool:
    """Extends a lease; False when it is no longer the owner's."""
    return await connection.fetchval(_sql.renew, uid, owner, lease) is not None


async def report(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID, status: bytes) -> bool:
    """Writes the progress of a working job; False when the lease is no longer the owner's."""
    return await connection.fetchval(_sql.report, uid, owner, status.decode()) is not None


async def finish(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID, state: str, status: bytes) -> Sequence[Wakeup] | None:
    """working → ``state``. Answers the wake-up of the next job in the lane; None when the lease is no longer the owner's."""
    await connection.execute(_sql.lock)
    row = await connection.fetchrow(_sql.finish, uid, owner, state, status.decode())
    if row is None:
        return None
    await connection.execute(_sql.end_lease, uid)
    return await _wake_group(connection, row)


async def hand_back(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID) -> Sequence[Wakeup]:
    """working → pending for another worker. Where an equal job waits already, the lease is left to lapse instead."""
    await connection.execute(_sql.lock)
    if await connection.fetchval(_sql.hand_back, uid, owner, _PENDING) is None:
        return []
    await connection.execute(_sql.end_lease, uid)
    return await wake(connection, uid)


async def postpone(connection: Connection, uid: uuid.UUID, *, owner: uuid.UUID, delay: timedelta, status: bytes) -> Sequence[Wakeup] | None:
    """working → pending, to be taken up again after ``delay`` at the earliest; that is no attempt.

    Answers the wake-up of the next job in the lane; None when the lease is no longer the owner's.
    """
    await connection.execute(_sql.lock)
    row = await connection.fetchrow(_sql.postpone, uid, owner, status.decode(), delay)
    if row is None:
        return None
    await connection.execute(_sql.end_lease, uid)
    return await _wake_group(connection, row)


async def fail_pending(connection: Connection, uid: uuid.UUID, *, status: bytes) -> Sequence[Wakeup]:
    """pending → error, for a job that can never run. Answers the wake-up of the next job in the lane."""
    await connection.execute(_sql.lock)
    row = await connection.fetchrow(_sql.fail_pending, uid, status.decode())
    return await _wake_group(connection, row)


async def cancel(connection: Connection, kind: Kind, namespace: str, name: str, *, now: int) -> tuple[StoredJob, Sequence[Wakeup]]:
    """Ends a job that has not ended; drops one that has. ``now`` is Unix milliseconds. NotFound when there is none."""
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
    """Ends every job of a repository that has not ended, under the lock; answers how many."""
    await lock(connection)
    rows = await connection.fetch(_sql.end_all, namespace, repository, kind.plural, status.decode())
    await connection.execute(_sql.end_leases, [row["uid"] for row in rows])
    return len(rows)


async def delete_namespace(connection: Connection, namespace: str) -> None:
    """Drops every job of a namespace, under the lock: without its lease a worker writes nothing more."""
    await connection.execute(_sql.delete_namespace, namespace)
    await accepted.forget_namespace(connection, namespace)
    await evaluations.forget_namespace(connection, namespace)


async def recent(connection: Connection, repository: StoredObject, *, limit: int) -> Sequence[StoredJob]:
    """The jobs of a repository, and of none that had its name before, the newest first."""
    return [_job(row) for row in await connection.fetch(_sql.recent, repository.namespace, repository.name, repository.uid, limit)]


async def get_of_repository(connection: Connection, repository: StoredObject, uid: uuid.UUID) -> StoredJob:
    """A job of a repository; NotFound when there is none or history has dropped it."""
    row = await connection.fetchrow(_sql.get_of_repository, repository.uid, uid)
    if row is None:
        raise not_found(JOB, str(uid))
    return _job(row)


async def is_synced_now(connection: Connection, job: StoredJob) -> bool:
    """Return whether another sync of the job's repository is at work."""
    return bool(await connection.fetchval(_sql.is_synced_now, job.namespace, job.repository, job.uid))


async def count_waiting(connection: Connection, submitter: str) -> int:
    """Pending jobs of a submitter (its uid) that could be taken up: those that are to be left alone for a while do not count."""
    number: int = await connection.fetchval(_sql.count_waiting, submitter)
    return number


async def lapsed(connection: Connection, *, limit: int) -> Sequence[StoredJob]:
    """Working jobs whose lease has lapsed."""
    return [_job(row) for row in await connection.fetch(_sql.lapsed, limit)]


async def requeue_lapsed(connection: Connection, job: StoredJob) -> Sequence[Wakeup]:
    """working → pending after a lapsed lease, under the lock. Only where no equal job waits already."""
    if await connection.fetchval(_sql.requeue_lapsed, job.uid, _PENDING) is None:
        return []
    await connection.execute(_sql.end_lease, job.uid)
    return await wake(connection, job.uid)


async def end_lapsed(connection: Connection, job: StoredJob, *, status: bytes) -> Sequence[Wakeup] | None:
    """working → error after a lapsed lease, under the lock. None where the lease was renewed meanwhile."""
    row = await connection.fetchrow(_sql.end_lapsed, job.uid, status.decode())
    if row is None:
        return None
    await connection.execute(_sql.end_lease, job.uid)
    return await _wake_group(connection, row)


async def has_pending_equal(connection: Connection, job: StoredJob) -> bool:
    """Whether an equal job waits already."""
    return job.coalesce_key is not None and await connection.fetchval(_sql.pending_equal, job.namespace, job.coalesce_key) is not None


async def wake(connection: Connection, uid: uuid.UUID) -> Sequence[Wakeup]:
    """Records a wake-up for a job."""
    return _wakeups(await connection.fetch(_sql.wake, uid, routing.EXCHANGE))


async def wake_stale(connection: Connection, *, older_than: timedelta, limit: int, after: uuid.UUID | None = None) -> Sequence[Wakeup]:
    """Records wake-ups for jobs that wait although nothing holds them back, oldest first; those submitted later than ``after`` only."""
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
