"""Create: a new object, under its name or one made from ``generateName``."""

from dashwright.api.http.call import Call
from dashwright.api.http.errors import permission_denied
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, formats
from dashwright.api.resources.options import warning_headers
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.storage import storage_of
from dashwright.common.kinds import kind as kinds


def operation(target: Target) -> Operation:
    """Return the operation of a create."""
    kind = target.kind
    return descriptions.operation(
        "create",
        target,
        query=descriptions.WRITING,
        request=descriptions.object_content(kind),
        responses={storage_of(kind).created_status: descriptions.object_content(kind)},
        errors=(404, 406, 409, 422, 424),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Create the object in the body and respond with it."""
    kind, form = target.kind, formats.format_of(call)
    # Before the body is read: callers without the permission must not cost parsing.
    require_creation(call, kind)
    storage = storage_of(kind)
    created, warnings = await storage.create(target, services, call)
    return formats.one(form, kind, target.version, created, storage.created_status, warning_headers(warnings))


def require_creation(call: Call, kind: kinds.Kind) -> None:
    """Raise Forbidden if the caller may not create objects of the kind anywhere."""
    if not all(call.evaluated.may(action, scope) for action, scope in kind.create_needs):
        raise permission_denied(*[action for action, _ in kind.creating])
