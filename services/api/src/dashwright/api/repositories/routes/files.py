"""Routes of a repository's files: list, read, create, replace, move and delete.

A path that ends in a slash is a directory.
"""

from dataclasses import replace
from typing import Final

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Content, Operation, Permission, Route
from dashwright.api.repositories.files import LIST, FileChange, Files, event_of_files
from dashwright.api.repositories.routes.place import ONE
from dashwright.api.resources import descriptions, options
from dashwright.common.errors import BadRequest, MethodNotAllowed
from dashwright.common.jobs import paths
from dashwright.common.kinds.registry import DASHBOARD, REPOSITORY
from dashwright.common.media import JSON, YAML
from dashwright.common.models.repository_calls import ChangeMethod
from dashwright.common.models.repository_views import FileList, ResourceWrapper

#: The largest file in a request, in bytes.
LARGEST: Final = 5 * 1024 * 1024

#: The longest commit message, in characters.
LONGEST_MESSAGE: Final = 10_000

_REF: Final = "a branch, or for reads the full hash of a commit; by default the repository's own branch"
_MESSAGE: Final = "the commit message"
_IGNORED: Final = "accepted without effect: the response always includes the outcome of a dry run"


class _FileHandlers:
    """The handlers of the file routes."""

    def __init__(self, files: Files) -> None:
        self._files = files

    async def list(self, call: Call) -> Response:
        """List the repository's files."""
        return await self._listed(call, "")

    async def get(self, call: Call) -> Response:
        """Return a file, or list a directory."""
        path = _path_of(call)
        if paths.is_directory(path):
            return await self._listed(call, path)
        body = await self._files.read(call.identity, call.parameters["name"], path, call.query.get("ref", ""))
        return Response(200, body, may_compress=True)

    async def create(self, call: Call) -> Response:
        """Create a file or directory, or move one."""
        path, origin = _path_of(call), call.query.get("originalPath", "")
        content = await _content_of(call)
        if origin:
            paths.check_path(origin)
            return await self._changed(call, ChangeMethod.MOVE, path, content, origin)
        if content is None and not paths.is_directory(path):
            raise BadRequest("the body is empty; send the content of the file, or name a file to move here in originalPath")
        return await self._changed(call, ChangeMethod.CREATE, path, content)

    async def update(self, call: Call) -> Response:
        """Replace a file."""
        path = _path_of(call)
        if paths.is_directory(path):
            text = "a directory cannot be replaced; create it by POST, with originalPath to move one here, or delete it by DELETE"
            raise MethodNotAllowed(text, details={"allow": "DELETE, GET, HEAD, POST"})
        if call.query.get("originalPath"):
            raise BadRequest("originalPath has no meaning for PUT, which replaces a file; use POST to move one")
        content = await _content_of(call)
        if content is None:
            raise BadRequest("the body is empty; send the content of the file")
        return await self._changed(call, ChangeMethod.UPDATE, path, content)

    async def delete(self, call: Call) -> Response:
        """Delete a file or directory."""
        return await self._changed(call, ChangeMethod.DELETE, _path_of(call), None)

    async def _listed(self, call: Call, path: str) -> Response:
        body = await self._files.list_files(call.identity, call.parameters["name"], path, call.query.get("ref", ""))
        return Response(200, body, may_compress=True)

    async def _changed(self, call: Call, method: ChangeMethod, path: str, content: str | None, origin: str = "") -> Response:
        message = call.query.get("message", "")
        if len(message) > LONGEST_MESSAGE:
            raise BadRequest(f"the message has {len(message)} characters, more than the limit of {LONGEST_MESSAGE}")
        wanted = FileChange(
            repository=call.parameters["name"],
            method=method,
            path=path,
            ref=call.query.get("ref", ""),
            original_path=origin,
            content=content,
            message=message,
            event=_EVENTS[call.method],
            dry_run=options.is_dry_run(call),
        )
        return Response(200, await self._files.change(call.actor, call.identity, wanted), may_compress=True)


