"""Use cases on jobs: submitting and cancelling. Submissions over HTTP and through the queue both use them."""

import asyncio
import secrets
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog

from dashwright.api.domain import submissions
from dashwright.api.domain.actor import Actor
from dashwright.api.evaluation_submissions import AcceptedConcurrently, EvaluationSubmissions, Idempotency
from dashwright.api.job_repositories import JobRepositories, JobRepository, check_specs
from dashwright.api.stores import audit
from dashwright.api.stores.audit import event_of, subject_of
from dashwright.api.workers.panel_validation import PanelValidationClient
from dashwright.api.workers.repository_health import RepositoryHealthClient
from dashwright.api.workers.sync_status import SyncStatusWriter
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import BadRequest, Cause
from dashwright.common.identity import Identity, org_of
from dashwright.common.jobs import job_messages, routing
from dashwright.common.jobs.routing import Wakeup
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.models.provisioning import JobSpec, JobStatus, RepositorySpec, State
from dashwright.common.observability import tracing
from dashwright.common.stores import accepted_messages, job_queues, jobs, resources, sync_status
from dashwright.common.stores.job_records import NORMAL_PRIORITY, NewJob, StoredJob, created_at, new_job
from dashwright.common.work.wakeups import WakeupPublisher

log = structlog.get_logger()

MAX_CANCELLED: Final = 1000
"""Maximum number of jobs that one request cancels."""

_PAGE_SIZE: Final = 500
"""Number of jobs that one query reads, to select those to cancel."""

_STATUS_TIMEOUT_SECONDS: Final = 1.0
"""Longest time for which a submission waits until the status of the repository contains the job."""


