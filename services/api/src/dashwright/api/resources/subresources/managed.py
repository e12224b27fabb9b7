"""Resources: what a repository manages."""

import asyncio

from dashwright.api.http.answer import Answer, json_answer
from dashwright.api.http.call import Call
from dashwright.api.http.routing import Operation
from dashwright.api.resources import described
from dashwright.api.resources.services import Services
from dashwright.api.resources.target import Target
from dashwright.api.stores import repositories
from dashwright.common.models.repository_views import ResourceList
from dashwright.common.stores import resources


def operation(target: Target) -> Operation:
    return described.operation("get", target, below="Resources", answers={200: ResourceList}, errors=(404,))


async def handle(target: Target, services: Services, call: Call) -> Answer:
    kind, namespace, name = target.kind, call.parameters["namespace"], call.parameters["name"]
    async with services.database.connection() as connection:
        await resources.get(connection, kind, namespace, name)
        found = await repositories.managed(connection, namespace, name)
    listed = ResourceList(kind="ResourceList", api_version=kind.api_version(target.version), metadata={}, items=list(found))
    # In a thread: there may be tens of thousands, and everybody else would wait.
    return (await asyncio.to_thread(json_answer, listed))._replace(may_compress=True)
