"""Library panels in the classic API: create, change and delete, under a name in addition to the panel's title."""

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
"""The only kind of library element."""

_TAKEN: Final = "library element with that name or UID already exists"


@dataclass(frozen=True, slots=True)
class ElementRequest:
    """A library panel to create or change. For a change, None keeps the stored value."""

    #: The name in lists, in addition to the panel's title.
    name: str | None
    #: Always ``PANEL``.
    kind: int
    #: The panel's JSON.
    model: Mapping[str, Any] | None
    #: None: use ``folder_number``.
    folder_uid: str | None
    folder_number: int | None
    #: Bytes of the request.
    size: int


class LibraryElements:
    """The library panels of a caller's current organization."""

    def __init__(self, database: Database, policy: AccessPolicy, writer: Writer) -> None:
        self._database = database
        self._policy = policy
        self._writer = writer

    async def create(self, context: WriteContext, uid: str, request: ElementRequest) -> str:
        """Create a panel and return its uid, which is generated if it is empty.

        Raises BadRequest for a missing name or model and for a name or uid in use, NotFound for an unknown folder, and Forbidden.
        """
        _check(request)
        if not request.name or request.model is None:
            raise BadRequest("a library element needs a name and a model")
        view = await self._policy.view(context.identity, context.identity.namespace)
        async with self._database.connection() as connection:
            folder = await common.find_folder(connection, context.identity.org_id, request.folder_uid, request.folder_number) or ""
            _demand(view, context, "create", "", folder)
            await _check_name(connection, context, request.name, folder, uid)
        desired = common.new_object(
            LIBRARY_PANEL, uid or common.new_uid(), common.VERSION, dict(request.model), folder=folder, title=request.name
        )
        try:
            return (await self._writer.create(desired, context, size=request.size)).name
        except AlreadyExists as error:
            raise BadRequest(_TAKEN) from error

    async def change(self, context: WriteContext, uid: str, request: ElementRequest, version: int) -> None:
        """Change a panel. Raises what ``create`` raises, NotFound for an unknown panel, and PreconditionFailed for another version."""
        _check(request)
        namespace = context.identity.namespace
        view = await self._policy.view(context.identity, namespace)
        async with self._database.connection() as connection:
            found = await resources.get_many(connection, LIBRARY_PANEL, namespace, [uid])
            if not found:
                raise not_found()
            # The response shows the whole element, so a change needs permission to read it.
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
        """Delete a panel and return it. Raises NotFound, and Forbidden if dashboards show it."""
        async with self._database.connection() as connection:
            if await resources.version(connection, LIBRARY_PANEL, context.identity.namespace, uid) is None:
                raise not_found()
        return (await self._writer.delete(LIBRARY_PANEL, context.identity.namespace, uid, context)).stored


def not_found() -> NotFound:
    """Return the error for an unknown element."""
    return NotFound("library element could not be found")


def _demand(view: View, context: WriteContext, verb: str, name: str, folder: str | None) -> None:
    """Raise Forbidden without permission, before the name is checked: only writers may learn which names are in use."""
    demand(view, LIBRARY_PANEL.actions[verb], LIBRARY_PANEL, name, folder or None, login=context.identity.login)


def _check(request: ElementRequest) -> None:
    if request.kind != PANEL:
        raise BadRequest(f"kind {request.kind} is not served: library elements are panels, kind {PANEL}")


async def _check_name(connection: Connection, context: WriteContext, name: str, folder: str, uid: str) -> None:
    """Raise BadRequest if another element in the folder has the name. Two concurrent requests can both succeed."""
    query = library_elements.ElementQuery(context.identity.org_id, EVERYTHING, name=name, folders=[folder], but=[uid])
    if (await library_elements.search(connection, query, limit=1, offset=0)).total:
        raise BadRequest(_TAKEN)
