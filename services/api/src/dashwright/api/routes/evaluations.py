"""The route of an evaluation's result.

The result is streamed from the store in chunks, so that memory never contains all of it.
"""

import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from dashwright.api.http.call import Call
from dashwright.api.http.response import JSON, Response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.routes.query import FRAMES
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Conflict, Gone, NotFound
from dashwright.common.kinds.registry import EVALUATION
from dashwright.common.media import ARROW, wants_arrow
from dashwright.common.models.provisioning import State
from dashwright.common.stores import evaluations, jobs
from dashwright.common.stores.evaluations import Format
from dashwright.common.stores.job_records import StoredJob


def routes(database: Database) -> list[Route]:
    """Return the route ``GET …/evaluations/{name}/result``: frames as JSON, or as Arrow depending on ``Accept``."""
    path = f"/apis/{EVALUATION.api_version()}/namespaces/{{namespace}}/{EVALUATION.plural}/{{name}}/result"

    async def get_result(call: Call) -> Response:
        """Return the result of an evaluation. Raises Conflict until the evaluation has ended, and Gone if it has no result."""
        name = call.parameters["name"]
        async with database.connection() as connection:
            job = await _find_evaluation(connection, call.parameters["namespace"], name)
            result = await evaluations.find(connection, job.uid)
        if job.state in (State.PENDING, State.WORKING):
            raise Conflict(f'{EVALUATION.key} "{name}" is {job.state}; its result is available after it has ended', retry_after=1)
        if result is None:
            # Also an evaluation that failed has a result if its queries were run: the errors of the refIds.
            raise Gone(f'{EVALUATION.key} "{name}" has no result: it failed, see its status')
        if result.is_expired:
            raise _expired_error(name, result.expires_at)
        as_arrow = wants_arrow(call.accept)
        chunks = _result_chunks(database, job.uid, "arrow" if as_arrow else "json")
        return Response(result.status, chunks, ARROW if as_arrow else JSON)

    frame_responses = {200: FRAMES, 400: FRAMES}
    operation = Operation(
        "getEvaluationResult", "the result frames of an evaluation", EVALUATION.group, responses=frame_responses, errors=(404, 409, 410)
    )
    return [Route("GET", path, get_result, Permission(EVALUATION.actions["get"]), operation)]


async def _find_evaluation(connection: Connection, namespace: str, name: str) -> StoredJob:
    """Return an evaluation. Raises Gone if it has expired, and NotFound if it never existed or expired long ago."""
    try:
        return await jobs.get(connection, EVALUATION, namespace, name)
    except NotFound as error:
        expired_at = await evaluations.expired_at(connection, namespace, name)
        if expired_at is None:
            raise
        raise _expired_error(name, expired_at) from error


def _expired_error(name: str, expired_at: datetime) -> Gone:
    formatted_time = expired_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Gone(
        f'{EVALUATION.key} "{name}" and its result expired at {formatted_time}; submit it again. '
        "DASHWRIGHT_EVALUATION_RESULT_SECONDS sets how long results are kept"
    )


async def _result_chunks(database: Database, uid: uuid.UUID, result_format: Format) -> AsyncIterator[bytes]:
    """Yield the chunks of a result. Each chunk is read only after the previous one was sent."""
    index = 0
    while True:
        # No connection is held while a chunk is sent: slow clients would take all connections of the pool.
        async with database.connection() as connection:
            chunk = await evaluations.read_chunk(connection, uid, result_format, index)
        if chunk is None:
            return
        yield chunk
        index += 1
