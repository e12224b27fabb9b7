"""Delete: one object, if it meets the preconditions. The response has the object if it waits for finalizers."""

import orjson

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, formats, options
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.storage import storage_of


def operation(target: Target) -> Operation:
    """Return the operation of a delete."""
    return descriptions.operation(
        "delete",
        target,
        query=descriptions.DELETE_PARAMETERS,
        request=descriptions.DELETE_OPTIONS_CONTENT,
        responses={200: descriptions.STATUS_CONTENT},
        errors=(404, 406, 409, 413, 415),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Delete the object; respond with a Status, or with the object if it waits for finalizers."""
    response_format = formats.format_of(call)
    request = await options.read_delete_request(call)
    removal = await storage_of(target.kind).delete(target.kind, services, call, request)
    if removal.waiting_object is not None:
        return formats.object_response(response_format, target.kind, target.version, removal.waiting_object)
    return _deleted_status(target, call.parameters["name"], removal.uid)


def _deleted_status(target: Target, name: str, uid: str) -> Response:
    """Return the Status of a deleted object."""
    details = {**target.kind.details(name), "uid": uid}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return Response(200, orjson.dumps(status))
