"""Delete collection: all objects that match the selectors, in one transaction."""

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
        query={**descriptions.SELECTOR_PARAMETERS, **descriptions.DELETE_PARAMETERS},
        request=descriptions.DELETE_OPTIONS_CONTENT,
        responses={200: descriptions.STATUS_CONTENT},
        errors=(404, 409, 413, 415),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Delete the selected objects and respond with a Status."""
    kind, namespace = target.kind, call.parameters["namespace"]
    selection = parse_selection(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""), namespace)
    if selection.version_list is not None:
        raise BadRequest(f"the {selection.version_list.value} cannot be deleted; select objects by their own labels")
    if call.query.get("limit") or call.query.get("continue"):
        raise BadRequest("a collection is deleted as a whole, not in pages; select fewer objects by labelSelector")
    request = await options.read_delete_request(call)
    await storage_of(kind).delete_collection(kind, services, call, selection, request)
    details = {"group": kind.group, "kind": kind.plural}
    return Response(200, orjson.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}))
