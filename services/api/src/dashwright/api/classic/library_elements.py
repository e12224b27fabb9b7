"""Library panels in the classic API: create, change and delete. A library panel has a name in addition to its title."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.classic import common
from dashwright.api.domain.access.object_scope import EVERYTHING
from dashwright.api.domain.access.view import AccessView, require_permission
from dashwright.api.resources.writing.desired_object import DesiredObject, Preconditions, WriteContext
from dashwright.api.resources.writing.writer import Writer
from dashwright.api.stores import library_elements
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import AlreadyExists, BadRequest, NotFound
from dashwright.common.json_documents import read_json
from dashwright.common.kinds.registry import LIBRARY_PANEL
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject

PANEL: Final = 1
"""Number of the only kind of library element."""

_NAME_IN_USE: Final = "library element with that name or UID already exists"


@dataclass(frozen=True, slots=True)
class ElementRequest:
    """A library panel to create or change. For a change, None keeps the stored value."""

    #: The name in lists, in addition to the panel's title.
    name: str | None
    #: Always ``PANEL``.
    kind: int
    #: The panel's JSON.
    model: Mapping[str, Any] | None
    #: None: use ``folder_id``. Without both, a new panel is at the root.
    folder_uid: str | None
    folder_id: int | None
    #: Bytes of the request.
    size: int


class LibraryElements:
    """The library panels of a caller's current organization."""

    def __init__(self, database: Database, policy: AccessPolicy, writer: Writer) -> None:
        self._database = database
        self._policy = policy
        self._writer = writer

    async def create(self, context: WriteContext, uid: str, request: ElementRequest) -> str:
        """Create a panel and return its uid, which is generated if ``uid`` is empty.

        Raises BadRequest for a missing name or model and for a name or uid in use, NotFound for an unknown folder, and Forbidden.
        """
        _check_kind(request)
        if not request.name or request.model is None:
            raise BadRequest("a library element needs a name and a model")
        view = await self._policy.view(context.identity, context.identity.namespace)
        async with self._database.connection() as connection:
            folder = await common.find_folder(connection, context.identity.org_id, request.folder_uid, request.folder_id) or ""
            _require_permission(view, context, "create", "", folder)
            await _check_name(connection, context, request.name, folder, uid)
        desired = common.new_object(
            LIBRARY_PANEL, uid or common.new_uid(), common.CLASSIC_VERSION, dict(request.model), folder=folder, title=request.name
        )
        try:
            return (await self._writer.create(desired, context, size=request.size)).name
        except AlreadyExists as error:  # This API returns 400 for a used name or uid, not 409 as the resource API does.
            raise BadRequest(_NAME_IN_USE) from error

    async def change(self, context: WriteContext, uid: str, request: ElementRequest, version: int) -> None:
        """Change a panel. Raises the errors of ``create``, NotFound for an unknown panel, and PreconditionFailed for another version."""
        _check_kind(request)
        namespace = context.identity.namespace
        view = await self._policy.view(context.identity, namespace)
        async with self._database.connection() as connection:
            matches = await resources.get_many(connection, LIBRARY_PANEL, namespace, [uid])
            if not matches:
                raise not_found()
            element = matches[0]
            # The response contains the element, so a change also needs permission to read it.
            for verb in ("update", "get"):
                _require_permission(view, context, verb, uid, element.folder)
            folder = await common.find_folder(connection, context.identity.org_id, request.folder_uid, request.folder_id)
            current_folder = element.folder or ""
            new_folder = current_folder if folder is None else folder
            new_name = request.name or element.title
            if new_folder != current_folder:  # With an empty name, the permission on all objects in the new folder is required.
                _require_permission(view, context, "update", "", new_folder)
            if (new_name, new_folder) != (element.title, current_folder):
                await _check_name(connection, context, new_name, new_folder, uid)

        def apply_change(current: StoredObject) -> DesiredObject:
            spec = read_json(current.spec) if request.model is None else dict(request.model)
            target_folder = (current.folder or "") if folder is None else folder
            return common.replacement(current, common.CLASSIC_VERSION, spec, folder=target_folder, title=request.name or current.title)

        await self._writer.update(
            LIBRARY_PANEL, namespace, uid, apply_change, context, preconditions=Preconditions(generation=version), size=request.size
        )

    async def delete(self, context: WriteContext, uid: str) -> StoredObject:
        """Delete a panel and return it. Raises NotFound, and Forbidden if dashboards show it."""
        async with self._database.connection() as connection:
            if await resources.find_resource_version(connection, LIBRARY_PANEL, context.identity.namespace, uid) is None:
                raise not_found()
        return (await self._writer.delete(LIBRARY_PANEL, context.identity.namespace, uid, context)).stored_object


def not_found() -> NotFound:
    """Return the error for an unknown element."""
    return NotFound("library element could not be found")


def _require_permission(view: AccessView, context: WriteContext, verb: str, name: str, folder: str | None) -> None:
    """Raise Forbidden without permission. Call this before ``_check_name``, so that only writers learn which names are in use."""
    require_permission(view, LIBRARY_PANEL.actions[verb], LIBRARY_PANEL, name, folder or None, login=context.identity.login)


def _check_kind(request: ElementRequest) -> None:
    """Raise BadRequest for any kind of element other than a panel."""
    if request.kind != PANEL:
        raise BadRequest(f"kind {request.kind} is not supported: library elements are panels, kind {PANEL}")


async def _check_name(connection: Connection, context: WriteContext, name: str, folder: str, uid: str) -> None:
    """Raise BadRequest if another element in the folder has the name. Two concurrent requests can both succeed."""
    query = library_elements.ElementQuery(context.identity.org_id, EVERYTHING, name=name, folders=[folder], except_uids=[uid])
    if (await library_elements.search(connection, query, limit=1, offset=0)).total:
        raise BadRequest(_NAME_IN_USE)
