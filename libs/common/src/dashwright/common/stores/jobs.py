"""Store of jobs: submission, reading, cancellation and history. ``claims`` has the steps of workers."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import asyncpg
import orjson

from dashwright.common.database import queries
from dashwright.common.database.notifier import notify_after_commit
from dashwright.common.database.pool import Connection
from dashwright.common.errors import AlreadyExists
from dashwright.common.jobs import job_messages
from dashwright.common.jobs.routing import Wakeup
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import JOB
from dashwright.common.stores import accepted_messages, changes, evaluations, job_queues
from dashwright.common.stores.changes import StreamName
from dashwright.common.stores.job_records import NewJob, StoredJob, stored_job
from dashwright.common.stores.resources import StoredObject, not_found

_sql = queries.load(__package__, "jobs.sql")

#: Submitter of the jobs that the scheduler creates.
SCHEDULER: Final = "access-policy:provisioning"

#: Prefix of the submitter uid of a git host, whose webhook deliveries may arrive late or repeatedly.
WEBHOOK: Final = "webhook:"

#: Stream of notifications that running jobs may have been cancelled.
CANCELLATIONS: Final = "cancel"

_PENDING_STATUS = '{"state":"pending"}'


@dataclass(frozen=True, slots=True)
class Submission:
    """Jobs to submit together."""

    jobs: Sequence[NewJob]
    submitted_by: Mapping[str, Any]  #: Uid and login of the submitter.
    trace: str | None  #: Trace of the submission, as a W3C traceparent.


@dataclass(frozen=True, slots=True)
class SubmissionResult:
    """Result of a submission."""

    jobs: Sequence[StoredJob]  #: The stored jobs, in the order of the submission.
    wakeups: Sequence[Wakeup]  #: Wake-ups to publish after the transaction, one for each wake key.


@dataclass(frozen=True, slots=True)
class JobPage:
    """Page of a list of jobs."""

    items: Sequence[StoredJob]
    position: int  #: Resource version of the snapshot from which the page was read.
    after: str | None  #: Name after which the next page begins. None on the last page.
    remaining: int  #: Number of jobs after this page.


async def submit(
    connection: Connection, kind: Kind, jobs: Sequence[NewJob], *, submitted_by: Mapping[str, Any], trace: str | None = None
) -> SubmissionResult:
    """Store jobs of one submitter as pending in one statement. ``trace`` is a W3C traceparent.

    A job with the coalesce key of a pending job is merged into that job. Raises AlreadyExists if a name is in use.
    """
    distinct_jobs: dict[tuple[str, str], NewJob] = {}
    for job in jobs:
        key = _merge_key(job.namespace, job.coalesce_key, job.name)
        # A full sync replaces an equal incremental sync of the same submission, since it does the same work and more.
        if key not in distinct_jobs or not is_incremental(job):
            distinct_jobs[key] = job
    submission = Submission([*distinct_jobs.values()], submitted_by, trace)
    result = await submit_all(connection, kind, [submission])
    stored_by_key = dict(zip(distinct_jobs, result.jobs, strict=True))
    stored_jobs = [stored_by_key[_merge_key(job.namespace, job.coalesce_key, job.name)] for job in jobs]
    return SubmissionResult(stored_jobs, result.wakeups)


async def submit_all(connection: Connection, kind: Kind, submissions: Sequence[Submission]) -> SubmissionResult:
    """Store the jobs of several submitters as pending in one statement.

    Two of the jobs must not have the same name or coalesce key. Raises AlreadyExists if a name is in use.
    """
    submitted = [(job, submission) for submission in submissions for job in submission.jobs]
    new_jobs = [job for job, _ in submitted]
    namespaces = {job.namespace for job in new_jobs}
    if len(namespaces) > 1:
        # In the same order in all transactions, which avoids deadlocks. The statement itself would lock them in the order of its jobs.
        await lock(connection, *namespaces)
    uids = [uuid.uuid4() for _ in new_jobs]
    query = _sql.bind(
        "submit",
        api_group=kind.group,
        resource=kind.plural,
        status=_PENDING_STATUS,
        scheduler=SCHEDULER,
        webhook=WEBHOOK,
        uids=uids,
        namespaces=[job.namespace for job in new_jobs],
        names=[job.name for job in new_jobs],
        metadata=[_metadata(job, uid) for job, uid in zip(new_jobs, uids, strict=True)],
        labels=[orjson.dumps(dict(job.labels)).decode() for job in new_jobs],
        specs=[job.spec for job in new_jobs],
        repositories=[job.repository for job in new_jobs],
        actions=[job.action for job in new_jobs],
        coalesce_keys=[job.coalesce_key for job in new_jobs],
        concurrency_groups=[job.concurrency_group for job in new_jobs],
        wake_keys=[job.wake_key for job in new_jobs],
        repository_uids=[job.repository_uid for job in new_jobs],
        group_limits=[job.group_limit for job in new_jobs],
        priorities=[job.priority for job in new_jobs],
        fairness_keys=[job.fairness_key for job in new_jobs],
        weights=[job.weight for job in new_jobs],
        with_items=[job.has_items for job in new_jobs],
        submitters=[orjson.dumps(dict(submission.submitted_by)).decode() for _, submission in submitted],
        traces=[submission.trace for _, submission in submitted],
    )
    notify_after_commit(connection, "job")
    try:
        rows = await connection.fetch(*query)
    except asyncpg.UniqueViolationError as error:
        names = ", ".join(job.name for job in new_jobs)
        raise AlreadyExists(f'{kind.key} "{names}" already exists', details={"group": kind.group, "kind": kind.plural}) from error
    stored_by_key = {_merge_key(row["namespace"], row["coalesce_key"], row["name"]): stored_job(row) for row in rows}
    wakeups = {row["wake_key"]: Wakeup(row["wake_key"], row["uid"]) for row in rows if row["is_new"]}
    stored_jobs = [stored_by_key[_merge_key(job.namespace, job.coalesce_key, job.name)] for job in new_jobs]
    return SubmissionResult(stored_jobs, [*wakeups.values()])


def _merge_key(namespace: str, coalesce_key: str | None, name: str) -> tuple[str, str]:
    """Return a key that is equal for jobs that are merged into one. A job without a coalesce key has a key of its own."""
    return namespace, coalesce_key or name


def is_incremental(job: NewJob | StoredJob) -> bool:
    """Return whether a sync examines only the files that changed since the last sync."""
    return bool(_sync_options(job).get("incremental"))


def rollback_commit(job: StoredJob) -> str:
    """Return the commit that a rollback restores, or an empty string for any other job."""
    return str(_sync_options(job).get("ref") or "")


def is_automatic(job: StoredJob) -> bool:
    """Return whether the job was submitted by the scheduler or a webhook instead of a user."""
    submitter = str(job.submitted_by.get("uid"))
    return submitter == SCHEDULER or submitter.startswith(WEBHOOK)


def is_scheduled(job: StoredJob) -> bool:
    """Return whether the job was submitted by the scheduler."""
    return str(job.submitted_by.get("uid")) == SCHEDULER


def _sync_options(job: NewJob | StoredJob) -> Mapping[str, Any]:
    """Return the options of a sync, empty for a job of any other action."""
    return orjson.loads(job.spec).get("sync") or {}


def _metadata(job: NewJob, uid: uuid.UUID) -> str:
    """Return the stored metadata of a new job, as JSON without resource version and generation."""
    metadata = {"name": job.name, "namespace": job.namespace, "uid": str(uid), "creationTimestamp": job.created, "labels": dict(job.labels)}
    return orjson.dumps({**metadata, "annotations": dict(job.annotations)} if job.annotations else metadata).decode()


async def get(connection: Connection, kind: Kind, namespace: str, name: str) -> StoredJob:
    """Return a job in any state. Raises NotFound if it does not exist or has been trimmed."""
    row = await connection.fetchrow(_sql.get, namespace, kind.group, kind.plural, name)
    if row is None:
        raise not_found(kind, name)
    return stored_job(row)


async def get_many(connection: Connection, uids: Sequence[uuid.UUID]) -> Sequence[StoredJob]:
    """Return the jobs that exist, in the order of ``uids``."""
    rows = {row["uid"]: row for row in await connection.fetch(_sql.get_many, list(uids))}
    return [stored_job(rows[uid]) for uid in uids if uid in rows]


async def list_page(connection: Connection, kind: Kind, namespace: str, *, after: str, limit: int) -> JobPage:
    """Return a page of jobs ordered by name, from one snapshot."""
    position = await changes.visible_version(connection, StreamName.JOBS, namespace)
    # One row more than the page shows whether another page follows.
    rows = await connection.fetch(_sql.list_page, namespace, kind.group, kind.plural, after, limit + 1)
    items = [stored_job(row) for row in rows[:limit]]
    if len(rows) <= limit:
        return JobPage(items, position, None, 0)
    remaining = await connection.fetchval(_sql.count_after, namespace, kind.group, kind.plural, items[-1].name)
    return JobPage(items, position, items[-1].name, remaining)


async def lock(connection: Connection, namespace: str, *further_namespaces: str) -> None:
    """Take the lock of jobs: the caller's transaction is the only writer of jobs in these namespaces until it ends.

    A transaction that also writes objects must lock those first. Name all namespaces in one call, which avoids deadlocks.
    """
    await connection.execute(_sql.lock, [namespace, *further_namespaces])
    notify_after_commit(connection, "job")


async def cancel(connection: Connection, kind: Kind, namespace: str, name: str, *, now: int) -> StoredJob:
    """Cancel an unfinished job, or delete a finished one. Return the job as it was.

    ``now`` is in Unix milliseconds. Raises NotFound if the job does not exist.
    """
    await lock(connection, namespace)
    job = await get(connection, kind, namespace, name)
    if job.state in ("success", "error"):
        await connection.execute(_sql.delete, job.uid)
        return job
    status = orjson.loads(job.status) | {
        "state": "error",
        "finished": now,
        "message": job_messages.CANCELLED,
        "errors": [job_messages.CANCELLED],
    }
    await connection.execute(_sql.cancel, job.uid, orjson.dumps(status).decode())
    # Without its lease, the worker can write nothing more for the job.
    await connection.execute(_sql.end_lease, job.uid)
    notify_after_commit(connection, CANCELLATIONS)
    return job


async def cancel_many(connection: Connection, uids: Sequence[uuid.UUID], *, status: bytes) -> Sequence[StoredJob]:
    """Change unfinished jobs to error, and return them. Call this under the lock of jobs."""
    rows = await connection.fetch(_sql.cancel_many, list(uids), status.decode())
    await connection.execute(_sql.end_leases, [row["uid"] for row in rows])
    notify_after_commit(connection, CANCELLATIONS)
    return [stored_job(row) for row in rows]


async def delete_ended(connection: Connection, uids: Sequence[uuid.UUID]) -> None:
    """Delete ended jobs, with the results of evaluations. Call this under the lock of jobs."""
    await connection.execute(_sql.delete_ended, list(uids))


async def end_all(connection: Connection, kind: Kind, namespace: str, repository: str, *, status: bytes) -> int:
    """Take the lock of jobs, change all unfinished jobs of a repository to error, and return their number."""
    await lock(connection, namespace)
    rows = await connection.fetch(_sql.end_all, namespace, repository, kind.plural, status.decode())
    await connection.execute(_sql.end_leases, [row["uid"] for row in rows])
    notify_after_commit(connection, CANCELLATIONS)
    return len(rows)


async def delete_of_repository(connection: Connection, namespace: str, repository: str) -> None:
    """Delete all jobs of a repository, with their leases, so that workers can write nothing more. Call this in a transaction."""
    await lock(connection, namespace)
    await connection.execute(_sql.delete_of_repository, namespace, repository, JOB.plural)
    notify_after_commit(connection, "job")


async def delete_namespace(connection: Connection, namespace: str) -> None:
    """Delete all jobs of a namespace, with their leases, so that workers can write nothing more. Call this under the lock of jobs."""
    await connection.execute(_sql.delete_namespace, namespace)
    await job_queues.delete_namespace(connection, namespace)
    await accepted_messages.delete_namespace(connection, namespace)
    await evaluations.delete_namespace(connection, namespace)


async def list_recent(connection: Connection, repository: StoredObject, *, limit: int) -> Sequence[StoredJob]:
    """Return the newest jobs of a repository. Jobs of a deleted repository with the same name are excluded."""
    return [
        stored_job(row) for row in await connection.fetch(_sql.list_recent, repository.namespace, repository.name, repository.uid, limit)
    ]


async def get_of_repository(connection: Connection, repository: StoredObject, uid: uuid.UUID) -> StoredJob:
    """Return a job of a repository. Raises NotFound if it does not exist or has been trimmed."""
    row = await connection.fetchrow(_sql.get_of_repository, repository.uid, uid)
    if row is None:
        raise not_found(JOB, str(uid))
    return stored_job(row)


async def is_other_sync_running(connection: Connection, job: StoredJob) -> bool:
    """Return whether another sync of the same repository is running."""
    return bool(await connection.fetchval(_sql.is_other_sync_running, job.namespace, job.repository, job.uid))


async def count_waiting(connection: Connection, submitter: str) -> int:
    """Return the number of pending jobs of a submitter, given by uid. Postponed jobs are not counted."""
    job_count: int = await connection.fetchval(_sql.count_waiting, submitter)
    return job_count


async def trim(connection: Connection, *, keep: int, orphan_retention: timedelta, limit: int) -> int:
    """Delete at most ``limit`` finished jobs of repositories, and return their number. Call this in a transaction.

    The ``keep`` newest jobs of each repository and action remain. Those of a deleted repository also expire ``orphan_retention`` after
    their end.
    """
    parameters: dict[str, Any] = {
        "keep": keep,
        "orphan_retention": orphan_retention,
        "limit": limit,
        "api_group": JOB.group,
        "resource": JOB.plural,
    }
    await connection.execute(*_sql.bind("lock_surplus", **parameters))
    notify_after_commit(connection, "job")
    return len(await connection.fetch(*_sql.bind("trim", **parameters)))


async def count(connection: Connection, kind: Kind, namespace: str) -> int:
    """Return the number of jobs of a kind in a namespace, in any state."""
    return await connection.fetchval(_sql.count, namespace, kind.group, kind.plural) or 0
