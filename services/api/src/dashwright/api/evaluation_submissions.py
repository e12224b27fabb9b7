"""Storage of submitted evaluations. Evaluations that arrive during a commit are stored together in the next transaction."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit
from dashwright.api.stores.audit import event_of, subject_of
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Cause, DashwrightError, Forbidden
from dashwright.common.group_commit import GroupCommit
from dashwright.common.jobs.routing import Wakeup
from dashwright.common.kinds.registry import EVALUATION
from dashwright.common.observability import tracing
from dashwright.common.stores import accepted_messages, job_queues, jobs
from dashwright.common.stores.accepted_messages import NewMessage
from dashwright.common.stores.job_queues import TooManyWaitingJobs
from dashwright.common.stores.job_records import NewJob, StoredJob
from dashwright.common.stores.jobs import Submission

#: Maximum number of evaluations that one transaction stores.
_MAX_GROUP: Final = 200


class AcceptedConcurrently(Exception):
    """Another delivery of the same message was accepted first. Nothing of this delivery is stored."""


@dataclass(frozen=True, slots=True)
class Idempotency:
    """The id and the body hash of a submission, which show whether it was delivered before."""

    message_id: str
    body_hash: bytes  #: SHA-256 of the body. The same id with another body is refused.


@dataclass(frozen=True, slots=True)
class _Submitted:
    """An evaluation to store."""

    actor: Actor
    job: NewJob
    idempotency: Idempotency | None  #: None for a submission without message id.
    trace: str | None  #: W3C traceparent.


#: The stored evaluation with the wake-ups to publish, or the error with which it is refused.
_Result = tuple[StoredJob, Sequence[Wakeup]] | Exception


class EvaluationSubmissions:
    """Store of submitted evaluations.

    A namespace may have ``max_evaluations`` evaluations, and ``max_waiting_jobs`` jobs and evaluations that wait for a worker.
    """

    def __init__(self, database: Database, *, max_evaluations: int, max_waiting_jobs: int) -> None:
        self._database = database
        self._max_evaluations = max_evaluations
        self._max_waiting_jobs = max_waiting_jobs
        self._group = GroupCommit(self._commit, max_items=_MAX_GROUP)

    async def submit(
        self, actor: Actor, job: NewJob, idempotency: Idempotency | None, *, dry_run: bool
    ) -> tuple[StoredJob, Sequence[Wakeup]]:
        """Store an evaluation as pending, and return it with the wake-ups to publish. A dry run stores nothing.

        Raises AlreadyExists for a name in use, Forbidden and TooManyWaitingJobs if a limit is reached, and AcceptedConcurrently.
        """
        context = tracing.current()
        submitted = _Submitted(actor, job, idempotency, context.header if context is not None else None)
        if dry_run:
            refusals = await self._refusals([submitted])
            if job.namespace in refusals:
                raise refusals[job.namespace]
            return (await self._store([submitted], dry_run=True))[0]
        stored = await self._group.add(submitted)
        if isinstance(stored, Exception):
            raise stored
        return stored

    async def _commit(self, group: Sequence[_Submitted]) -> Sequence[_Result]:
        """Store a group, and return a result for each evaluation.

        Evaluations of namespaces with too many waiting jobs are left out first, so that all others are stored in one transaction.
        """
        refusals = await self._refusals(group)
        # The results of the evaluations that are not refused, in the order of the group.
        stored = iter(await self._store_group([submitted for submitted in group if submitted.job.namespace not in refusals]))
        return [refusals.get(submitted.job.namespace) or next(stored) for submitted in group]

    async def _refusals(self, group: Sequence[_Submitted]) -> Mapping[str, TooManyWaitingJobs]:
        """Return an error for each namespace that would have too many waiting jobs, by namespace."""
        async with self._database.connection() as connection:
            added = Counter(submitted.job.namespace for submitted in group)
            return await job_queues.capacity_errors(connection, added, limit=self._max_waiting_jobs)

    async def _store_group(self, group: Sequence[_Submitted]) -> Sequence[_Result]:
        """Store a group in one transaction. If an evaluation cannot be stored, store each in a transaction of its own."""
        if not group:
            return []
        names = {(submitted.job.namespace, submitted.job.name) for submitted in group}
        # Two evaluations with the same name cannot be stored together: the second one must fail alone.
        if len(names) == len(group):
            try:
                return await self._store(group)
            except (DashwrightError, AcceptedConcurrently) as error:
                # A retryable error concerns the database, so single transactions would fail, too.
                if len(group) == 1 or (isinstance(error, DashwrightError) and error.retryable):
                    return [error] * len(group)
        results: list[_Result] = []
        for submitted in group:
            try:
                results += await self._store([submitted])
            except (DashwrightError, AcceptedConcurrently) as error:
                results.append(error)
        return results

    async def _store(self, group: Sequence[_Submitted], *, dry_run: bool = False) -> Sequence[tuple[StoredJob, Sequence[Wakeup]]]:
        """Store a group in one transaction, and return each evaluation with the wake-ups to publish. Raises the errors of ``submit``."""
        actors = [{"uid": submitted.actor.uid, "login": submitted.actor.login} for submitted in group]
        submissions = [Submission([submitted.job], actor, submitted.trace) for submitted, actor in zip(group, actors, strict=True)]
        async with self._database.transaction(dry_run=dry_run) as connection:
            result = await jobs.submit_all(connection, EVALUATION, submissions)
            for namespace in {submitted.job.namespace for submitted in group}:
                await self._check_limit(connection, namespace)
            await self._record_messages(connection, group, result.jobs)
            await audit.record_all(connection, [_audit_event(submitted) for submitted in group])
        # The result has the wake-ups of the whole group. Only the first submitter gets them, so that they are published once.
        return [(job, result.wakeups if index == 0 else ()) for index, job in enumerate(result.jobs)]

    async def _check_limit(self, connection: Connection, namespace: str) -> None:
        """Raise Forbidden if a namespace has too many evaluations. Call this after the insertion, which takes a lock."""
        if await jobs.count(connection, EVALUATION, namespace) > self._max_evaluations:
            message = (
                f"the organization keeps {self._max_evaluations} evaluations already, the most there may be "
                "(DASHWRIGHT_EVALUATIONS_KEPT); delete those whose results you have read, or wait until some expire"
            )
            raise Forbidden(message, causes=[Cause("quota.evaluations", "QuotaReached", f"limit {self._max_evaluations}")])

    async def _record_messages(self, connection: Connection, group: Sequence[_Submitted], stored: Sequence[StoredJob]) -> None:
        """Record the ids of the messages that are accepted. Raises AcceptedConcurrently if one of them was recorded before."""
        messages = [
            NewMessage(job.namespace, submitted.actor.uid, submitted.idempotency.message_id, submitted.idempotency.body_hash, job.uid)
            for submitted, job in zip(group, stored, strict=True)
            if submitted.idempotency is not None
        ]
        if messages and not await accepted_messages.record_all(connection, messages):
            raise AcceptedConcurrently


def _audit_event(submitted: _Submitted) -> audit.Event:
    actor, subject = submitted.actor, subject_of(EVALUATION, submitted.job.name)
    return audit.Event(actor, event_of(EVALUATION, "create"), subject, status=202, org_id=actor.org_id)
