"""How the resource API makes and ends jobs, and what a submitter gets to see of them."""

from collections.abc import Sequence
from uuid import UUID

from dashwright.api.commands import Jobs
from dashwright.api.domain import submissions
from dashwright.api.domain.actor import Actor
from dashwright.api.resources.options import DeleteOptions
from dashwright.api.resources.writing.wanted import Expect
from dashwright.common.errors import BadRequest
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import EVALUATION, JOB
from dashwright.common.stores.jobs import StoredJob


async def create(commands: Jobs, kind: Kind, namespace: str, body: bytes, actor: Actor, *, dry_run: bool) -> StoredJob:
    """Submits one job or evaluation."""
    if kind is EVALUATION:
        (job,) = await commands.evaluate(actor, namespace, submissions.read_evaluation(body, namespace), dry_run=dry_run)
        return job
    wanted = submissions.read_jobs(body, namespace)
    if wanted.is_list:
        raise BadRequest("one Job is created here; send lists to the jobs of their repository, or through the queue")
    (job,) = await commands.submit(actor, namespace, wanted.specs, dry_run=dry_run)
    return job


async def delete(commands: Jobs, kind: Kind, namespace: str, name: str, options: DeleteOptions, actor: Actor) -> UUID:
    """Cancels a job that has not ended; drops one that has from history. Answers its uid."""
    if options.expect != Expect():
        raise BadRequest("preconditions are not served for jobs; delete without them")
    return await commands.cancel(actor, kind, namespace, name, dry_run=options.dry_run)


def encode(submitted: Sequence[StoredJob], *, is_list: bool) -> bytes:
    """What a submitter gets: a JobList for a list, else the Job."""
    return encode_list(submitted) if is_list else submitted[0].encode()


def encode_list(found: Sequence[StoredJob]) -> bytes:
    head = f'{{"kind":"{JOB.kind}List","apiVersion":"{JOB.api_version()}","metadata":{{}},"items":['
    return head.encode() + b",".join(job.encode() for job in found) + b"]}"