class Jobs:
    """Submission and cancellation of jobs.

    Workers are woken after the commit. They also look for jobs themselves, so a lost wake-up only delays a job.
    """

    def __init__(
        self,
        database: Database,
        wakeups: WakeupPublisher,
        health_client: RepositoryHealthClient,
        panel_validation: PanelValidationClient,
        clock: Clock,
        repositories: JobRepositories,
        sync_status_writer: SyncStatusWriter,
        *,
        max_evaluations: int,
        max_waiting_jobs: int,
    ) -> None:
        self._database = database
        self._wakeups = wakeups
        self._health_client = health_client
        self._panel_validation = panel_validation
        self._clock = clock
        self._repositories = repositories
        self._sync_status_writer = sync_status_writer
        self._max_waiting_jobs = max_waiting_jobs
        self._evaluations = EvaluationSubmissions(database, max_evaluations=max_evaluations, max_waiting_jobs=max_waiting_jobs)

    async def submit(
        self,
        actor: Actor,
        caller: Identity,
        namespace: str,
        specs: Sequence[JobSpec],
        *,
        metadata: submissions.Metadata = submissions.NO_METADATA,
        is_list: bool = False,
        priority: int = NORMAL_PRIORITY,
        idempotency: Idempotency | None = None,
        dry_run: bool = False,
    ) -> Sequence[StoredJob]:
        """Store jobs as pending, all or none, and return them in the order of ``specs``. A dry run stores nothing.

        ``metadata`` is for a single job. ``is_list`` is true if the request is a list of specs, even if the list has only one. Raises
        Invalid (for a list with causes ``[i].field``), NotFound for an unknown repository, Unhealthy if its probe failed, and
        TooManyWaitingJobs. Raises Forbidden for an export if the caller may not read the exported objects. An export to the synced branch
        also requires that the caller may change them.
        """
        repositories = await self._repositories.find(namespace, specs)
        check_specs(specs, repositories, is_list=is_list)
        for spec in specs:
            await self._repositories.require_export_permission(caller, namespace, repositories[spec.repository], spec)
        # The probe is the last check, since it may wait for the worker.
        await self._health_client.require_healthy(namespace, [repository.stored_object for repository in repositories.values()])
        new_jobs = [replace(_with_metadata(job, metadata), priority=priority) for job in self._new_jobs(namespace, specs, repositories)]
        submitted = await self._submit(actor, namespace, new_jobs, idempotency, dry_run=dry_run)
        if not dry_run:
            await self._sync_status_writer.write_queued(submitted, timeout=_STATUS_TIMEOUT_SECONDS)
        return submitted

    async def check_plan(self, namespace: str, specs: Sequence[JobSpec]) -> None:
        """Check the specs of syncs that will only be planned. Unlike in ``submit``, syncs of the repository may be disabled.

        Raises NotFound, Conflict for a repository that is being deleted, and Unhealthy.
        """
        repositories = await self._repositories.find(namespace, specs)
        check_specs(specs, repositories, is_list=False, is_plan=True)
        await self._health_client.require_healthy(namespace, [repository.stored_object for repository in repositories.values()])

    async def submit_from_webhook(
        self, actor: Actor, repository: resources.StoredObject, spec: JobSpec, idempotency: Idempotency, *, dry_run: bool = False
    ) -> None:
        """Store a job for a webhook of a git host as pending, without a check of the repository's health.

        A dry run stores nothing. Raises Conflict for a repository that is being deleted, and Invalid if it does not accept the action.
        """
        repositories = {repository.name: JobRepository(repository, RepositorySpec.model_validate_json(repository.spec))}
        check_specs([spec], repositories, is_list=False)
        new_jobs = self._new_jobs(repository.namespace, [spec], repositories)
        submitted = await self._submit(actor, repository.namespace, new_jobs, idempotency, dry_run=dry_run)
        if not dry_run:
            await self._sync_status_writer.write_queued(submitted, timeout=0)  # Git hosts wait a few seconds only.

    def _new_jobs(self, namespace: str, specs: Sequence[JobSpec], repositories: Mapping[str, JobRepository]) -> Sequence[NewJob]:
        """Return a job to store for each spec. ``repositories`` has all repositories that the specs name."""
        now = self._clock.now()
        new_jobs: list[NewJob] = []
        for spec in specs:
            repository = repositories[spec.repository]
            new_jobs.append(new_job(namespace, spec, uid=repository.stored_object.uid, repository_type=repository.spec.type, now=now))
        return new_jobs

    async def submit_evaluation(
        self,
        actor: Actor,
        namespace: str,
        submission: submissions.EvaluationSubmission,
        *,
        priority: int = NORMAL_PRIORITY,
        idempotency: Idempotency | None = None,
        dry_run: bool = False,
    ) -> Sequence[StoredJob]:
        """Store an evaluation as pending and return it. A dry run stores nothing.

        Raises Invalid for a panel that cannot be evaluated, AlreadyExists for a name in use, Forbidden if the organization has as many
        evaluations as it may keep, and TooManyWaitingJobs.
        """
        await self._panel_validation.check(org_of(namespace) or 0, submission)
        job = NewJob(
            name=submission.metadata.name or f"evaluation-{secrets.token_hex(8)}",
            namespace=namespace,
            spec=submission.spec.model_dump_json(by_alias=True, exclude_none=True),
            repository=None,
            action=routing.EVALUATE,
            labels=submission.metadata.labels,
            annotations=submission.metadata.annotations,
            created=created_at(self._clock.now()),
            # Equal evaluations are not merged, and any number of them may run concurrently: each has a result of its own.
            coalesce_key=None,
            concurrency_group=None,
            wake_key=routing.EVALUATE,
            priority=priority,
        )
        try:
            stored_job, wakeups = await self._evaluations.submit(actor, job, idempotency, dry_run=dry_run)
        except AcceptedConcurrently:
            return await self._jobs_of_first_delivery(actor, namespace, idempotency)
        if not dry_run:
            await self._announce([stored_job], wakeups)
        return [stored_job]

    async def _submit(
        self,
        actor: Actor,
        namespace: str,
        new_jobs: Sequence[NewJob],
        idempotency: Idempotency | None,
        *,
        dry_run: bool,
    ) -> Sequence[StoredJob]:
        """Store jobs and wake the workers, or return the jobs of an earlier delivery of the same message."""
        try:
            async with self._database.transaction(dry_run=dry_run) as connection:
                submitted = await self._record(connection, actor, namespace, new_jobs, idempotency)
        except AcceptedConcurrently:
            return await self._jobs_of_first_delivery(actor, namespace, idempotency)
        if not dry_run:
            await self._announce(submitted.jobs, submitted.wakeups)
        return submitted.jobs

    async def _jobs_of_first_delivery(self, actor: Actor, namespace: str, idempotency: Idempotency | None) -> Sequence[StoredJob]:
        """Return the jobs of the delivery that was accepted first. It is committed: the transaction of this delivery waited for it."""
        assert idempotency is not None
        return await self.find_accepted(actor, namespace, idempotency) or []

    async def _announce(self, submitted: Sequence[StoredJob], wakeups: Sequence[Wakeup]) -> None:
        """Wake the workers, and log the jobs."""
        self._wakeups.publish_soon(wakeups)
        await asyncio.sleep(0)  # Publishes the wake-ups before the response is encoded, so that the worker starts earlier.
        for job in submitted:
            log.info("job_submitted", job=job.name, repository=job.repository, action=job.action)

    async def _record(
        self,
        connection: Connection,
        actor: Actor,
        namespace: str,
        new_jobs: Sequence[NewJob],
        idempotency: Idempotency | None,
    ) -> jobs.SubmissionResult:
        """Store jobs with their audit events and the id of their message. Raises TooManyWaitingJobs and AcceptedConcurrently."""
        context = tracing.current()
        trace = context.header if context is not None else None
        submitted_by = {"uid": actor.uid, "login": actor.login}
        submitted = await jobs.submit(connection, JOB, new_jobs, submitted_by=submitted_by, trace=trace)
        # The limit is checked after the insertion, because a job that is merged into a pending one does not count.
        if submitted.wakeups:
            await job_queues.require_capacity(connection, namespace, added=0, limit=self._max_waiting_jobs)
        if idempotency is not None:
            uids = [job.uid for job in submitted.jobs]
            message_id, body_hash = idempotency.message_id, idempotency.body_hash
            is_first_delivery = await accepted_messages.record(connection, namespace, actor.uid, message_id, body_hash, uids)
            if not is_first_delivery:
                raise AcceptedConcurrently
        await audit.record_all(connection, _audit_events(actor, submitted.jobs))
        return submitted

    async def find_accepted(self, actor: Actor, namespace: str, idempotency: Idempotency) -> Sequence[StoredJob] | None:
        """Return the jobs of an earlier delivery of the message, or None. Raises Invalid if the earlier delivery had another body."""
        async with self._database.connection() as connection:
            earlier = await accepted_messages.find(connection, namespace, actor.uid, idempotency.message_id)
            if earlier is None:
                return None
            body_hash, uids = earlier
            if body_hash != idempotency.body_hash:
                message = "the message_id was used before with another body; give every submission an id of its own"
                raise submissions.invalid_error([Cause("message_id", "FieldValueDuplicate", message)])
            return await jobs.get_many(connection, uids)

    async def cancel(
        self, actor: Actor, kind: Kind, namespace: str, name: str, check: Callable[[StoredJob], None], *, dry_run: bool = False
    ) -> uuid.UUID:
        """Cancel a job, and return its uid.

        A pending or running job ends with the state ``error``; a finished one is deleted from the history. Raises NotFound. ``check`` may
        raise an error if the job is not the requested one, which rolls the transaction back.
        """
        async with self._database.transaction(dry_run=dry_run) as connection:
            # Cancelling a job also writes the status of its repository. All transactions lock objects before jobs, against deadlocks.
            await resources.lock(connection, namespace)
            job = await self._cancel(connection, actor, kind, namespace, name)
            check(job)
        if not dry_run:
            # The next job of its concurrency group may be ready.
            self._wakeups.publish_soon([Wakeup(job.wake_key, job.uid)])
            log.info("job_cancelled", job=name)
        return job.uid

    async def cancel_many(
        self, actor: Actor, kind: Kind, namespace: str, is_selected: Callable[[StoredJob], bool], *, dry_run: bool = False
    ) -> int:
        """Cancel all jobs for which ``is_selected`` is true, or none of them, and return their number. Raises BadRequest for too many."""
        async with self._database.transaction(dry_run=dry_run) as connection:
            # Objects before jobs, as in ``cancel``. The lock of jobs keeps the selected ones unchanged until they are cancelled.
            await resources.lock(connection, namespace)
            await jobs.lock(connection, namespace)
            names = await _selected_names(connection, kind, namespace, is_selected)
            cancelled = [await self._cancel(connection, actor, kind, namespace, name) for name in names]
        if not dry_run:
            self._wakeups.publish_soon(Wakeup(job.wake_key, job.uid) for job in cancelled)
            log.info("jobs_cancelled", namespace=namespace, count=len(names))
        return len(names)

    async def _cancel(self, connection: Connection, actor: Actor, kind: Kind, namespace: str, name: str) -> StoredJob:
        """Cancel a job with an audit event, and return it as it was before. Raises NotFound."""
        now = self._clock.milliseconds()
        job = await jobs.cancel(connection, kind, namespace, name, now=now)
        if job.state in (State.PENDING, State.WORKING):
            final_status = JobStatus(state=State.ERROR, finished=now, message=job_messages.CANCELLED, errors=[job_messages.CANCELLED])
            await sync_status.update(connection, job, final_status)
        await audit.record(connection, actor, event_of(kind, "delete"), subject_of(kind, name), org_id=actor.org_id)
        return job

    async def by_uid(self, namespace: str, repository: str, uid: uuid.UUID) -> StoredJob:
        """Return a pending, running or finished job of a repository. Raises NotFound for an unknown job or repository."""
        async with self._database.connection() as connection:
            stored_repository = await resources.get(connection, REPOSITORY, namespace, repository)
            return await jobs.get_of_repository(connection, stored_repository, uid)

    async def list_recent(self, namespace: str, repository: str, *, limit: int) -> Sequence[StoredJob]:
        """Return up to ``limit`` jobs of a repository, the newest first. Raises NotFound for an unknown repository."""
        async with self._database.connection() as connection:
            stored_repository = await resources.get(connection, REPOSITORY, namespace, repository)
            return await jobs.list_recent(connection, stored_repository, limit=limit)


