"""Use cases on jobs: submitting and cancelling. Submissions over HTTP and through the queue both use them."""

import asyncio
import secrets
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

import orjson
import structlog

from dashwright.api.domain import submissions
from dashwright.api.domain.access.view import View
from dashwright.api.domain.actor import Actor
from dashwright.api.domain.events import event_of, subject_of
from dashwright.api.domain.exports import demand_export
from dashwright.api.stores import audit
from dashwright.api.workers.panel_validation import PanelValidationClient
from dashwright.api.workers.queued_syncs import QueuedSyncs
from dashwright.api.workers.repository_health import RepositoryHealthClient
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.database.trial import trial
from dashwright.common.errors import BadRequest, Cause, Conflict, Forbidden
from dashwright.common.identity import Identity, org_of
from dashwright.common.job_actions import ACTIONS
from dashwright.common.jobs import job_messages, routing
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import EVALUATION, FOLDER, JOB, REPOSITORY
from dashwright.common.models.provisioning import Action, ExportJobOptions, JobSpec, JobStatus, RepositorySpec, State
from dashwright.common.observability import tracing
from dashwright.common.relay import Relay
from dashwright.common.stores import accepted, jobs, mirror, resources
from dashwright.common.stores.job_records import NewJob, StoredJob
from dashwright.common.stores.outbox import Wakeup
from dashwright.common.work.new_jobs import created_at, new_job

log = structlog.get_logger()

MOST_CANCELLED: Final = 1000
"""Jobs that one request may cancel."""

_PAGE: Final = 500

_STATUS_SECONDS: Final = 1.0
"""Seconds that a submitter waits for the job to be in the repository's status."""


@dataclass(frozen=True, slots=True)
class Idempotency:
    """The identity of a message, by which a second delivery is recognized."""

    message_id: str
    body_hash: bytes  #: SHA-256 of the body. The same id with another body is refused.


@dataclass(frozen=True, slots=True)
class _Repository:
    stored: resources.StoredObject
    spec: RepositorySpec


class Views(Protocol):
    """Views of callers on objects in folders."""

    async def view_on(self, identity: Identity, namespace: str, folder: str | None) -> View:
        """Return the caller's view for an object in ``folder`` (None: at the root). Raises Unavailable."""
        ...


class _AcceptedConcurrently(Exception):
    """Another delivery of the same message was accepted first; the transaction of this one is rolled back."""


