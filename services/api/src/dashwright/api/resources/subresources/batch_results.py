"""The subresource ``results`` of batches: the results of all items as one stream."""

from typing import Final

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import BINARY, Content, Operation
from dashwright.api.resources import descriptions
from dashwright.api.resources.pages import integer_parameter
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.subresources.batch import MAX_INDEX, item_state
from dashwright.common.media import ARROW, NDJSON, wants_arrow
from dashwright.common.models.batch import BatchItemResult

_QUERY: Final = {
    "state": "Only items in this state: pending, working, success, error or cancelled",
    "first": "The index of the first item, to continue a stream that was interrupted",
}


def operation(target: Target) -> Operation:
    """Return the operation that streams the results."""
    contents = (Content(BatchItemResult, (NDJSON,)), Content(BINARY, (ARROW,)))
    return descriptions.operation("list", target, id_suffix="Results", query=_QUERY, responses={200: contents}, errors=(404,))


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Respond with the results of the batch in the order of its items."""
    as_arrow = wants_arrow(call.accept)
    body = await services.batch_results.read(
        call.parameters["namespace"],
        call.parameters["name"],
        first=min(integer_parameter(call, "first"), MAX_INDEX),
        state=item_state(call.query.get("state", "")),
        as_arrow=as_arrow,
    )
    return Response(200, body, ARROW if as_arrow else NDJSON)
