"""Sub-resources of a folder: the folders above it, and the number of objects in it."""

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.stores import folders
from dashwright.common.models.folder import DescendantCount, DescendantCounts, FolderInfo, FolderInfoList
from dashwright.common.stores import resources


def counts_operation(target: Target) -> Operation:
    """Return the operation of ``counts``."""
    return descriptions.operation("get", target, below="Counts", responses={200: DescendantCounts}, errors=(404,))


async def counts(target: Target, services: Services, call: Call) -> Response:
    """Respond with the number of objects in a folder and all folders below it, by kind."""
    kind, namespace, name = target.kind, call.parameters["namespace"], call.parameters["name"]
    async with services.database.connection() as connection:
        stored = await resources.get(connection, kind, namespace, name)
        found = await folders.counts(connection, namespace, name)
    await services.policy.demand(call.identity, kind.actions["get"], stored)
    items = [DescendantCount(group=each.group, resource=each.plural, count=each.objects) for each in found]
    return json_response(DescendantCounts(kind="DescendantCounts", api_version=kind.api_version(target.version), counts=items))


def parents_operation(target: Target) -> Operation:
    """Return the operation of ``parents``."""
    return descriptions.operation("get", target, below="Parents", responses={200: FolderInfoList}, errors=(404,))


async def parents(target: Target, services: Services, call: Call) -> Response:
    """Respond with the folders from the root down to a folder.

    A folder that the caller may not read is left out, and so is its name as a parent.
    """
    kind, namespace, name = target.kind, call.parameters["namespace"], call.parameters["name"]
    async with services.database.connection() as connection:
        stored = await resources.get(connection, kind, namespace, name)
        way = await folders.ancestors(connection, namespace, name)
    view = await services.policy.demand(call.identity, kind.actions["get"], stored)
    seen = [step for step in way if view.may(kind.actions["get"], kind, step.name, step.parent)]
    named = {step.name for step in seen}
    items = [FolderInfo(name=step.name, title=step.title, parent=step.parent if step.parent in named else None) for step in seen]
    listed = FolderInfoList(kind="FolderInfoList", api_version=kind.api_version(target.version), items=items)
    return json_response(listed)
