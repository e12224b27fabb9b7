"""Get: one object by its name."""

from dashwright.api.domain.access.view import demand
from dashwright.api.http.answer import Answer
from dashwright.api.http.call import Call
from dashwright.api.http.routing import Operation
from dashwright.api.resources import described
from dashwright.api.resources.services import Services
from dashwright.api.resources.target import Target
from dashwright.common.stores import resources


def operation(target: Target) -> Operation:
    return described.operation("get", target, answers={200: described.shown(target.kind)}, errors=(404,))


async def handle(target: Target, services: Services, call: Call) -> Answer:
    kind, namespace, name = target.kind, call.parameters["namespace"], call.parameters["name"]
    if not kind.in_folder:
        return Answer(200, await services.shelves[kind.shelf].get(kind, namespace, name, target.version))
    view = await services.guard.view(call.identity, namespace)
    async with services.database.connection() as connection:
        stored = await resources.get(connection, kind, namespace, name)
    demand(view, kind.actions["get"], kind, name, stored.folder, login=call.identity.login)
    return Answer(200, stored.encode(target.version))