class Jobs:
    """Submission and cancellation of jobs.

    The job and its wake-up are stored in one transaction. The wake-up is published after the commit, so that no worker is woken for a
    job that does not exist, and no stored job is left without one.
    """

    def __init__(
        self,
        database: Database,
        relay: Relay,
        probe: RepositoryHealthClient,
        panels: PanelValidationClient,
        clock: Clock,
        views: Views,
        queued: QueuedSyncs,
        *,
        evaluations_kept: int,
    ) -> None:
        self._database = database
        self._relay = relay
        self._probe = probe
        self._panels = panels
        self._clock = clock
        self._views = views
        self._queued = queued
        self._evaluations_kept = evaluations_kept

    async def submit(
        self,
        actor: Actor,
        caller: Identity,
        namespace: str,
        specs: Sequence[JobSpec],
        *,
        metadata: submissions.Metadata = submissions.NO_METADATA,
        is_list: bool = False,
        once: Idempotency | None = None,
        dry_run: bool = False,
    ) -> Sequence[StoredJob]:
        """Store jobs as pending, all or none, and return them in the order of ``specs``. A dry run stores nothing.

        ``metadata`` is that of a single job. Raises Invalid (for a list with causes ``[i].field``), NotFound for an unknown repository,
        Unhealthy if its probe failed, and Forbidden for an export that the caller may not read, or write where that is needed.
        """
        repositories = await self._repositories(namespace, specs)
        _check(specs, repositories, is_list=is_list)
        for spec in specs:
            if spec.export is not None and spec.action is Action.EXPORT:
                await self._demand_export(caller, namespace, repositories[spec.repository], spec.export)
        # Last of the checks, since it may wait for the worker.
        await self._probe.require_healthy(namespace, [repository.stored for repository in repositories.values()])
        wanted = [_with_metadata(job, metadata) for job in self._wanted(namespace, specs, repositories)]
        submitted = await self._submit(actor, namespace, JOB, wanted, once, dry_run=dry_run)
        if not dry_run:
            await self._queued.show(submitted, timeout=_STATUS_SECONDS)
        return submitted

    async def check_plan(self, namespace: str, specs: Sequence[JobSpec]) -> None:
        """Check syncs as ``submit`` does, except that they need not be enabled: a plan is useful before that.

        Raises NotFound, Conflict for a repository that is being deleted, and Unhealthy.
        """
        repositories = await self._repositories(namespace, specs)
        _check(specs, repositories, is_list=False, is_plan=True)
        await self._probe.require_healthy(namespace, [repository.stored for repository in repositories.values()])

    async def submit_delivered(
        self, actor: Actor, repository: resources.StoredObject, spec: JobSpec, once: Idempotency, *, dry_run: bool = False
    ) -> None:
        """Store the job for a git host's delivery as pending, without a check of the repository's health. A dry run stores nothing.

        Raises Conflict for a repository that is being deleted, and Invalid if it does not accept such jobs.
        """
        repositories = {repository.name: _Repository(repository, RepositorySpec.model_validate_json(repository.spec))}
        _check([spec], repositories, is_list=False)
        wanted = self._wanted(repository.namespace, [spec], repositories)
        submitted = await self._submit(actor, repository.namespace, JOB, wanted, once, dry_run=dry_run)
        if not dry_run:
            await self._queued.show(submitted, timeout=0)  # Git hosts wait a few seconds only.

    def _wanted(self, namespace: str, specs: Sequence[JobSpec], repositories: Mapping[str, _Repository]) -> Sequence[NewJob]:
        now, known = self._clock.now(), [repositories[spec.repository] for spec in specs]
        return [
            new_job(namespace, spec, uid=repository.stored.uid, kind=repository.spec.type, now=now)
            for spec, repository in zip(specs, known, strict=True)
        ]

    async def evaluate(
        self,
        actor: Actor,
        namespace: str,
        wanted: submissions.EvaluationSubmission,
        *,
        once: Idempotency | None = None,
        dry_run: bool = False,
    ) -> Sequence[StoredJob]:
        """Store an evaluation as pending and return it. A dry run stores nothing.

        Raises Invalid for a panel that cannot be evaluated, AlreadyExists for a name in use, and Forbidden if the organization has
        as many evaluations as it may keep.
        """
        await self._panels.check(org_of(namespace) or 0, wanted)
        job = NewJob(
            name=wanted.metadata.name or f"evaluation-{secrets.token_hex(8)}",
            namespace=namespace,
            spec=wanted.spec.model_dump_json(by_alias=True, exclude_none=True),
            repository=None,
            action=routing.EVALUATE,
            labels=wanted.metadata.labels,
            annotations=wanted.metadata.annotations,
            created=created_at(self._clock.now()),
            coalesce_key=None,
            concurrency_group=None,
            wake_key=routing.EVALUATE,
        )
        return await self._submit(actor, namespace, EVALUATION, [job], once, dry_run=dry_run)

    async def _demand_export(self, caller: Identity, namespace: str, repository: _Repository, options: ExportJobOptions) -> None:
        above = None
        if options.folder:
            async with self._database.connection() as connection:
                above = (await resources.get(connection, FOLDER, namespace, options.folder)).folder
        view = await self._views.view_on(caller, namespace, options.folder)
        demand_export(view, repository.spec, options, repository=repository.stored.name, above=above, login=caller.login)

    async def _submit(
        self,
        actor: Actor,
        namespace: str,
        kind: Kind,
        wanted: Sequence[NewJob],
        once: Idempotency | None,
        *,
        dry_run: bool,
    ) -> Sequence[StoredJob]:
        try:
            async with self._database.connection() as connection, trial(connection, dry_run=dry_run):
                submitted = await self._record(connection, actor, namespace, kind, wanted, once)
        except _AcceptedConcurrently:
            assert once is not None
            # The other delivery has committed: recording this one waited for its transaction.
            return await self.accepted_before(actor, namespace, once) or []
        if dry_run:
            return submitted.jobs
        self._relay.publish_soon(submitted.wakeups)
        await asyncio.sleep(0)  # Publishes the wake-ups before the response is encoded, so that the worker starts earlier.
        for job in submitted.jobs:
            log.info("job_submitted", job=job.name, repository=job.repository, action=job.action)
        return submitted.jobs

    async def _record(
        self,
        connection: Connection,
        actor: Actor,
        namespace: str,
        kind: Kind,
        wanted: Sequence[NewJob],
        once: Idempotency | None,
    ) -> jobs.SubmissionResult:
        trace = tracing.current()
        headers = {tracing.HEADER: trace.header} if trace is not None else {}
        submitted_by = {"uid": actor.uid, "login": actor.login}
        submitted = await jobs.submit(connection, kind, wanted, submitted_by=submitted_by, headers=headers)
        if kind is EVALUATION:
            await self._check_kept(connection, namespace)
        if once is not None:
            uids = [job.uid for job in submitted.jobs]
            if not await accepted.record(connection, namespace, actor.uid, once.message_id, once.body_hash, uids):
                raise _AcceptedConcurrently
        await audit.record_all(connection, _events(actor, kind, submitted.jobs))
        return submitted

    async def _check_kept(self, connection: Connection, namespace: str) -> None:
        """Raise Forbidden if a namespace has more evaluations than may be kept. Call it after their insertion, which locks."""
        if await jobs.count(connection, EVALUATION, namespace) > self._evaluations_kept:
            text = (
                f"the organization keeps {self._evaluations_kept} evaluations already, the most there may be "
                "(DASHWRIGHT_EVALUATIONS_KEPT); delete those whose results you have read, or wait until some expire"
            )
            raise Forbidden(text, causes=[Cause("quota.evaluations", "QuotaReached", f"limit {self._evaluations_kept}")])

    async def accepted_before(self, actor: Actor, namespace: str, once: Idempotency) -> Sequence[StoredJob] | None:
        """Return the jobs of an earlier delivery of the message, or None. Raises Invalid if that one had another body."""
        async with self._database.connection() as connection:
            before = await accepted.find(connection, namespace, actor.uid, once.message_id)
            if before is None:
                return None
            body_hash, uids = before
            if body_hash != once.body_hash:
                text = "the message_id was used before with another body; give every submission an id of its own"
                raise submissions.invalid([Cause("message_id", "FieldValueDuplicate", text)])
            return await jobs.get_many(connection, uids)

    async def cancel(
        self, actor: Actor, kind: Kind, namespace: str, name: str, check: Callable[[StoredJob], None], *, dry_run: bool = False
    ) -> uuid.UUID:
        """Cancel a job, and return its uid.

        A job in progress ends as ``error``; one that has ended is deleted from history. ``check`` raises if it is not the requested job,
        which rolls everything back. Raises NotFound.
        """
        async with self._database.connection() as connection, trial(connection, dry_run=dry_run):
            # Cancelling also writes the status of the repository; objects are always locked before jobs, against deadlocks.
            await resources.lock(connection)
            job, wakeups = await self._cancel(connection, actor, kind, namespace, name)
            check(job)
        if not dry_run:
            self._relay.publish_soon(wakeups)
            log.info("job_cancelled", job=name)
        return job.uid

    async def cancel_many(
        self, actor: Actor, kind: Kind, namespace: str, chosen: Callable[[StoredJob], bool], *, dry_run: bool = False
    ) -> int:
        """Cancel all ``chosen`` jobs, or none of them, as ``cancel`` does, and return their number. Raises BadRequest for too many."""
        wakeups: list[Wakeup] = []
        async with self._database.connection() as connection, trial(connection, dry_run=dry_run):
            await resources.lock(connection)
            await jobs.lock(connection)
            names = await _chosen(connection, kind, namespace, chosen)
            for name in names:
                wakeups += (await self._cancel(connection, actor, kind, namespace, name))[1]
        if not dry_run:
            self._relay.publish_soon(wakeups)
            log.info("jobs_cancelled", namespace=namespace, count=len(names))
        return len(names)

    async def _cancel(
        self, connection: Connection, actor: Actor, kind: Kind, namespace: str, name: str
    ) -> tuple[StoredJob, Sequence[Wakeup]]:
        now = self._clock.milliseconds()
        job, wakeups = await jobs.cancel(connection, kind, namespace, name, now=now)
        if job.state in (State.PENDING, State.WORKING):
            ended = JobStatus(state=State.ERROR, finished=now, message=job_messages.CANCELLED, errors=[job_messages.CANCELLED])
            await mirror.mirror(connection, job, ended)
        await audit.record(connection, actor, event_of(kind, "delete"), subject_of(kind, name), org_id=actor.org_id)
        return job, wakeups

    async def by_uid(self, namespace: str, repository: str, uid: uuid.UUID) -> StoredJob:
        """Return a job of a repository, also after it has ended. Raises NotFound for an unknown job or repository."""
        async with self._database.connection() as connection:
            return await jobs.get_of_repository(connection, await resources.get(connection, REPOSITORY, namespace, repository), uid)

    async def of_repository(self, namespace: str, repository: str, *, limit: int) -> Sequence[StoredJob]:
        """Return up to ``limit`` jobs of a repository, the newest first. Raises NotFound for an unknown repository."""
        async with self._database.connection() as connection:
            return await jobs.recent(connection, await resources.get(connection, REPOSITORY, namespace, repository), limit=limit)

    async def _repositories(self, namespace: str, specs: Sequence[JobSpec]) -> Mapping[str, _Repository]:
        names = list(dict.fromkeys(spec.repository for spec in specs))
        async with self._database.connection() as connection:
            found = await resources.get_many(connection, REPOSITORY, namespace, names)
        return {stored.name: _Repository(stored, RepositorySpec.model_validate_json(stored.spec)) for stored in found}


