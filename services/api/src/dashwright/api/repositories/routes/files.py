"""Routes of a repository's files: list, read, create, replace, move and delete.

A path that ends in a slash is a directory.
"""

from dataclasses import replace
from typing import Final

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Content, Operation, Permission, Route
from dashwright.api.repositories.files import LIST_ACTION, FileChange, Files, event_of_files
from dashwright.api.repositories.routes.repository_path import REPOSITORY_PATH
from dashwright.api.resources import descriptions, options
from dashwright.common.errors import BadRequest, MethodNotAllowed
from dashwright.common.jobs import paths
from dashwright.common.kinds.registry import DASHBOARD, REPOSITORY
from dashwright.common.media import JSON, YAML
from dashwright.common.models.repository_calls import ChangeMethod
from dashwright.common.models.repository_views import FileList, ResourceWrapper

#: The largest file in a request, in bytes.
MAX_FILE_BYTES: Final = 5 * 1024 * 1024

#: The longest commit message, in characters.
MAX_MESSAGE_LENGTH: Final = 10_000

_REF: Final = "a branch, or for reads the full hash of a commit; by default the repository's own branch"
_MESSAGE: Final = "the commit message"
_SKIP_DRY_RUN: Final = "accepted without effect: the response always includes the outcome of a dry run"


class _FileHandlers:
    """The handlers of the file routes."""

    def __init__(self, files: Files) -> None:
        self._files = files

    async def list(self, call: Call) -> Response:
        """List the repository's files."""
        return await self._list_response(call, "")

    async def get(self, call: Call) -> Response:
        """Return a file, or list a directory."""
        path = _path_of(call)
        if paths.is_directory(path):
            return await self._list_response(call, path)
        body = await self._files.read_file(call.identity, call.parameters["name"], path, call.query.get("ref", ""))
        return Response(200, body, may_compress=True)

    async def create(self, call: Call) -> Response:
        """Create a file or directory, or move one."""
        path, original_path = _path_of(call), call.query.get("originalPath", "")
        content = await _content_of(call)
        if original_path:
            paths.check_path(original_path)
            return await self._change_response(call, ChangeMethod.MOVE, path, content, original_path)
        if content is None and not paths.is_directory(path):
            raise BadRequest("the body is empty; send the content of the file, or name a file to move here in originalPath")
        return await self._change_response(call, ChangeMethod.CREATE, path, content)

    async def update(self, call: Call) -> Response:
        """Replace a file."""
        path = _path_of(call)
        if paths.is_directory(path):
            message = "a directory cannot be replaced; create it by POST, with originalPath to move one here, or delete it by DELETE"
            raise MethodNotAllowed(message, details={"allow": "DELETE, GET, HEAD, POST"})
        if call.query.get("originalPath"):
            raise BadRequest("originalPath has no meaning for PUT, which replaces a file; use POST to move one")
        content = await _content_of(call)
        if content is None:
            raise BadRequest("the body is empty; send the content of the file")
        return await self._change_response(call, ChangeMethod.UPDATE, path, content)

    async def delete(self, call: Call) -> Response:
        """Delete a file or directory."""
        return await self._change_response(call, ChangeMethod.DELETE, _path_of(call), None)

    async def _list_response(self, call: Call, path: str) -> Response:
        body = await self._files.list_files(call.identity, call.parameters["name"], path, call.query.get("ref", ""))
        return Response(200, body, may_compress=True)

    async def _change_response(self, call: Call, method: ChangeMethod, path: str, content: str | None, original_path: str = "") -> Response:
        """Make a change with the options in the query, and respond with its outcome."""
        message = call.query.get("message", "")
        if len(message) > MAX_MESSAGE_LENGTH:
            raise BadRequest(f"the message has {len(message)} characters, more than the limit of {MAX_MESSAGE_LENGTH}")
        change = FileChange(
            repository=call.parameters["name"],
            method=method,
            path=path,
            ref=call.query.get("ref", ""),
            original_path=original_path,
            content=content,
            message=message,
            event=_AUDIT_EVENTS[call.method],
            dry_run=options.is_dry_run(call),
        )
        return Response(200, await self._files.change(call.actor, call.identity, change), may_compress=True)


