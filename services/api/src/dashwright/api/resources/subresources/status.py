"""The sub-resource ``status``: the whole object, at the address where only its status is written."""

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
        below="Status",
        query=descriptions.INCLUDED,
        responses={200: descriptions.object_content(target.kind)},
        errors=(404, 406),
    )


def operation_of_replace(target: Target) -> Operation:
    """Return the operation that replaces the status."""
    return _writing("update", target, descriptions.object_content(target.kind))


def operation_of_patch(target: Target) -> Operation:
    """Return the operation that patches the status."""
    return _writing("patch", target, descriptions.patch_contents(target.kind, *patches.BY_TYPE))


async def replace(target: Target, services: Services, call: Call) -> Response:
    """Replace the status and respond with the object."""
    kind, namespace, name, form = target.kind, call.parameters["namespace"], call.parameters["name"], formats.format_of(call)
    context = options.write_context(call, subresource="status")
    sent = objects.read_status_update(await formats.read_body(call), kind, namespace, target.version, name)

    def change(_: StoredObject) -> dict[str, object]:
        return sent.status

    changed = await services.writer.update_status(kind, namespace, name, change, context, preconditions=sent.preconditions)
    return formats.one(form, kind, target.version, changed.stored)


async def patch(target: Target, services: Services, call: Call) -> Response:
    """Patch the status and respond with the object."""
    kind, form, apply = target.kind, formats.format_of(call), patch_of(call)
    context, body = options.write_context(call, subresource="status"), await call.body()
    change = partial(objects.patched_status, lambda tree: apply(tree, objects.read_tree(body)), target.version)
    changed = await services.writer.update_status(kind, call.parameters["namespace"], call.parameters["name"], change, context)
    return formats.one(form, kind, target.version, changed.stored)


def _writing(verb: str, target: Target, request: object) -> Operation:
    return descriptions.operation(
        verb,
        target,
        below="Status",
        query=descriptions.WRITING,
        request=request,
        responses={200: descriptions.object_content(target.kind)},
        errors=(404, 406, 409, 422),
    )
