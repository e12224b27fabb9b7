"""Update: an object replaced by the one that is sent, where it is still what the caller takes it to be."""

from functools import partial

from dashwright.api.http.answer import Answer
from dashwright.api.http.call import Call
from dashwright.api.http.routing import Operation
from dashwright.api.resources import answers, described, objects, options
from dashwright.api.resources.services import Services
from dashwright.api.resources.target import Target
from dashwright.api.resources.unknown import Validation
from dashwright.api.resources.writing.wanted import Wanted
from dashwright.api.resources.writing.writer import aside
from dashwright.common.stores.resources import Stored


def operation(target: Target) -> Operation:
    kind = target.kind
    return described.operation(
        "update",
        target,
        query=described.WRITING,
        request=described.sent(kind),
        answers={200: described.shown(kind)},
        errors=(404, 409, 412, 422),
    )


async def handle(target: Target, services: Services, call: Call) -> Answer:
    namespace, name = call.parameters["namespace"], call.parameters["name"]
    by, validation, body = options.writer_of(call), options.validation_of(call), await call.body()
    sent = await aside(len(body), partial(_read, body, target, namespace, name, validation))

    def change(_: Stored) -> Wanted:
        return sent.wanted

    changed = await services.writer.update(target.kind, namespace, name, change, by, expect=sent.expect, size=len(body))
    return answers.one(target, changed.stored, warnings=changed.warnings)


def _read(body: bytes, target: Target, namespace: str, name: str, validation: Validation) -> objects.Sent:
    return objects.read(objects.read_tree(body), target.kind, namespace, target.version, name, validation)
