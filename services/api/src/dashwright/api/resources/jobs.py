"""Submission and cancellation of jobs through the resource API, and the response bodies of submissions."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import orjson

from dashwright.api.domain import submissions
from dashwright.api.domain.actor import Actor
from dashwright.api.domain.selectors import Selection, matches
from dashwright.api.jobs import Jobs
from dashwright.api.resources.options import DeleteRequest, FieldValidation
from dashwright.api.resources.request import Target
from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.identity import Identity
from dashwright.common.json_documents import check_strings
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import EVALUATION, JOB
from dashwright.common.stores.job_records import StoredJob


def read_submission(
    tree: Any, target: Target, namespace: str, validation: FieldValidation
) -> tuple[submissions.Submission, tuple[str, ...]]:
    """Return the submitted job or evaluation, and the warnings about its unknown fields.

    Raises BadRequest for a malformed body or rejected unknown fields, and Invalid for an invalid spec.
    """
    try:
        check_strings(tree)
    except Invalid as error:
        raise BadRequest(error.message) from error
    # Only a message in the queue, and the path of a repository's jobs, accept a list of jobs.
    if isinstance(tree, list) and target.kind is JOB:
        raise BadRequest("this path creates one Job; send a list of jobs to the path …/repositories/{name}/jobs, or through the queue")
    submission = (
        submissions.read_evaluation(tree, namespace)
        if target.kind is EVALUATION
        else submissions.read_job(tree, namespace, version=target.version)
    )
    return submission, validation.warnings_for(submission.unknown_fields)


async def create(
    jobs: Jobs, submission: submissions.Submission, namespace: str, actor: Actor, caller: Identity, *, dry_run: bool
) -> StoredJob:
    """Submit one job or evaluation and return it."""
    if isinstance(submission, submissions.EvaluationSubmission):
        (job,) = await jobs.submit_evaluation(actor, namespace, submission, dry_run=dry_run)
    else:
        (job,) = await jobs.submit(actor, caller, namespace, submission.specs, metadata=submission.metadata, dry_run=dry_run)
    return job


async def delete(jobs: Jobs, kind: Kind, namespace: str, name: str, options: DeleteRequest, actor: Actor) -> UUID:
    """Cancel a job that has not ended, or delete an ended job from the history. Return the uid of the job.

    Raises NotFound, and Conflict if the job does not meet the preconditions.
    """
    return await jobs.cancel(actor, kind, namespace, name, options.preconditions.check_delete, dry_run=options.dry_run)


async def delete_selected(jobs: Jobs, kind: Kind, namespace: str, selection: Selection, options: DeleteRequest, actor: Actor) -> None:
    """Cancel the selected jobs that have not ended, and delete the ended ones from the history.

    Raises Conflict if a selected job does not meet the preconditions.
    """

    def is_selected(job: StoredJob) -> bool:
        if not matches(selection, labels_of(job), job.name):
            return False
        options.preconditions.check_delete(job)
        return True

    await jobs.cancel_many(actor, kind, namespace, is_selected, dry_run=options.dry_run)


def labels_of(job: StoredJob) -> dict[str, str]:
    """Return the labels of a job."""
    labels: dict[str, str] = orjson.loads(job.metadata).get("labels") or {}
    return labels


def encode_submitted(jobs: Sequence[StoredJob], version: str | None = None, *, is_list: bool) -> bytes:
    """Return the response body of a submission: a JobList if a list was submitted, or else a Job.

    ``version`` is the API version, by default the preferred one.
    """
    return encode_job_list(jobs, version) if is_list else jobs[0].encode(version)


def encode_job_list(jobs: Sequence[StoredJob], version: str | None = None) -> bytes:
    """Return jobs as a JobList in an API version, by default the preferred one."""
    json_before_items = f'{{"kind":"{JOB.kind}List","apiVersion":"{JOB.api_version(version)}","metadata":{{}},"items":['
    return json_before_items.encode() + b",".join(job.encode(version) for job in jobs) + b"]}"
