"""How the resource API makes and ends jobs, and what a submitter gets to see of them."""

from collections.abc import Sequence
from uuid import UUID

import orjson

from dashwright.api.commands import Jobs
from dashwright.api.domain import submissions
from dashwright.api.domain.actor import Actor
from dashwright.api.domain.selectors import Selection, matches
from dashwright.api.resources.options import DeleteOptions
from dashwright.common.errors import BadRequest
from dashwright.common.identity import Identity
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import EVALUATION, JOB
from dashwright.common.stores.jobs import StoredJob


async def create(commands: Jobs, kind: Kind, namespace: str, body: bytes, actor: Actor, caller: Identity, *, dry_run: bool) -> StoredJob:
    """Submits one job or evaluation."""
    if kind is EVALUATION:
        (job,) = await commands.evaluate(actor, namespace, submissions.read_evaluation(body, namespace), dry_run=dry_run)
        return job
    wanted = submissions.read_jobs(body, namespace)
    if wanted.is_list:
        raise BadRequest("one Job is created here; send lists to the jobs of their repository, or through the queue")
    (job,) = await commands.submit(actor, caller, namespace, wanted.specs, dry_run=dry_run)
    return job


async def delete(commands: Jobs, kind: Kind, namespace: str, name: str, options: DeleteOptions, actor: Actor) -> UUID:
    """Cancels a job that has not ended; drops one that has from history. Answers its uid."""
    return await commands.cancel(actor, kind, namespace, name, options.expect.check_delete, dry_run=options.dry_run)


async def delete_selected(commands: Jobs, kind: Kind, namespace: str, selection: Selection, options: DeleteOptions, actor: Actor) -> None:
    """The same with all that are selected."""

    def is_chosen(job: StoredJob) -> bool:
        if not matches(selection, labels_of(job), job.name):
            return False
        options.expect.check_delete(job)
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
