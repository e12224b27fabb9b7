"""Submission and cancellation of jobs by the resource API, and jobs as a submitter receives them."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import orjson

from dashwright.api.domain import submissions
from dashwright.api.domain.actor import Actor
from dashwright.api.domain.selectors import Selection, matches
from dashwright.api.jobs import Jobs
from dashwright.api.resources.options import DeleteRequest, FieldValidation
from dashwright.common.document import check_texts
from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.identity import Identity
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import EVALUATION, JOB
from dashwright.common.stores.job_records import StoredJob


def read(tree: Any, kind: Kind, namespace: str, validation: FieldValidation) -> tuple[submissions.Submission, tuple[str, ...]]:
    """Return the submitted job or evaluation and the warnings about its unknown fields.

    Raises BadRequest for a malformed body or refused unknown fields, and Invalid for a faulty spec.
    """
    try:
        check_texts(tree)
    except Invalid as error:
        raise BadRequest(error.message) from error
    # A list is valid JSON for the queue, where one message submits several jobs.
    if isinstance(tree, list) and kind is JOB:
        raise BadRequest("one Job is created here; send lists to the jobs of their repository, or through the queue")
    submission = submissions.read_evaluation(tree, namespace) if kind is EVALUATION else submissions.read_job(tree, namespace)
    return submission, validation.warnings_for(submission.unknown)


async def create(
    commands: Jobs, submission: submissions.Submission, namespace: str, actor: Actor, caller: Identity, *, dry_run: bool
) -> StoredJob:
    """Submit one job or evaluation and return it."""
    if isinstance(submission, submissions.EvaluationSubmission):
        (job,) = await commands.evaluate(actor, namespace, submission, dry_run=dry_run)
    else:
        (job,) = await commands.submit(actor, caller, namespace, submission.specs, metadata=submission.metadata, dry_run=dry_run)
    return job


async def delete(commands: Jobs, kind: Kind, namespace: str, name: str, options: DeleteRequest, actor: Actor) -> UUID:
    """Cancel a job that has not ended, or delete one that has from the history. Return its uid."""
    return await commands.cancel(actor, kind, namespace, name, options.preconditions.check_delete, dry_run=options.dry_run)


async def delete_selected(commands: Jobs, kind: Kind, namespace: str, selection: Selection, options: DeleteRequest, actor: Actor) -> None:
    """Cancel or delete all selected jobs, as ``delete`` does with one."""

    def is_chosen(job: StoredJob) -> bool:
        if not matches(selection, labels_of(job), job.name):
            return False
        options.preconditions.check_delete(job)
        return True

    await commands.cancel_many(actor, kind, namespace, is_chosen, dry_run=options.dry_run)


def labels_of(job: StoredJob) -> dict[str, str]:
    """Return the labels of a job."""
    found: dict[str, str] = orjson.loads(job.metadata).get("labels") or {}
    return found


def encode(submitted: Sequence[StoredJob], *, is_list: bool) -> bytes:
    """Return the body for a submitter: a JobList for a list, else the Job."""
    return encode_list(submitted) if is_list else submitted[0].encode()


def encode_list(found: Sequence[StoredJob]) -> bytes:
    """Return jobs as a JobList."""
    head = f'{{"kind":"{JOB.kind}List","apiVersion":"{JOB.api_version()}","metadata":{{}},"items":['
    return head.encode() + b",".join(job.encode() for job in found) + b"]}"
