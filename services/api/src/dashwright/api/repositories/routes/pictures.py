"""``GET …/repositories/{name}/render/{id}``: a picture in a comment, which git hosts fetch without credentials."""

import re
import uuid
from typing import Final

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, Operation, Route
from dashwright.api.pictures.render import PICTURE, PICTURE_HEADERS
from dashwright.api.repositories.routes.place import ONE
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.stores import pictures

_ID: Final = re.compile(r"[A-Za-z0-9-]+")


def routes(database: Database) -> list[Route]:
    """Return the route."""

    async def picture(call: Call) -> Response:
        given = call.parameters["id"]
        if not _ID.fullmatch(given):
            raise BadRequest("invalid blob id")
        async with database.connection() as connection:
            found = await pictures.find(connection, call.parameters["namespace"], call.parameters["name"], _uuid(given))
        if found is None:
            raise _unknown()
        return Response(200, found.body, found.media_type, {**PICTURE_HEADERS, "Cache-Control": "private, max-age=86400, immutable"})

    operation = Operation(
        "getRepositoryPicture",
        "a picture in a comment on a pull request",
        REPOSITORY.group,
        responses={200: PICTURE},
        errors=(404,),
        description=f"Needs no credentials, only the id. The newest {pictures.KEPT} of a repository are kept, for 30 days.",
    )
    return [Route("GET", f"{ONE}/render/{{id}}", picture, PUBLIC, operation)]


def _uuid(given: str) -> uuid.UUID:
    """Return the id. Raises NotFound for one that is not a UUID."""
    try:
        return uuid.UUID(given)
    except ValueError as error:
        raise _unknown() from error


def _unknown() -> NotFound:
    return NotFound("picture not found; pictures are kept for 30 days")
