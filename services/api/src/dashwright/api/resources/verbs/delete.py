"""Delete: one object, where it is still what the caller takes it to be."""

import orjson

from dashwright.api.http.answer import Answer
from dashwright.api.http.call import Call
from dashwright.api.http.routing import Operation
from dashwright.api.resources import described, options
from dashwright.api.resources.services import Services
from dashwright.api.resources.target import Target


def operation(target: Target) -> Operation:
    return described.operation(
        "delete",
        target,
        query=described.DRY_RUN,
        request=described.DeleteOptions,
        answers={200: described.STATUS},
        errors=(404, 409, 413, 415),
    )


async def handle(target: Target, services: Services, call: Call) -> Answer:
    kind, name = target.kind, call.parameters["name"]
    options.refuse_dry_run(call)
    uid = await services.shelves[target.kind.shelf].delete(
        kind, call.parameters["namespace"], name, await options.preconditions_of(call), call.actor
    )
    details = {"name": name, "group": kind.group, "kind": kind.plural, "uid": uid}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return Answer(200, orjson.dumps(status))
