"""The shelf of jobs, and what a submitter gets to see of them."""

from collections.abc import Sequence

from dashwright.api.commands import Jobs
from dashwright.api.domain import submissions
from dashwright.api.domain.actor import Actor
from dashwright.api.resources.options import Preconditions
from dashwright.api.resources.pages import ListedPage
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import EVALUATION, JOB
from dashwright.common.stores import jobs
from dashwright.common.stores.jobs import StoredJob


class JobObjects:
    def __init__(self, database: Database, commands: Jobs) -> None:
        self._database = database
        self._commands = commands

    async def get(self, kind: Kind, namespace: str, name: str) -> StoredJob:
        async with self._database.connection() as connection:
            return await jobs.get(connection, kind, namespace, name)

    async def list_page(self, kind: Kind, namespace: str, version: str, after: str, limit: int) -> ListedPage:
        async with self._database.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            page = await jobs.list_page(connection, kind, namespace, after=after, limit=limit)
        return ListedPage([job.encode() for job in page.items], page.position, page.after, page.remaining)

    async def create(self, kind: Kind, namespace: str, version: str, body: bytes, actor: Actor) -> bytes:
        if kind is EVALUATION:
            (evaluation,) = await self._commands.evaluate(actor, namespace, submissions.read_evaluation(body, namespace))
            return evaluation.encode()
        wanted = submissions.read_jobs(body, namespace)
        if wanted.is_list:
            raise BadRequest("one Job is created here; send lists to the jobs of their repository, or through the queue")
        (job,) = await self._commands.submit(actor, namespace, wanted.specs)
        return job.encode()

    async def delete(self, kind: Kind, namespace: str, name: str, preconditions: Preconditions, actor: Actor) -> str:
        """Cancels a job that has not ended; drops one that has from history."""
        if preconditions != Preconditions():
            raise BadRequest("preconditions are not served for jobs; delete without them")
        return str(await self._commands.cancel(actor, kind, namespace, name))


def encode(submitted: Sequence[StoredJob], *, is_list: bool) -> bytes:
    """What a submitter gets: a JobList for a list, else the Job."""
    return encode_list(submitted) if is_list else submitted[0].encode()


def encode_list(found: Sequence[StoredJob]) -> bytes:
    head = f'{{"kind":"{JOB.kind}List","apiVersion":"{JOB.api_version()}","metadata":{{}},"items":['
    return head.encode() + b",".join(job.encode() for job in found) + b"]}"
