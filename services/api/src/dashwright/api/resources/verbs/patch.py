"""Patch: a change of an object in one of the patch formats, including server-side apply."""

from functools import partial
from typing import Final

from dashwright.api.domain.fields import ownership
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, formats, objects, options
from dashwright.api.resources.options import warning_headers
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.threads import run_sized
from dashwright.api.resources.verbs import create
from dashwright.api.resources.writing import field_owners, patches
from dashwright.api.resources.writing.desired_object import MODIFIED
from dashwright.common.errors import AlreadyExists, Conflict, NotFound, UnsupportedMediaType
from dashwright.common.kinds.kind import Kind
from dashwright.common.media import ranges

_TRIES: Final = 5


def operation(target: Target) -> Operation:
    """Return the operation of a patch."""
    return descriptions.operation(
        "patch",
        target,
        query=descriptions.PATCHING,
        request=descriptions.patch_contents(target.kind, *patches.BY_TYPE, patches.APPLY_PATCH),
        responses={200: descriptions.object_content(target.kind), 201: descriptions.object_content(target.kind)},
        errors=(404, 406, 409, 422),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Patch the object and respond with the result."""
    if _type_of(call) == patches.APPLY_PATCH:
        return await _apply(target, services, call)
    kind, namespace, name, form = target.kind, call.parameters["namespace"], call.parameters["name"], formats.format_of(call)
    context, validation, patch = options.write_context(call), options.validation_of(call), patch_of(call)
    options.check_no_force(call)
    body = await call.body()
    # The body is parsed for each try, because applying a patch changes the parsed tree.
    change = partial(objects.patched_object, lambda tree: patch(tree, objects.read_tree(body)), target.version, validation)
    changed = await services.writer.update(kind, namespace, name, change, context, size=len(body))
    return formats.one(form, kind, target.version, changed.stored, headers=warning_headers(changed.warnings))


def patch_of(call: Call) -> patches.Patch:
    """Return the patch function for the media type of the body. Raises UnsupportedMediaType for an unknown type."""
    name = _type_of(call)
    if name not in patches.BY_TYPE:
        known = ", ".join((*patches.BY_TYPE, patches.APPLY_PATCH))
        raise UnsupportedMediaType(f"the body of the request was in an unknown format - accepted media types include: {known}")
    return patches.BY_TYPE[name]


def _type_of(call: Call) -> str:
    return next(ranges(call.headers.get("Content-Type", ""))).name


async def _apply(target: Target, services: Services, call: Call) -> Response:
    """Apply the configuration in the body: update the object, or create it if it does not exist."""
    kind, version, namespace, name = target.kind, target.version, call.parameters["namespace"], call.parameters["name"]
    form, context, force, validation = (
        formats.format_of(call),
        options.apply_context(call),
        options.is_forced(call),
        options.validation_of(call),
    )
    tree, size = await formats.read_applied(call), len(await call.body())
    config = await run_sized(size, partial(objects.read_apply_configuration, tree, kind, namespace, version, name, validation))
    writer = ownership.FieldManager(context.manager, kind.api_version(version), field_owners.time_text(services.clock.now()))
    change = partial(field_owners.updated_object, config, version, writer, force)
    # Another client can create the object after the update found none, and delete it after the create found one.
    for _ in range(_TRIES):
        try:
            changed = await services.writer.update(kind, namespace, name, change, context, preconditions=config.preconditions, size=size)
        except NotFound as missing:
            if not _is_about(missing, kind, name):
                raise
        else:
            return formats.one(form, kind, version, changed.stored, headers=warning_headers(changed.warnings))
        create.require_creation(call, kind)
        desired = await run_sized(size, partial(field_owners.new_object, config, kind, namespace, version, name, writer))
        try:
            stored = await services.writer.create(desired, context, size=size)
        except AlreadyExists:
            continue
        return formats.one(form, kind, version, stored, 201, warning_headers(desired.warnings))
    raise Conflict(f'Operation cannot be fulfilled on {kind.key} "{name}": {MODIFIED}')


def _is_about(missing: NotFound, kind: Kind, name: str) -> bool:
    """Return whether the object itself is missing, rather than its folder."""
    return missing.details == kind.details(name)
