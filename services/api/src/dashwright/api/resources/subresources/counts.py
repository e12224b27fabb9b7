"""Counts: how much lies in a folder, at any depth."""

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions
from dashwright.api.resources.services import Services
from dashwright.api.resources.target import Target
from dashwright.api.stores import folders
from dashwright.common.models.folder import DescendantCount, DescendantCounts
from dashwright.common.stores import resources


def operation(target: Target) -> Operation:
    return descriptions.operation("get", target, below="Counts", responses={200: DescendantCounts}, errors=(404,))


async def handle(target: Target, services: Services, call: Call) -> Response:
    kind, namespace, name = target.kind, call.parameters["namespace"], call.parameters["name"]
    async with services.database.connection() as connection:
        stored = await resources.get(connection, kind, namespace, name)
        found = await folders.counts(connection, namespace, name)
    await services.policy.demand(call.identity, kind.actions["get"], stored)
    counts = [DescendantCount(group=each.group, resource=each.plural, count=each.objects) for each in found]
    return json_response(DescendantCounts(kind="DescendantCounts", api_version=kind.api_version(target.version), counts=counts))
