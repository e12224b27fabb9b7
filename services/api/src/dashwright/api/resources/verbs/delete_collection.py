"""Delete collection: the objects that selectors select, all of them or none."""

import orjson

from dashwright.api.domain.selectors import parse_selection
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, options
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.storage import storage_of
from dashwright.common.errors import BadRequest


def operation(target: Target) -> Operation:
    """Return the operation of a delete of a collection."""
    return descriptions.operation(
        "deleteCollectionOf",
        target,
        query={**descriptions.SELECTING, **descriptions.DELETING},
        request=descriptions.DELETE_OPTIONS,
        responses={200: descriptions.STATUS},
        errors=(404, 409, 413, 415),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Delete the selected objects and respond with a Status."""
    kind, namespace = target.kind, call.parameters["namespace"]
    selection = parse_selection(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""), namespace)
    if selection.special is not None:
        raise BadRequest(f"the {selection.special.value} cannot be deleted; select objects by their own labels")
    if call.query.get("limit") or call.query.get("continue"):
        raise BadRequest("a collection is deleted as a whole, not in pages; select fewer objects by labelSelector")
    request = await options.delete_request_of(call)
    await storage_of(kind).delete_collection(kind, services, call, selection, request)
    details = {"group": kind.group, "kind": kind.plural}
    return Response(200, orjson.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}))
