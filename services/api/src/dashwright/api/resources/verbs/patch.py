"""Patch: a change of an object by a patch in one of the formats, including server-side apply."""

from functools import partial
from typing import Final

from dashwright.api.domain.fields import ownership
from dashwright.api.http.call import Call, run_in_thread_if_large
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, formats, objects, options
from dashwright.api.resources.options import warning_headers
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.verbs import create
from dashwright.api.resources.writing import field_owners, patches
from dashwright.api.resources.writing.desired_object import MODIFIED_MESSAGE
from dashwright.common.errors import AlreadyExists, Conflict, NotFound, UnsupportedMediaType
from dashwright.common.kinds.kind import Kind

_MAX_ATTEMPTS: Final = 5
"""Limit on the attempts of an apply to update the object, or else create it."""


def operation(target: Target) -> Operation:
    """Return the operation of a patch."""
    return descriptions.operation(
        "patch",
        target,
        query=descriptions.PATCH_PARAMETERS,
        request=descriptions.patch_contents(target.kind, *patches.PATCH_BY_MEDIA_TYPE, patches.APPLY_PATCH),
        responses={200: descriptions.object_content(target.kind), 201: descriptions.object_content(target.kind)},
        errors=(404, 406, 409, 422),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Patch the object and respond with the result."""
    if formats.media_type_of(call) == patches.APPLY_PATCH:
        return await _apply(target, services, call)
    kind = target.kind
    namespace = call.parameters["namespace"]
    name = call.parameters["name"]
    response_format = formats.format_of(call)
    context = options.write_context(call)
    validation = options.validation_of(call)
    patch = patch_of(call)
    options.check_no_force(call)
    body = await call.body()
    # The body is parsed for each attempt, because the application of a patch changes the parsed tree.
    change = partial(objects.patched_object, lambda tree: patch(tree, objects.parse_tree(body)), target.version, validation)
    result = await services.writer.update(kind, namespace, name, change, context, size=len(body))
    return formats.object_response(response_format, kind, target.version, result.stored_object, headers=warning_headers(result.warnings))


def patch_of(call: Call) -> patches.Patch:
    """Return the patch function for the media type of the body. Raises UnsupportedMediaType for an unknown type."""
    media_type = formats.media_type_of(call)
    if media_type not in patches.PATCH_BY_MEDIA_TYPE:
        media_types = ", ".join((*patches.PATCH_BY_MEDIA_TYPE, patches.APPLY_PATCH))
        raise UnsupportedMediaType(f"the body of the request was in an unknown format - accepted media types include: {media_types}")
    return patches.PATCH_BY_MEDIA_TYPE[media_type]


async def _apply(target: Target, services: Services, call: Call) -> Response:
    """Apply the configuration in the body: update the object, or create it if it does not exist."""
    kind = target.kind
    version = target.version
    namespace = call.parameters["namespace"]
    name = call.parameters["name"]
    response_format = formats.format_of(call)
    context = options.apply_context(call)
    force = options.forces_conflicts(call)
    validation = options.validation_of(call)
    tree, size = await formats.read_apply_body(call), len(await call.body())
    config = await run_in_thread_if_large(size, partial(objects.read_apply_configuration, tree, kind, namespace, version, name, validation))
    timestamp = field_owners.format_time(services.clock.now())
    field_manager = ownership.FieldManager(context.field_manager, kind.api_version(version), timestamp)
    change = partial(field_owners.updated_object, config, version, field_manager, force)
    # Another attempt is needed if another client creates the object between the update and the create.
    for _ in range(_MAX_ATTEMPTS):
        try:
            result = await services.writer.update(kind, namespace, name, change, context, preconditions=config.preconditions, size=size)
        except NotFound as error:
            if not _is_about_object(error, kind, name):
                raise
        else:
            return formats.object_response(response_format, kind, version, result.stored_object, headers=warning_headers(result.warnings))
        create.require_extra_permissions(call, kind)
        desired = await run_in_thread_if_large(
            size, partial(field_owners.new_object, config, kind, namespace, version, name, field_manager)
        )
        try:
            created_object = await services.writer.create(desired, context, size=size)
        except AlreadyExists:
            continue
        return formats.object_response(response_format, kind, version, created_object, 201, warning_headers(desired.warnings))
    raise Conflict(f'Operation cannot be fulfilled on {kind.key} "{name}": {MODIFIED_MESSAGE}')


def _is_about_object(error: NotFound, kind: Kind, name: str) -> bool:
    """Return whether the object itself is missing, rather than its folder."""
    return error.details == kind.details(name)