async def _selected_names(connection: Connection, kind: Kind, namespace: str, is_selected: Callable[[StoredJob], bool]) -> list[str]:
    """Return the names of the selected jobs. Raises BadRequest for more than ``MAX_CANCELLED``."""
    names: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await jobs.list_page(connection, kind, namespace, after=after, limit=_PAGE_SIZE)
        names += [job.name for job in page.items if is_selected(job)]
        after = page.after
        if len(names) > MAX_CANCELLED:
            raise BadRequest(f"more than {MAX_CANCELLED} {kind.plural} are selected, which is the limit of one request; select fewer")
    return names


def _audit_events(actor: Actor, submitted: Sequence[StoredJob]) -> Sequence[audit.Event]:
    """Return one audit event for each job. A job that was pending before gets one, too, since it was requested again."""
    action, distinct = event_of(JOB, "create"), {job.name: job for job in submitted}
    return [
        audit.Event(actor, action, subject_of(JOB, name), status=202, details=_audit_details(job), org_id=actor.org_id)
        for name, job in distinct.items()
    ]


def _with_metadata(job: NewJob, metadata: submissions.Metadata) -> NewJob:
    """Return the job with its submitter's metadata. Labels of the server, which name the repository, have precedence."""
    labels = {**metadata.labels, **job.labels}
    return replace(job, name=metadata.name or job.name, labels=labels, annotations=metadata.annotations)


def _audit_details(job: StoredJob) -> Mapping[str, str]:
    return {} if job.repository is None else {"repository": job.repository, "action": job.action}
