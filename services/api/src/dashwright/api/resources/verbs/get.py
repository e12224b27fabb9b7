"""Get: one object by its name."""

from dashwright.api.http.answer import Answer
from dashwright.api.http.call import Call
from dashwright.api.http.routing import Operation
from dashwright.api.resources import described
from dashwright.api.resources.services import Services
from dashwright.api.resources.target import Target


def operation(target: Target) -> Operation:
    return described.operation("get", target, answers={200: described.shown(target.kind)}, errors=(404,))


async def handle(target: Target, services: Services, call: Call) -> Answer:
    return Answer(
        200,
        await services.shelves[target.kind.shelf].get(target.kind, call.parameters["namespace"], call.parameters["name"], target.version),
    )
