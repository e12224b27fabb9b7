"""Patch: a change of an object, told by one of the patch formats."""

from functools import partial

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, formats, objects, options
from dashwright.api.resources.field_validation import warning_headers
from dashwright.api.resources.services import Services
from dashwright.api.resources.target import Target
from dashwright.api.resources.verbs import apply
from dashwright.api.resources.writing import patches
from dashwright.common.errors import UnsupportedMediaType
from dashwright.common.media import ranges


def operation(target: Target) -> Operation:
    return descriptions.operation(
        "patch",
        target,
        query=descriptions.PATCHING,
        request=descriptions.patch_contents(target.kind, *patches.BY_TYPE, patches.APPLY_PATCH),
        responses={200: descriptions.object_content(target.kind), 201: descriptions.object_content(target.kind)},
        errors=(404, 406, 409, 422),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    if _type_of(call) == patches.APPLY_PATCH:
        return await apply.handle(target, services, call)
    kind, namespace, name, form = target.kind, call.parameters["namespace"], call.parameters["name"], formats.format_of(call)
    context, validation, patch = options.write_context(call), options.validation_of(call), patch_of(call)
    options.check_no_force(call)
    body = await call.body()
    # Read each time it is applied: what an earlier try changed of it is forgotten.
    change = partial(objects.patched_object, lambda tree: patch(tree, objects.read_tree(body)), target.version, validation)
    changed = await services.writer.update(kind, namespace, name, change, context, size=len(body))
    return formats.one(form, kind, target.version, changed.stored, headers=warning_headers(changed.warnings))


def patch_of(call: Call) -> patches.Patch:
    """How the body is meant. Raises UnsupportedMediaType that names what is understood."""
    name = _type_of(call)
    if name not in patches.BY_TYPE:
        known = ", ".join((*patches.BY_TYPE, patches.APPLY_PATCH))
        raise UnsupportedMediaType(f"the body of the request was in an unknown format - accepted media types include: {known}")
    return patches.BY_TYPE[name]


def _type_of(call: Call) -> str:
    return next(ranges(call.headers.get("Content-Type", ""))).name
