"""Create: a new object with the sent name, or with a name generated from ``generateName``."""

from dashwright.api.http.call import Call
from dashwright.api.http.errors import permission_denied
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, formats
from dashwright.api.resources.options import warning_headers
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.storage import storage_of
from dashwright.common.kinds.kind import Kind


def operation(target: Target) -> Operation:
    """Return the operation of a create."""
    kind = target.kind
    return descriptions.operation(
        "create",
        target,
        query=descriptions.WRITE_PARAMETERS,
        request=descriptions.object_content(kind),
        responses={storage_of(kind).created_status: descriptions.object_content(kind)},
        errors=(404, 406, 409, 422, 424),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Create the object in the body and respond with it."""
    kind, response_format = target.kind, formats.format_of(call)
    # Before the body is read, so that no body is parsed for callers without the permissions.
    require_extra_permissions(call, kind)
    storage = storage_of(kind)
    created_object, warnings = await storage.create(target, services, call)
    return formats.object_response(response_format, kind, target.version, created_object, storage.created_status, warning_headers(warnings))


def require_extra_permissions(call: Call, kind: Kind) -> None:
    """Raise Forbidden if the caller lacks a permission that a creation requires in addition to the kind's create action."""
    if not all(call.authorized_identity.may(action, scope) for action, scope in kind.extra_create_permissions):
        raise permission_denied(*[action for action, _ in kind.create_permissions])
