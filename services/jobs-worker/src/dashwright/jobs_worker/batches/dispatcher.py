"""Submission of the items of a batch as jobs."""

import secrets
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pydantic import ValidationError

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection
from dashwright.common.jobs.routing import EVALUATE, Wakeup
from dashwright.common.kinds.registry import BATCH, EVALUATION, JOB, REPOSITORY
from dashwright.common.models.batch import BatchSpec
from dashwright.common.models.causes import causes_of, sentence
from dashwright.common.models.provisioning import JobSpec, JobStatus, RepositorySpec, State
from dashwright.common.stores import batches, jobs, resources
from dashwright.common.stores.batches import ReadyItem, StoredBatch
from dashwright.common.stores.job_records import NewJob, created_at, new_job
from dashwright.common.stores.resources import StoredObject

#: Label of a job with the name of its batch.
BATCH_LABEL: Final = f"{BATCH.group}/batch"

#: Characters of the name of a batch in the names of its evaluations.
_MAX_PREFIX_LENGTH: Final = 200


class BatchDispatcher:
    """Submitter of items as jobs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def dispatch(self, connection: Connection, batch: StoredBatch, spec: BatchSpec, items: Sequence[ReadyItem]) -> Sequence[Wakeup]:
        """Submit pending items, and return the wake-ups to publish after the transaction. Items that are invalid end with an error.

        Call this under the lock of jobs.
        """
        specs, faults = _parse_jobs(items)
        names = sorted({spec.repository for spec in specs.values()})
        repositories = {stored.name: stored for stored in await resources.get_many(connection, REPOSITORY, batch.namespace, names)}
        new_jobs = {item.index: self._evaluation(batch, spec, item) for item in items if item.kind == EVALUATION.kind}
        for index, job_spec in specs.items():
            if (repository := repositories.get(job_spec.repository)) is None:
                faults[index] = f'Not found: "{job_spec.repository}": there is no such repository in this namespace'
            else:
                new_jobs[index] = self._job(batch, job_spec, repository)
        submitted_jobs: dict[int, uuid.UUID] = {}
        wakeups: list[Wakeup] = []
        for kind in (JOB, EVALUATION):
            # In the order of the items, in which the jobs begin.
            indices = [item.index for item in items if item.kind == kind.kind and item.index in new_jobs]
            if indices:
                submission = [_with_batch_options(new_jobs[index], batch, spec) for index in indices]
                result = await jobs.submit(connection, kind, submission, submitted_by=batch.submitted_by or {}, trace=batch.trace)
                submitted_jobs |= {index: job.uid for index, job in zip(indices, result.jobs, strict=True)}
                wakeups += result.wakeups
        await batches.dispatch(connection, batch.uid, submitted_jobs)
        # Nothing reads the result of an earlier attempt.
        await jobs.delete_ended(connection, [item.job for item in items if item.kind == EVALUATION.kind and item.job is not None])
        now = self._clock.milliseconds()
        statuses = {
            index: JobStatus(state=State.ERROR, started=now, finished=now, message=fault, errors=[fault]).to_json().decode()
            for index, fault in faults.items()
        }
        await batches.refuse(connection, batch.uid, statuses)
        return wakeups

    def _evaluation(self, batch: StoredBatch, spec: BatchSpec, item: ReadyItem) -> NewJob:
        """Return the job of an item that is an evaluation, with a name that differs in each attempt."""
        return NewJob(
            name=f"{batch.name[:_MAX_PREFIX_LENGTH]}-{item.index}-{secrets.token_hex(4)}",
            namespace=batch.namespace,
            spec=item.spec,
            repository=None,
            action=EVALUATE,
            labels={},
            created=created_at(self._clock.now()),
            coalesce_key=None,
            # Other jobs have the concurrency group of their repository; the controller limits those.
            concurrency_group=None if spec.parallelism is None else f"batch/{batch.uid}",
            # Without a group, the limit has no effect.
            group_limit=spec.parallelism or 1,
            wake_key=EVALUATE,
        )

    def _job(self, batch: StoredBatch, spec: JobSpec, repository: StoredObject) -> NewJob:
        """Return the job of an item that is a job of a repository."""
        repository_type = RepositorySpec.model_validate_json(repository.spec).type
        return new_job(batch.namespace, spec, uid=repository.uid, repository_type=repository_type, now=self._clock.now())


def _with_batch_options(job: NewJob, batch: StoredBatch, spec: BatchSpec) -> NewJob:
    """Return the job with the label of its batch, and the batch's priority and share."""
    return replace(
        job,
        labels={**job.labels, BATCH_LABEL: batch.name},
        priority=spec.priority,
        fairness_key=batch.name if spec.fairness_key is None else spec.fairness_key,
        weight=spec.weight,
        has_items=True,
    )


def _parse_jobs(items: Sequence[ReadyItem]) -> tuple[dict[int, JobSpec], dict[int, str]]:
    """Return the specs of items that are jobs, and the faults of those that are invalid, both by index."""
    specs: dict[int, JobSpec] = {}
    faults: dict[int, str] = {}
    for item in items:
        if item.kind == JOB.kind:
            try:
                specs[item.index] = JobSpec.model_validate_json(item.spec)
            except ValidationError as error:
                faults[item.index] = sentence(causes_of(error) or ())
    return specs, faults
