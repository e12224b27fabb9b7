"""Get: one object by its name."""

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, formats
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.storage import storage_of


def operation(target: Target) -> Operation:
    """Return the operation of a get."""
    return descriptions.operation(
        "get",
        target,
        query=descriptions.INCLUDE_OBJECT_PARAMETER,
        responses={200: descriptions.object_content(target.kind)},
        errors=(404, 406),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Respond with the object that the path names."""
    response_format = formats.format_of(call)
    return formats.object_response(
        response_format, target.kind, target.version, await storage_of(target.kind).get(target.kind, services, call)
    )
