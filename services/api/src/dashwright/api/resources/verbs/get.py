"""Get: one object by its name."""

from dashwright.api.http.answer import Answer
from dashwright.api.http.call import Call
from dashwright.api.http.routing import Operation
from dashwright.api.resources import described, formats
from dashwright.api.resources.services import Services
from dashwright.api.resources.target import Target
from dashwright.common.stores.resources import Stored


def operation(target: Target) -> Operation:
    return described.operation("get", target, query=described.INCLUDED, answers={200: described.in_formats(target.kind)}, errors=(404, 406))


async def handle(target: Target, services: Services, call: Call) -> Answer:
    kind, namespace = target.kind, call.parameters["namespace"]
    form = formats.format_of(call)
    found = await services.shelves[kind.shelf].get(kind, namespace, call.parameters["name"])
    if isinstance(found, Stored):
        await services.guard.demand(call.identity, kind.actions["get"], found)
    return formats.one(form, kind, target.version, found)
