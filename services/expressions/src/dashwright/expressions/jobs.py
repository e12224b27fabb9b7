"""Runner of evaluation jobs. It evaluates a panel and stores the frames, as JSON and as Arrow, until they expire."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final

import orjson

from dashwright.common import media
from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError
from dashwright.common.identity import org_of
from dashwright.common.jobs import job_messages
from dashwright.common.messaging.rpc import Reply
from dashwright.common.models.evaluation import EvaluationSpec, panel_request
from dashwright.common.models.provisioning import JobStatus, State
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.common.stores import claims, evaluations
from dashwright.common.stores.evaluations import CHUNK_BYTES, Format, NewResult
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.work.execution import Execution, LeaseLost
from dashwright.expressions.evaluation import Evaluation
from dashwright.expressions.formats import response
from dashwright.expressions.queries import QuerySettings, encode_reply, evaluate

#: Maximum size of a body that is stored with the end of its job.
_MAX_SMALL_BYTES: Final = 64 * 1024

#: The formats in which a result is stored, with their media types.
_FORMATS: tuple[tuple[Format, str], ...] = (("json", media.JSON), ("arrow", media.ARROW))


class EvaluationRunner:
    """Runner of evaluation jobs, whose results expire after ``retention``."""

    def __init__(self, database: Database, settings: QuerySettings, *, retention: timedelta) -> None:
        self._database = database
        self._settings = settings
        self._retention = retention

    async def run(self, job: StoredJob, execution: Execution) -> JobStatus:
        """Evaluate the panel of a job, store the frames and return the job's status."""
        spec = EvaluationSpec.model_validate_json(job.spec)
        # The rights of the submitter are not known in a job, so its errors never contain the address of a data source.
        # No organization has the id 0, so a job in another namespace reads no data source.
        context = QueryContext(endpoint=QueryEndpoint.PANEL, org_id=org_of(job.namespace) or 0, readable=frozenset())
        with self._settings.memory.reservation(context.org_id) as memory:
            evaluation = await evaluate(orjson.dumps(panel_request(spec)), context, self._settings, memory)
            await self._store(job, execution, evaluation)
        return _status(execution, evaluation)

    async def _store(self, job: StoredJob, execution: Execution, evaluation: Evaluation) -> None:
        """Store the result: a small one with the end of the job, and a large one in chunks before it."""
        status = response.status_of(evaluation.results)
        replies = {form: encode_reply(evaluation, accept) for form, accept in _FORMATS}
        bodies = {form: reply.body for form, reply in replies.items() if isinstance(reply.body, bytes)}
        if len(bodies) == len(replies) and max(map(len, bodies.values())) <= _MAX_SMALL_BYTES:
            execution.result = NewResult(job.uid, status, self._retention, bodies)
            return
        # One transaction stores everything and checks the lease at its end, so that a worker without its lease stores nothing.
        async with self._database.transaction() as connection:
            await evaluations.create_result(connection, job.uid, status=status, retention=self._retention)
            for form, reply in replies.items():
                index = 0
                async for chunk in _chunks(reply):
                    await evaluations.add_chunk(connection, job.uid, form, index, chunk)
                    index += 1
            if not await claims.holds_lease(connection, job.uid, owner=execution.owner):
                raise LeaseLost


def _status(execution: Execution, evaluation: Evaluation) -> JobStatus:
    """Return the final status of a job, which lists the errors of refIds."""
    errors = [
        f"{ref_id}: {result.error.message}" for ref_id, result in evaluation.results.items() if isinstance(result.error, DashwrightError)
    ]
    if errors:
        return execution.ended_status(State.ERROR, job_messages.COMPLETED_WITH_ERRORS, errors=errors, progress=100.0)
    return execution.ended_status(State.SUCCESS, job_messages.COMPLETED, errors=None, progress=100.0)


async def _chunks(reply: Reply) -> AsyncIterator[bytes]:
    """Yield the body in chunks of at most 1 MiB."""
    if isinstance(reply.body, bytes):
        for start in range(0, len(reply.body), CHUNK_BYTES):
            yield reply.body[start : start + CHUNK_BYTES]
        return
    buffer = bytearray()
    async for part in reply.body:
        buffer += part
        while len(buffer) >= CHUNK_BYTES:
            yield bytes(buffer[:CHUNK_BYTES])
            del buffer[:CHUNK_BYTES]
    if buffer:
        yield bytes(buffer)
