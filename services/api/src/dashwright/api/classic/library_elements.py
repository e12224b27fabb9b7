"""Library panels as the classic API makes, changes and removes them: under a name that people see, beside the panel's own title."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.classic import common
from dashwright.api.domain.access.object_scope import EVERYTHING
from dashwright.api.domain.access.view import View, demand
from dashwright.api.resources.writing.desired_object import DesiredObject, Preconditions, WriteContext
from dashwright.api.resources.writing.writer import Writer
from dashwright.api.stores import library_elements
from dashwright.common.database.pool import Connection, Database
from dashwright.common.document import read_json
from dashwright.common.errors import AlreadyExists, BadRequest, NotFound
from dashwright.common.kinds.registry import LIBRARY_PANEL
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject

PANEL: Final = 1
"""The kind of library element that there is."""

_TAKEN: Final = "library element with that name or UID already exists"


@dataclass(frozen=True, slots=True)
class ElementRequest:
    """A library panel to make, or what is to be changed of one: then None leaves a thing as it is.

    The folder is named by uid, or else by number; ``size`` is how many bytes it came in.
    """

    name: str | None
    kind: int
    model: Mapping[str, Any] | None
    folder_uid: str | None
    folder_number: int | None
    size: int


class LibraryElements:
    def __init__(self, database: Database, policy: AccessPolicy, writer: Writer) -> None:
        self._database = database
        self._policy = policy
        self._writer = writer

    async def create(self, context: WriteContext, uid: str, request: ElementRequest) -> str:
        """Answers the uid, which is made up where it is empty.

        Raises BadRequest for what is no panel with a name, and where name or uid are taken; NotFound for an unknown folder, and Forbidden.
        """
        _check(request)
        if not request.name or request.model is None:
            raise BadRequest("a library element needs a name and a model")
        view = await self._policy.view(context.identity, context.identity.namespace)
        async with self._database.connection() as connection:
            folder = await common.find_folder(connection, context.identity.org_id, request.folder_uid, request.folder_number) or ""
            _demand(view, context, "create", "", folder)
            await _check_name(connection, context, request.name, folder, uid)
        made = common.new_object(
            LIBRARY_PANEL, uid or common.new_uid(), common.VERSION, dict(request.model), folder=folder, title=request.name
        )
        try:
            return (await self._writer.create(made, context, size=request.size)).name
        except AlreadyExists as error:
            raise BadRequest(_TAKEN) from error

    async def change(self, context: WriteContext, uid: str, request: ElementRequest, version: int) -> None:
        """Raises what ``create`` does, NotFound for an unknown element, and PreconditionFailed where it has another version by now."""
        _check(request)
        namespace = context.identity.namespace
        view = await self._policy.view(context.identity, namespace)
        async with self._database.connection() as connection:
            found = await resources.get_many(connection, LIBRARY_PANEL, namespace, [uid])
            if not found:
                raise not_found()
            for verb in ("update", "get"):
                _demand(view, context, verb, uid, found[0].folder)
            folder = await common.find_folder(connection, context.identity.org_id, request.folder_uid, request.folder_number)
            before = (found[0].title, found[0].folder or "")
            after = (request.name or before[0], before[1] if folder is None else folder)
            if after[1] != before[1]:
                _demand(view, context, "update", "", after[1])
            if after != before:
                await _check_name(connection, context, *after, uid)

        def changed(stored: StoredObject) -> DesiredObject:
            spec = read_json(stored.spec) if request.model is None else dict(request.model)
            place = stored.folder or "" if folder is None else folder
            return common.replacement(stored, common.VERSION, spec, folder=place, title=request.name or stored.title)

        await self._writer.update(
            LIBRARY_PANEL, namespace, uid, changed, context, preconditions=Preconditions(generation=version), size=request.size
        )

    async def delete(self, context: WriteContext, uid: str) -> StoredObject:
        """Answers what was removed. Raises NotFound, and Forbidden for one that dashboards show."""
        async with self._database.connection() as connection:
            if await resources.version(connection, LIBRARY_PANEL, context.identity.namespace, uid) is None:
                raise not_found()
        return (await self._writer.delete(LIBRARY_PANEL, context.identity.namespace, uid, context)).stored


def not_found() -> NotFound:
    return NotFound("library element could not be found")


def _demand(view: View, context: WriteContext, verb: str, name: str, folder: str | None) -> None:
    """Before anything is told of other elements: whether a name is taken is for who may write there."""
    demand(view, LIBRARY_PANEL.actions[verb], LIBRARY_PANEL, name, folder or None, login=context.identity.login)


def _check(request: ElementRequest) -> None:
    if request.kind != PANEL:
        raise BadRequest(f"kind {request.kind} is not served: library elements are panels, kind {PANEL}")


async def _check_name(connection: Connection, context: WriteContext, name: str, folder: str, uid: str) -> None:
    """Raises BadRequest where another element in the folder has the name. Two that come at once may both have it."""
    looked_for = library_elements.ElementQuery(context.identity.org_id, EVERYTHING, name=name, folders=[folder], but=[uid])
    if (await library_elements.search(connection, looked_for, limit=1, offset=0)).total:
        raise BadRequest(_TAKEN)