async def _chosen(connection: Connection, kind: Kind, namespace: str, chosen: Callable[[StoredJob], bool]) -> list[str]:
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await jobs.list_page(connection, kind, namespace, after=after, limit=_PAGE)
        found += [job.name for job in page.items if chosen(job)]
        after = page.after
        if len(found) > MOST_CANCELLED:
            raise BadRequest(
                f"more than {MOST_CANCELLED} {kind.plural} are selected, the most that one request removes; select fewer of them"
            )
    return found


def _events(actor: Actor, kind: Kind, submitted: Sequence[StoredJob]) -> Sequence[audit.Event]:
    """Return an audit event for each job, also for one that was pending already, since it was requested again."""
    action, distinct = event_of(kind, "create"), {job.name: job for job in submitted}
    return [
        audit.Event(actor, action, subject_of(kind, name), status=202, details=_audit_details(job), org_id=actor.org_id)
        for name, job in distinct.items()
    ]


def _with_metadata(job: NewJob, metadata: submissions.Metadata) -> NewJob:
    """Return the job with its submitter's metadata. Labels of the server, which name the repository, have precedence."""
    labels = {**metadata.labels, **job.labels}
    return replace(job, name=metadata.name or job.name, labels=labels, annotations=metadata.annotations)


def _audit_details(job: StoredJob) -> Mapping[str, str]:
    return {} if job.repository is None else {"repository": job.repository, "action": job.action}


def _check(specs: Sequence[JobSpec], repositories: Mapping[str, _Repository], *, is_list: bool, is_plan: bool = False) -> None:
    """Raise Invalid unless every spec names a repository that accepts its action; NotFound for a single spec without repository.

    A plan of a sync is allowed before syncs are enabled.
    """
    causes: list[Cause] = []
    for index, spec in enumerate(specs):
        prefix = f"[{index}]." if is_list else "spec."
        repository = repositories.get(spec.repository)
        if repository is None and not is_list:
            raise resources.not_found(REPOSITORY, spec.repository)
        if repository is None:
            text = f'Not found: "{spec.repository}": there is no such repository in this namespace'
            causes.append(Cause(f"{prefix}repository", "FieldValueNotFound", text))
        elif "deletionTimestamp" in orjson.loads(repository.stored.metadata):
            raise Conflict(f'cannot create jobs for a repository marked for deletion: "{spec.repository}"')
        elif not is_plan:
            causes += ACTIONS[spec.action].repository_causes(spec, repository.spec, prefix)
    if causes:
        raise submissions.invalid(causes)
