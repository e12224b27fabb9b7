"""Subresources of a folder: the folders above it, the number of objects in it, and the rights of the caller."""

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions
from dashwright.api.resources.request import Target, read_object
from dashwright.api.resources.services import Services
from dashwright.api.resources.writing.edits import is_editable
from dashwright.api.stores import folders
from dashwright.common.models.folder import DescendantCount, DescendantCounts, FolderAccessInfo, FolderInfo, FolderInfoList
from dashwright.common.stores import resources


def counts_operation(target: Target) -> Operation:
    """Return the operation of ``counts``."""
    return descriptions.operation("get", target, id_suffix="Counts", responses={200: DescendantCounts}, errors=(404,))


async def counts(target: Target, services: Services, call: Call) -> Response:
    """Respond with the number of objects in a folder and all folders below it, by kind."""
    kind = target.kind
    namespace = call.parameters["namespace"]
    name = call.parameters["name"]
    async with services.database.connection() as connection:
        folder = await resources.get(connection, kind, namespace, name)
        counts_by_kind = await folders.counts(connection, namespace, name)
    await services.policy.require_permission(call.identity, kind.actions["get"], folder)
    items = [DescendantCount(group=row.group, resource=row.plural, count=row.object_count) for row in counts_by_kind]
    return json_response(DescendantCounts(kind="DescendantCounts", api_version=kind.api_version(target.version), counts=items))


def parents_operation(target: Target) -> Operation:
    """Return the operation of ``parents``."""
    return descriptions.operation("get", target, id_suffix="Parents", responses={200: FolderInfoList}, errors=(404,))


async def parents(target: Target, services: Services, call: Call) -> Response:
    """Respond with the folders from the root down to a folder.

    A folder that the caller may not read is left out, and so is its name as a parent.
    """
    kind = target.kind
    namespace = call.parameters["namespace"]
    name = call.parameters["name"]
    async with services.database.connection() as connection:
        folder = await resources.get(connection, kind, namespace, name)
        ancestors = await folders.ancestors(connection, namespace, name)
    view = await services.policy.require_permission(call.identity, kind.actions["get"], folder)
    readable_ancestors = [ancestor for ancestor in ancestors if view.may(kind.actions["get"], kind, ancestor.name, ancestor.parent)]
    readable_names = {ancestor.name for ancestor in readable_ancestors}
    items = [
        FolderInfo(name=ancestor.name, title=ancestor.title, parent=ancestor.parent if ancestor.parent in readable_names else None)
        for ancestor in readable_ancestors
    ]
    folder_info_list = FolderInfoList(kind="FolderInfoList", api_version=kind.api_version(target.version), items=items)
    return json_response(folder_info_list)


def access_operation(target: Target) -> Operation:
    """Return the operation of ``access``."""
    return descriptions.operation("get", target, id_suffix="Access", responses={200: FolderAccessInfo}, errors=(404,))


async def access(target: Target, services: Services, call: Call) -> Response:
    """Respond with the rights of the caller on a folder. A folder whose repository allows no edits can be neither saved nor deleted."""
    kind = target.kind
    folder, view = await read_object(kind, services, call)
    async with services.database.connection() as connection:
        allows_edits = await is_editable(connection, folder)

    def is_allowed(action: str) -> bool:
        return view.may(action, kind, folder.name, folder.folder)

    can_save = allows_edits and is_allowed(kind.actions["update"])
    access_info = FolderAccessInfo(
        kind="FolderAccessInfo",
        api_version=kind.api_version(target.version),
        can_save=can_save,
        can_edit=can_save,
        can_admin=is_allowed(f"{kind.area}.permissions:write"),
        can_delete=allows_edits and is_allowed(kind.actions["delete"]),
    )
    return json_response(access_info)