def routes(files: Files) -> list[Route]:
    """Return the routes. Listing requires write access to the repository, a single file the rights on its objects."""
    handlers = _FileHandlers(files)
    collection = f"{ONE}/files"
    one = f"{collection}/{{path:rest}}"
    return [
        Route("GET", collection, handlers.list, Permission(LIST), _LIST),
        Route("GET", one, handlers.get, _needs("get"), _GET),
        Route("POST", one, handlers.create, _needs("create"), _POST, body_limit=LARGEST, audit=_EVENTS["POST"]),
        Route("PUT", one, handlers.update, _needs("update"), _PUT, body_limit=LARGEST, audit=_EVENTS["PUT"]),
        Route("DELETE", one, handlers.delete, _needs("delete"), _DELETE, audit=_EVENTS["DELETE"]),
    ]


_EVENTS: Final = {"POST": event_of_files("create"), "PUT": event_of_files("update"), "DELETE": event_of_files("delete")}
_BODY: Final = Content({"description": "The content of the file: an object of the resource API, or a classic dashboard"}, (JSON, YAML))
_WRITING: Final = {"ref": _REF, "message": _MESSAGE, **descriptions.DRY_RUN, "skipDryRun": _IGNORED}
_FLAGS: Final = {**descriptions.parameter_types(descriptions.DRY_RUN), "skipDryRun": bool}
_ERRORS: Final = (404, 405, 409, 412, 422, 424)

_LIST: Final = Operation(
    "listRepositoryFiles", "the files of a repository", REPOSITORY.group, responses={200: FileList}, query={"ref": _REF}, errors=(404, 424)
)
_GET: Final = Operation(
    "getRepositoryFile",
    "the content of a file and its objects; for a text (.md) its content; for a directory its files",
    REPOSITORY.group,
    responses={200: ResourceWrapper | FileList},
    query={"ref": _REF, "skipDryRun": _IGNORED},
    parameters=_FLAGS,
    errors=(404, 422, 424),
    description="Requires the right to read the objects in the file; for a text (.md) to read the dashboards next to it. A directory, and "
    "a file in a directory that was not synced yet, require repositories:write.",
)
_POST: Final = Operation(
    "createRepositoryFile",
    "create a file or directory, or move one",
    REPOSITORY.group,
    replace(_BODY, optional=True),
    {200: ResourceWrapper},
    query={**_WRITING, "originalPath": "a file or directory to move here; without a body its content is kept"},
    parameters=_FLAGS,
    errors=_ERRORS,
    description="JSON or YAML, regardless of the Content-Type. Requires the rights on every object that it creates, changes or deletes.",
)
_PUT: Final = Operation(
    "replaceRepositoryFile",
    "replace a file",
    REPOSITORY.group,
    _BODY,
    {200: ResourceWrapper},
    query=_WRITING,
    parameters=_FLAGS,
    errors=_ERRORS,
    description="JSON or YAML, regardless of the Content-Type. Requires the rights on every object that it changes.",
)
_DELETE: Final = Operation(
    "deleteRepositoryFile",
    "delete a file, or a directory with everything in it",
    REPOSITORY.group,
    responses={200: ResourceWrapper},
    query=_WRITING,
    parameters=_FLAGS,
    errors=_ERRORS,
    description="Requires the right to delete every object in it.",
)


def _needs(verb: str) -> Permission:
    """Return a permission on dashboards in general: the file's objects are only known after it was read."""
    return Permission(DASHBOARD.actions[verb], by_object=True)


def _path_of(call: Call) -> str:
    path = call.parameters["path"]
    paths.check_path(path)
    return path


async def _content_of(call: Call) -> str | None:
    """Return the body as text, or None if it is empty."""
    try:
        return (await call.body()).decode() or None
    except UnicodeDecodeError as error:
        raise BadRequest(f"the body is not UTF-8 text at byte {error.start}") from error