def routes(files: Files) -> list[Route]:
    """Return the routes. To list files requires write access to the repository; to read a file requires permissions on its objects."""
    handlers = _FileHandlers(files)
    files_path = f"{REPOSITORY_PATH}/files"
    file_path = f"{files_path}/{{path:rest}}"
    return [
        Route("GET", files_path, handlers.list, Permission(LIST_ACTION), _LIST_OPERATION),
        Route("GET", file_path, handlers.get, _dashboard_permission("get"), _GET_OPERATION),
        Route(
            "POST",
            file_path,
            handlers.create,
            _dashboard_permission("create"),
            _CREATE_OPERATION,
            body_limit=MAX_FILE_BYTES,
            audit=_AUDIT_EVENTS["POST"],
        ),
        Route(
            "PUT",
            file_path,
            handlers.update,
            _dashboard_permission("update"),
            _REPLACE_OPERATION,
            body_limit=MAX_FILE_BYTES,
            audit=_AUDIT_EVENTS["PUT"],
        ),
        Route("DELETE", file_path, handlers.delete, _dashboard_permission("delete"), _DELETE_OPERATION, audit=_AUDIT_EVENTS["DELETE"]),
    ]


_AUDIT_EVENTS: Final = {"POST": event_of_files("create"), "PUT": event_of_files("update"), "DELETE": event_of_files("delete")}
_FILE_CONTENT: Final = Content(
    {"description": "The content of the file: an object of the resource API, or a classic dashboard"}, (JSON, YAML)
)
_CHANGE_QUERY: Final = {"ref": _REF, "message": _MESSAGE, **descriptions.DRY_RUN_PARAMETER, "skipDryRun": _SKIP_DRY_RUN}
_PARAMETER_TYPES: Final = {**descriptions.parameter_types(descriptions.DRY_RUN_PARAMETER), "skipDryRun": bool}
_CHANGE_ERRORS: Final = (404, 405, 409, 412, 422, 424)

_LIST_OPERATION: Final = Operation(
    "listRepositoryFiles", "the files of a repository", REPOSITORY.group, responses={200: FileList}, query={"ref": _REF}, errors=(404, 424)
)
_GET_OPERATION: Final = Operation(
    "getRepositoryFile",
    "the content of a file and its objects; for a text (.md) its content; for a directory its files",
    REPOSITORY.group,
    responses={200: ResourceWrapper | FileList},
    query={"ref": _REF, "skipDryRun": _SKIP_DRY_RUN},
    parameters=_PARAMETER_TYPES,
    errors=(404, 422, 424),
    description="Requires the right to read the objects in the file, or for a text (.md) the dashboards next to it. A directory, and "
    "a file in a directory that was not synced yet, require repositories:write.",
)
_CREATE_OPERATION: Final = Operation(
    "createRepositoryFile",
    "create a file or directory, or move one",
    REPOSITORY.group,
    replace(_FILE_CONTENT, is_optional=True),
    {200: ResourceWrapper},
    query={**_CHANGE_QUERY, "originalPath": "a file or directory to move here; without a body its content is kept"},
    parameters=_PARAMETER_TYPES,
    errors=_CHANGE_ERRORS,
    description="JSON or YAML, regardless of the Content-Type. "
    "Requires the rights on every object that the request creates, changes or deletes.",
)
_REPLACE_OPERATION: Final = Operation(
    "replaceRepositoryFile",
    "replace a file",
    REPOSITORY.group,
    _FILE_CONTENT,
    {200: ResourceWrapper},
    query=_CHANGE_QUERY,
    parameters=_PARAMETER_TYPES,
    errors=_CHANGE_ERRORS,
    description="JSON or YAML, regardless of the Content-Type. Requires the rights on every object that the file changes.",
)
_DELETE_OPERATION: Final = Operation(
    "deleteRepositoryFile",
    "delete a file, or a directory with everything in it",
    REPOSITORY.group,
    responses={200: ResourceWrapper},
    query=_CHANGE_QUERY,
    parameters=_PARAMETER_TYPES,
    errors=_CHANGE_ERRORS,
    description="Requires the right to delete every object in the file or directory.",
)


def _dashboard_permission(verb: str) -> Permission:
    """Return a permission on any dashboard. The permissions on the objects in the file are checked after the file is read."""
    return Permission(DASHBOARD.actions[verb], object_rules_suffice=True)


def _path_of(call: Call) -> str:
    path = call.parameters["path"]
    paths.check_path(path)
    return path


async def _content_of(call: Call) -> str | None:
    """Return the body as a string, or None if it is empty."""
    try:
        return (await call.body()).decode() or None
    except UnicodeDecodeError as error:
        raise BadRequest(f"the body is not UTF-8 text at byte {error.start}") from error
