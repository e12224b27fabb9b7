"""The subresource ``status``: a read returns the complete object, and a write changes only the status."""

from functools import partial

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, formats, objects, options
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.verbs import get
from dashwright.api.resources.verbs.patch import patch_of
from dashwright.api.resources.writing import patches
from dashwright.common.stores.resources import StoredObject

handle = get.handle


def operation(target: Target) -> Operation:
    """Return the operation that reads the object."""
    return descriptions.operation(
        "get",
        target,
        id_suffix="Status",
        query=descriptions.INCLUDE_OBJECT_PARAMETER,
        responses={200: descriptions.object_content(target.kind)},
        errors=(404, 406),
    )


def replace_operation(target: Target) -> Operation:
    """Return the operation that replaces the status."""
    return _write_operation("update", target, descriptions.object_content(target.kind))


def patch_operation(target: Target) -> Operation:
    """Return the operation that patches the status."""
    return _write_operation("patch", target, descriptions.patch_contents(target.kind, *patches.PATCH_BY_MEDIA_TYPE))


async def replace(target: Target, services: Services, call: Call) -> Response:
    """Replace the status and respond with the object."""
    kind = target.kind
    namespace = call.parameters["namespace"]
    name = call.parameters["name"]
    response_format = formats.format_of(call)
    context = options.write_context(call, subresource="status")
    update = objects.read_status_update(await formats.read_body(call), kind, namespace, target.version, name)

    def change(_: StoredObject) -> dict[str, object]:
        return update.status

    result = await services.writer.update_status(kind, namespace, name, change, context, preconditions=update.preconditions)
    return formats.object_response(response_format, kind, target.version, result.stored_object)


async def patch(target: Target, services: Services, call: Call) -> Response:
    """Patch the status and respond with the object."""
    kind = target.kind
    response_format = formats.format_of(call)
    apply_patch = patch_of(call)
    context, body = options.write_context(call, subresource="status"), await call.body()
    # The body is parsed when it is applied, because the application of a patch changes the parsed tree.
    change = partial(objects.patched_status, lambda tree: apply_patch(tree, objects.parse_tree(body)), target.version)
    result = await services.writer.update_status(kind, call.parameters["namespace"], call.parameters["name"], change, context)
    return formats.object_response(response_format, kind, target.version, result.stored_object)


def _write_operation(verb: str, target: Target, request: object) -> Operation:
    """Return the operation of a replacement or patch of the status. ``request`` is the description of its body."""
    return descriptions.operation(
        verb,
        target,
        id_suffix="Status",
        query=descriptions.WRITE_PARAMETERS,
        request=request,
        responses={200: descriptions.object_content(target.kind)},
        errors=(404, 406, 409, 422),
    )
