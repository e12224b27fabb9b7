"""Delete: one object, if it is still in the state that the caller expects. An object with finalizers is returned and waits for them."""

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
        query=descriptions.DELETING,
        request=descriptions.DELETE_OPTIONS,
        responses={200: descriptions.STATUS},
        errors=(404, 406, 409, 413, 415),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Delete the object; respond with a Status, or with the object if it waits for finalizers."""
    form = formats.format_of(call)
    request = await options.delete_request_of(call)
    removal = await storage_of(target.kind).delete(target.kind, services, call, request)
    if removal.waiting is not None:
        return formats.one(form, target.kind, target.version, removal.waiting)
    return _deleted_status(target, call.parameters["name"], removal.uid)


def _deleted_status(target: Target, name: str, uid: str) -> Response:
    """Return the Status of a deleted object."""
    details = {**target.kind.details(name), "uid": uid}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return Response(200, orjson.dumps(status))
