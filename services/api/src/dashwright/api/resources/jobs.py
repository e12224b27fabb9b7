"""How the resource API makes and ends jobs, and what a submitter gets to see of them."""

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
from dashwright.common.stores.jobs import StoredJob


def read(tree: Any, kind: Kind, namespace: str, validation: FieldValidation) -> tuple[submissions.Submission, tuple[str, ...]]:
    """Return the job or evaluation that is to be created, and the warnings about its unknown fields.

    Raises BadRequest, also for unknown fields where they are refused, and Invalid.
    """
    try:
        check_texts(tree)
    except Invalid as error:
        raise BadRequest(error.message) from error
    if isinstance(tree, list) and kind is JOB:
        raise BadRequest("one Job is created here; send lists to the jobs of their repository, or through the queue")
    wanted = submissions.read_evaluation(tree, namespace) if kind is EVALUATION else submissions.read_job(tree, namespace)
    return wanted, validation.warnings_for(wanted.unknown)


async def create(
    commands: Jobs, wanted: submissions.Submission, namespace: str, actor: Actor, caller: Identity, *, dry_run: bool
) -> StoredJob:
    """Submit one job or evaluation."""
    if isinstance(wanted, submissions.EvaluationSubmission):
        (job,) = await commands.evaluate(actor, namespace, wanted, dry_run=dry_run)
    else:
        (job,) = await commands.submit(actor, caller, namespace, wanted.specs, metadata=wanted.metadata, dry_run=dry_run)
    return job


async def delete(commands: Jobs, kind: Kind, namespace: str, name: str, options: DeleteRequest, actor: Actor) -> UUID:
    """Cancels a job that has not ended; drops one that has from history. Answers its uid."""
    return await commands.cancel(actor, kind, namespace, name, options.preconditions.check_delete, dry_run=options.dry_run)


async def delete_selected(commands: Jobs, kind: Kind, namespace: str, selection: Selection, options: DeleteRequest, actor: Actor) -> None:
    """The same with all that are selected."""

    def is_chosen(job: StoredJob) -> bool:
        if not matches(selection, labels_of(job), job.name):
            return False
        options.preconditions.check_delete(job)
        return True

    await commands.cancel_many(actor, kind, namespace, is_chosen, dry_run=options.dry_run)


def labels_of(job: StoredJob) -> dict[str, str]:
    found: dict[str, str] = orjson.loads(job.metadata).get("labels") or {}
    return found


def encode(submitted: Sequence[StoredJob], *, is_list: bool) -> bytes:
    """What a submitter gets: a JobList for a list, else the Job."""
    return encode_list(submitted) if is_list else submitted[0].encode()


def encode_list(found: Sequence[StoredJob]) -> bytes:
    head = f'{{"kind":"{JOB.kind}List","apiVersion":"{JOB.api_version()}","metadata":{{}},"items":['
    return head.encode() + b",".join(job.encode() for job in found) + b"]}"
