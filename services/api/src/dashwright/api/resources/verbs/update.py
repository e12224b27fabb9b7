"""Update: the replacement of a stored object by the sent object, if the stored object meets the preconditions."""

from functools import partial

from dashwright.api.http.call import Call, run_in_thread_if_large
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, formats, objects, options
from dashwright.api.resources.options import warning_headers
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.writing.desired_object import DesiredObject
from dashwright.common.stores.resources import StoredObject


def operation(target: Target) -> Operation:
    """Return the operation of an update."""
    kind = target.kind
    return descriptions.operation(
        "update",
        target,
        query=descriptions.WRITE_PARAMETERS,
        request=descriptions.object_content(kind),
        responses={200: descriptions.object_content(kind)},
        errors=(404, 406, 409, 412, 422),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Replace the object and respond with the result."""
    kind = target.kind
    namespace = call.parameters["namespace"]
    name = call.parameters["name"]
    response_format = formats.format_of(call)
    context, validation = options.write_context(call), options.validation_of(call)
    tree, size = await formats.read_body(call), len(await call.body())
    update = await run_in_thread_if_large(size, partial(objects.read_update, tree, kind, namespace, target.version, name, validation))

    def change(_: StoredObject) -> DesiredObject:
        return update.desired

    result = await services.writer.update(kind, namespace, name, change, context, preconditions=update.preconditions, size=size)
    return formats.object_response(response_format, kind, target.version, result.stored_object, headers=warning_headers(result.warnings))
