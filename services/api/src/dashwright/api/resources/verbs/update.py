"""Update: an object replaced by the sent one, if it is still in the state that the caller expects."""

from functools import partial

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, formats, objects, options
from dashwright.api.resources.options import warning_headers
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.threads import run_sized
from dashwright.api.resources.writing.desired_object import DesiredObject
from dashwright.common.stores.resources import StoredObject


def operation(target: Target) -> Operation:
    """Return the operation of an update."""
    kind = target.kind
    return descriptions.operation(
        "update",
        target,
        query=descriptions.WRITING,
        request=descriptions.object_content(kind),
        responses={200: descriptions.object_content(kind)},
        errors=(404, 406, 409, 412, 422),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Replace the object and respond with the result."""
    kind, namespace, name, form = target.kind, call.parameters["namespace"], call.parameters["name"], formats.format_of(call)
    context, validation = options.write_context(call), options.validation_of(call)
    tree, size = await formats.read_body(call), len(await call.body())
    sent = await run_sized(size, partial(objects.read_update, tree, kind, namespace, target.version, name, validation))

    def change(_: StoredObject) -> DesiredObject:
        return sent.desired

    changed = await services.writer.update(kind, namespace, name, change, context, preconditions=sent.preconditions, size=size)
    return formats.one(form, kind, target.version, changed.stored, headers=warning_headers(changed.warnings))
