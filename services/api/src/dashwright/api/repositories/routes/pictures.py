"""``GET …/repositories/{name}/render/{id}``: a picture in a comment, which git hosts fetch without credentials."""

import re
import uuid
from typing import Final

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, Operation, Route
from dashwright.api.pictures.render import PICTURE_CONTENT, PICTURE_HEADERS
from dashwright.api.repositories.routes.repository_path import REPOSITORY_PATH
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.stores import pictures

_ID_PATTERN: Final = re.compile(r"[A-Za-z0-9-]+")


def routes(database: Database) -> list[Route]:
    """Return the route."""

    async def get_picture(call: Call) -> Response:
        picture_id = call.parameters["id"]
        # As in Grafana, which calls a stored picture a blob: an id with other characters gets 400, any other unknown id 404.
        if not _ID_PATTERN.fullmatch(picture_id):
            raise BadRequest("invalid blob id")
        async with database.connection() as connection:
            stored_picture = await pictures.find(connection, call.parameters["namespace"], call.parameters["name"], _parse_uuid(picture_id))
        if stored_picture is None:
            raise _not_found()
        headers = {**PICTURE_HEADERS, "Cache-Control": "private, max-age=86400, immutable"}
        return Response(200, stored_picture.body, stored_picture.media_type, headers)

    operation = Operation(
        "getRepositoryPicture",
        "a picture in a comment on a pull request",
        REPOSITORY.group,
        responses={200: PICTURE_CONTENT},
        errors=(404,),
        description=f"Needs no credentials, only the id. The newest {pictures.MAX_PICTURES} of a repository are kept, for 30 days.",
    )
    return [Route("GET", f"{REPOSITORY_PATH}/render/{{id}}", get_picture, PUBLIC, operation)]


def _parse_uuid(picture_id: str) -> uuid.UUID:
    """Return the id as a UUID. Raises NotFound if it is not a UUID."""
    try:
        return uuid.UUID(picture_id)
    except ValueError as error:
        raise _not_found() from error


def _not_found() -> NotFound:
    return NotFound("picture not found; pictures are kept for 30 days")
