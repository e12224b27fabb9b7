"""Runner of evaluations as jobs: a panel evaluated strictly, its frames stored in both formats until they expire."""

from collections.abc import AsyncIterator
from datetime import timedelta

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
from dashwright.common.stores import evaluations, jobs
from dashwright.common.stores.evaluations import PIECE_BYTES, Format
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.work.execution import Execution, LeaseLost
from dashwright.expressions.evaluation import Evaluation
from dashwright.expressions.formats import response
from dashwright.expressions.queries import QuerySettings, encode_reply, evaluate

_FORMATS: tuple[tuple[Format, str], ...] = (("json", media.JSON), ("arrow", media.ARROW))


class EvaluationRunner:
    """Runs evaluation jobs; a result can be read for ``keep``."""

    def __init__(self, database: Database, settings: QuerySettings, *, keep: timedelta) -> None:
        self._database = database
        self._settings = settings
        self._keep = keep

    async def run(self, job: StoredJob, execution: Execution) -> JobStatus:
        """Evaluate the panel of a job, store the frames and return the job's status."""
        spec = EvaluationSpec.model_validate_json(job.spec)
        context = QueryContext(endpoint=QueryEndpoint.PANEL, org_id=org_of(job.namespace) or 0, readable=frozenset())
        with self._settings.memory.reservation(context.org_id) as memory:
            evaluation = await evaluate(orjson.dumps(panel_request(spec)), context, self._settings, memory)
            await self._store(job, execution, evaluation)
        return _status(execution, evaluation)

    async def _store(self, job: StoredJob, execution: Execution, evaluation: Evaluation) -> None:
        # One transaction, with the lease checked last: a result is complete or absent, and a lost lease stores nothing.
        async with self._database.transaction() as connection:
            await evaluations.open_outcome(connection, job.uid, status=response.status_of(evaluation.shown), keep=self._keep)
            for form, accept in _FORMATS:
                number = 0
                async for piece in _pieces(encode_reply(evaluation, accept)):
                    await evaluations.add_piece(connection, job.uid, form, number, piece)
                    number += 1
            if not await jobs.holds(connection, job.uid, owner=execution.owner):
                raise LeaseLost


def _status(execution: Execution, evaluation: Evaluation) -> JobStatus:
    errors = [
        f"{ref_id}: {result.error.message}" for ref_id, result in evaluation.shown.items() if isinstance(result.error, DashwrightError)
    ]
    ended = execution.failed(job_messages.COMPLETED_WITH_ERRORS)
    if not errors:
        return ended.model_copy(update={"state": State.SUCCESS, "message": job_messages.COMPLETED, "errors": None, "progress": 100.0})
    return ended.model_copy(update={"errors": errors, "progress": 100.0})


async def _pieces(reply: Reply) -> AsyncIterator[bytes]:
    """Yield the body in pieces of at most 1 MiB."""
    if isinstance(reply.body, bytes):
        for start in range(0, len(reply.body), PIECE_BYTES):
            yield reply.body[start : start + PIECE_BYTES]
        return
    held = bytearray()
    async for part in reply.body:
        held += part
        while len(held) >= PIECE_BYTES:
            yield bytes(held[:PIECE_BYTES])
            del held[:PIECE_BYTES]
    if held:
        yield bytes(held)
