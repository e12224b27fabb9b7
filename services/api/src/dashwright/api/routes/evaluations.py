"""The outcome of an evaluation, streamed from the store a piece at a time: it never lies in the gateway's memory at once."""

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
from dashwright.common.stores.jobs import StoredJob


def routes(database: Database) -> list[Route]:
    """``GET …/evaluations/{name}/result``: the frames as JSON, or as Arrow by ``Accept``."""
    path = f"/apis/{EVALUATION.api_version()}/namespaces/{{namespace}}/{EVALUATION.plural}/{{name}}/result"

    async def result(call: Call) -> Response:
        name = call.parameters["name"]
        async with database.connection() as connection:
            job = await _find_evaluation(connection, call.parameters["namespace"], name)
            outcome = await evaluations.find(connection, job.uid)
        if job.state in (State.PENDING, State.WORKING):
            raise Conflict(f'{EVALUATION.key} "{name}" is {job.state}; its result is here when it has ended', retry_after=1)
        if outcome is None:
            raise Gone(f'{EVALUATION.key} "{name}" has no result: it failed as its status says')
        if outcome.is_expired:
            raise _expired(name, outcome.expires_at)
        as_arrow = wants_arrow(call.accept)
        pieces = _pieces(database, job.uid, "arrow" if as_arrow else "json")
        return Response(outcome.status, pieces, ARROW if as_arrow else JSON)

    answers = {200: FRAMES, 400: FRAMES}
    operation = Operation("getEvaluationResult", "the frames of an evaluation", EVALUATION.group, responses=answers, errors=(404, 409, 410))
    return [Route("GET", path, result, Permission(EVALUATION.actions["get"]), operation)]


async def _find_evaluation(connection: Connection, namespace: str, name: str) -> StoredJob:
    """Return an evaluation. Raises Gone for one that has expired, NotFound where there never was one, or too long ago."""
    try:
        return await jobs.get(connection, EVALUATION, namespace, name)
    except NotFound as error:
        expired_at = await evaluations.expired_at(connection, namespace, name)
        if expired_at is None:
            raise
        raise _expired(name, expired_at) from error


def _expired(name: str, at: datetime) -> Gone:
    time = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Gone(
        f'{EVALUATION.key} "{name}" expired at {time} with its result; submit it again. '
        "DASHWRIGHT_EVALUATION_RESULT_SECONDS is how long results are kept"
    )


async def _pieces(database: Database, uid: uuid.UUID, form: Format) -> AsyncIterator[bytes]:
    """Each piece is read when the one before has been sent; no connection is held between."""
    number = 0
    while True:
        async with database.connection() as connection:
            body = await evaluations.piece(connection, uid, form, number)
        if body is None:
            return
        yield body
        number += 1
