"""Delete collection: the objects that selectors name, all of them or none."""

import orjson

from dashwright.api.domain.selectors import parse_selection
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, jobs, options
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.common.errors import BadRequest
from dashwright.common.kinds import kind as kinds


def operation(target: Target) -> Operation:
    return descriptions.operation(
        "deleteCollectionOf",
        target,
        query={**descriptions.SELECTING, **descriptions.DELETING},
        request=descriptions.DELETE_OPTIONS,
        responses={200: descriptions.STATUS},
        errors=(404, 409, 413, 415),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    kind, namespace = target.kind, call.parameters["namespace"]
    selection = parse_selection(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""), namespace)
    if selection.special is not None:
        raise BadRequest(f"what is selected by {selection.special.value} cannot be removed here")
    if call.query.get("limit") or call.query.get("continue"):
        raise BadRequest("a collection is removed whole, not in pages; select fewer objects by labelSelector")
    wanted = await options.delete_request_of(call)
    if kind.storage is kinds.Storage.JOBS:
        await jobs.delete_selected(services.jobs, kind, namespace, selection, wanted, call.actor)
    else:
        context = options.write_context(call, dry_run=wanted.dry_run)
        await services.writer.delete_selected(
            kind, namespace, selection, context, preconditions=wanted.preconditions, cascade=wanted.cascade, grace=wanted.grace
        )
    details = {"group": kind.group, "kind": kind.plural}
    return Response(200, orjson.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}))
