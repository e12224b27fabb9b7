"""Use cases with an effect on the queue: submitting and cancelling jobs. Both doors, HTTP and queue, come through here."""

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
"""Jobs that one request may end or drop."""

_PAGE: Final = 500

_SHOWN_SECONDS: Final = 1.0
"""How long a submitter waits for the repository's status to show the job."""


@dataclass(frozen=True, slots=True)
class Idempotency:
    """What makes a second delivery of one message the same submission."""

    message_id: str
    body_hash: bytes


@dataclass(frozen=True, slots=True)
class _Repository:
    stored: resources.StoredObject
    spec: RepositorySpec


class Views(Protocol):
    """What callers may do with objects in folders."""

    async def view_on(self, identity: Identity, namespace: str, folder: str | None) -> View:
        """Of somebody who asks for what lies in ``folder``. Raises Unavailable."""
        ...


class _AcceptedMeanwhile(Exception):
    """Another delivery of the same message was quicker; what this one wrote is rolled back."""


class Jobs:
    """Submits and cancels jobs. The row and the wish to publish are written together; publishing comes after."""

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
        """Record jobs as pending and return them in the order asked for; a dry run records nothing. ``metadata`` is that of a single one.

        All or none: Invalid (of a list, with causes ``[i].field``), NotFound for an unknown repository, Unhealthy for one that
        failed its probe, Forbidden for an export of what the caller may not read, or not write where that is needed.
        """
        repositories = await self._repositories(namespace, specs)
        _check(specs, repositories, is_list=is_list)
        for spec in specs:
            if spec.export is not None and spec.action is Action.EXPORT:
                await self._demand_export(caller, namespace, repositories[spec.repository], spec.export)
        await self._probe.require_healthy(namespace, [repository.stored for repository in repositories.values()])
        wanted = [_told_of(job, metadata) for job in self._wanted(namespace, specs, repositories)]
        submitted = await self._submit(actor, namespace, JOB, wanted, once, dry_run=dry_run)
        if not dry_run:
            await self._queued.show(submitted, patience=_SHOWN_SECONDS)
        return submitted

    async def check_plan(self, namespace: str, specs: Sequence[JobSpec]) -> None:
        """Check what ``submit`` does before it records syncs, except that they are enabled: a plan is for the time before that.

        Raises NotFound, Conflict for a repository that is being deleted, and Unhealthy.
        """
        repositories = await self._repositories(namespace, specs)
        _check(specs, repositories, is_list=False, is_plan=True)
        await self._probe.require_healthy(namespace, [repository.stored for repository in repositories.values()])

    async def submit_delivered(
        self, actor: Actor, repository: resources.StoredObject, spec: JobSpec, once: Idempotency, *, dry_run: bool = False
    ) -> None:
        """Record the job that a git host asks for as pending; a dry run records nothing. The repository's health is not checked.

        Raises Conflict for one that is being deleted, Invalid where it takes no such job.
        """
        repositories = {repository.name: _Repository(repository, RepositorySpec.model_validate_json(repository.spec))}
        _check([spec], repositories, is_list=False)
        wanted = self._wanted(repository.namespace, [spec], repositories)
        submitted = await self._submit(actor, repository.namespace, JOB, wanted, once, dry_run=dry_run)
        if not dry_run:
            await self._queued.show(submitted, patience=0)  # hosts wait for a few seconds only

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
        """Record an evaluation as pending; a dry run records nothing.

        Raises Invalid for a panel that cannot be evaluated, AlreadyExists when its name is taken, Forbidden where the organization keeps
        as many evaluations as it may.
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
        except _AcceptedMeanwhile:
            assert once is not None
            return await self.accepted_before(actor, namespace, once) or []
        if dry_run:
            return submitted.jobs
        self._relay.publish_soon(submitted.wakeups)
        await asyncio.sleep(0)  # the wake-ups leave before the answer is encoded: the worker starts that much sooner
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
                raise _AcceptedMeanwhile
        await audit.record_all(connection, _events(actor, kind, submitted.jobs))
        return submitted

    async def _check_kept(self, connection: Connection, namespace: str) -> None:
        """Raises Forbidden where a namespace has more evaluations than are kept; to be called behind their insertion, which locks."""
        if await jobs.count(connection, EVALUATION, namespace) > self._evaluations_kept:
            text = (
                f"the organization keeps {self._evaluations_kept} evaluations already, the most there may be "
                "(DASHWRIGHT_EVALUATIONS_KEPT); delete those whose results you have read, or wait until some expire"
            )
            raise Forbidden(text, causes=[Cause("quota.evaluations", "QuotaReached", f"limit {self._evaluations_kept}")])

    async def accepted_before(self, actor: Actor, namespace: str, once: Idempotency) -> Sequence[StoredJob] | None:
        """The jobs an earlier delivery of the message made; Invalid where that one had another body."""
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
        """Ends a job that has not ended, as ``error``; drops one that has from history. NotFound when there is none.

        ``check`` raises where it is not the job that is meant: then nothing is done.
        """
        async with self._database.connection() as connection, trial(connection, dry_run=dry_run):
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
        """The same with all jobs that are ``chosen``, or with none; answers how many. BadRequest where they are too many."""
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
        """A job of a repository, also after it has left the queue; NotFound when there is none, or no such repository."""
        async with self._database.connection() as connection:
            return await jobs.get_of_repository(connection, await resources.get(connection, REPOSITORY, namespace, repository), uid)

    async def of_repository(self, namespace: str, repository: str, *, limit: int) -> Sequence[StoredJob]:
        """Jobs of a repository, the newest first; NotFound when there is no such repository."""
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
                f"more than {MOST_CANCELLED} {kind.plural} are selected, the most that are removed at once; select fewer of them"
            )
    return found


def _events(actor: Actor, kind: Kind, submitted: Sequence[StoredJob]) -> Sequence[audit.Event]:
    """One for each job, also where it was pending already: somebody asked for it."""
    action, distinct = event_of(kind, "create"), {job.name: job for job in submitted}
    return [
        audit.Event(actor, action, subject_of(kind, name), status=202, details=_told(job), org_id=actor.org_id)
        for name, job in distinct.items()
    ]


def _told_of(job: NewJob, metadata: submissions.Metadata) -> NewJob:
    """Return the job with what its submitter says of it. The labels that name its repository are the server's own."""
    labels = {**metadata.labels, **job.labels}
    return replace(job, name=metadata.name or job.name, labels=labels, annotations=metadata.annotations)


def _told(job: StoredJob) -> Mapping[str, str]:
    return {} if job.repository is None else {"repository": job.repository, "action": job.action}


def _check(specs: Sequence[JobSpec], repositories: Mapping[str, _Repository], *, is_list: bool, is_plan: bool = False) -> None:
    """Raise Invalid unless every spec names a repository that takes its action; NotFound where a single one names none.

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
