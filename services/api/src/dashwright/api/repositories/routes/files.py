"""The files of one repository: listed, read, made, changed, moved and removed. A path that ends in a slash is a directory."""

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

LARGEST: Final = 5 * 1024 * 1024
"""Bytes of a file as sent."""

LONGEST_MESSAGE: Final = 10_000
"""Characters of what a commit says."""

_REF: Final = "a branch, or where nothing is changed a commit by all of its digits; by default the repository's own branch"
_MESSAGE: Final = "what the commit says"
_IGNORED: Final = "taken, and without effect: what a file would do is always told"


class _FileHandlers:
    def __init__(self, files: Files) -> None:
        self._files = files

    async def list(self, call: Call) -> Response:
        return await self._listed(call, "")

    async def get(self, call: Call) -> Response:
        path = _path_of(call)
        if paths.is_directory(path):
            return await self._listed(call, path)
        body = await self._files.read(call.identity, call.parameters["name"], path, call.query.get("ref", ""))
        return Response(200, body, may_compress=True)

    async def create(self, call: Call) -> Response:
        path, origin = _path_of(call), call.query.get("originalPath", "")
        content = await _content_of(call)
        if origin:
            paths.check_path(origin)
            return await self._changed(call, ChangeMethod.MOVE, path, content, origin)
        if content is None and not paths.is_directory(path):
            raise BadRequest("the body is empty; send what the file is to hold, or name in originalPath a file to move here")
        return await self._changed(call, ChangeMethod.CREATE, path, content)

    async def update(self, call: Call) -> Response:
        path = _path_of(call)
        if paths.is_directory(path):
            text = "A directory is not replaced; make it by POST, with originalPath to move one here, or remove it by DELETE"
            raise MethodNotAllowed(text, details={"allow": "DELETE, GET, HEAD, POST"})
        if call.query.get("originalPath"):
            raise BadRequest("a file is moved by POST; by PUT it is replaced, and originalPath has no meaning")
        content = await _content_of(call)
        if content is None:
            raise BadRequest("the body is empty; send what the file is to hold")
        return await self._changed(call, ChangeMethod.UPDATE, path, content)

    async def delete(self, call: Call) -> Response:
        return await self._changed(call, ChangeMethod.DELETE, _path_of(call), None)

    async def _listed(self, call: Call, path: str) -> Response:
        body = await self._files.list_files(call.identity, call.parameters["name"], path, call.query.get("ref", ""))
        return Response(200, body, may_compress=True)

    async def _changed(self, call: Call, method: ChangeMethod, path: str, content: str | None, origin: str = "") -> Response:
        message = call.query.get("message", "")
        if len(message) > LONGEST_MESSAGE:
            raise BadRequest(f"the message has {len(message)} characters, at most {LONGEST_MESSAGE} are taken")
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
    """Who may list a repository's files may see them all; one file takes the rights on the objects that it stands for."""
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
_BODY: Final = Content(
    {"description": "The file, as it is to be stored: an object of the resource API, or a classic dashboard"}, (JSON, YAML)
)
_WRITING: Final = {"ref": _REF, "message": _MESSAGE, **descriptions.DRY_RUN, "skipDryRun": _IGNORED}
_FLAGS: Final = {**descriptions.parameter_types(descriptions.DRY_RUN), "skipDryRun": bool}
_ERRORS: Final = (404, 405, 409, 412, 422, 424)

_LIST: Final = Operation(
    "listRepositoryFiles", "the files of a repository", REPOSITORY.group, responses={200: FileList}, query={"ref": _REF}, errors=(404, 424)
)
_GET: Final = Operation(
    "getRepositoryFile",
    "what a file holds and what it stands for; of a text (.md), what it says; of a directory, its files",
    REPOSITORY.group,
    responses={200: ResourceWrapper | FileList},
    query={"ref": _REF, "skipDryRun": _IGNORED},
    parameters=_FLAGS,
    errors=(404, 422, 424),
    description="Takes the right to read the objects in it, of a text (.md) that to read dashboards beside it; of a directory, and of a "
    "file in one that was not synced yet, repositories:write.",
)
_POST: Final = Operation(
    "createRepositoryFile",
    "make a file or directory, or move one",
    REPOSITORY.group,
    replace(_BODY, optional=True),
    {200: ResourceWrapper},
    query={**_WRITING, "originalPath": "a file or directory that is moved here; without a body it stays as it is"},
    parameters=_FLAGS,
    errors=_ERRORS,
    description="JSON or YAML, whatever the Content-Type says. Takes the rights on the objects that are made, changed and removed by it.",
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
    description="JSON or YAML, whatever the Content-Type says. Takes the rights on the objects that are changed by it.",
)
_DELETE: Final = Operation(
    "deleteRepositoryFile",
    "remove a file, or a directory with everything in it",
    REPOSITORY.group,
    responses={200: ResourceWrapper},
    query=_WRITING,
    parameters=_FLAGS,
    errors=_ERRORS,
    description="Takes the right to remove every object in it.",
)


def _needs(verb: str) -> Permission:
    """On some dashboard: on which, is known once the file was looked at."""
    return Permission(DASHBOARD.actions[verb], by_object=True)


def _path_of(call: Call) -> str:
    path = call.parameters["path"]
    paths.check_path(path)
    return path


async def _content_of(call: Call) -> str | None:
    """The body as text; None where there is none."""
    try:
        return (await call.body()).decode() or None
    except UnicodeDecodeError as error:
        raise BadRequest(f"the body is not UTF-8 text at byte {error.start}") from error
