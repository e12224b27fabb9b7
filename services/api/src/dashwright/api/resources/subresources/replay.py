"""The subresource ``replay`` of dead letters: it publishes the message of one letter, or of all selected letters, again."""

from dashwright.api.domain.selectors import parse_selection
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, formats, options
from dashwright.api.resources.dead_letters import caller_of, selector_of
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.common.errors import BadRequest
from dashwright.common.models.dead_letter import DeadLetterReplay


def operation(target: Target) -> Operation:
    """Return the operation that replays one letter."""
    return descriptions.operation(
        "create",
        target,
        id_suffix="Replay",
        query=descriptions.DRY_RUN_PARAMETER,
        responses={200: descriptions.object_content(target.kind)},
        errors=(404, 406, 409, 503),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Replay the letter that the path names, unless it is replayed already, and respond with it."""
    response_format = formats.format_of(call)
    letter = await services.dead_letters.replay(caller_of(call), call.parameters["name"], dry_run=options.is_dry_run(call))
    return formats.object_response(response_format, target.kind, target.version, letter)


def collection_operation(target: Target) -> Operation:
    """Return the operation that replays selected letters."""
    return descriptions.operation(
        "create",
        target,
        id_suffix="ReplayOfCollection",
        query={**descriptions.SELECTOR_PARAMETERS, **descriptions.DRY_RUN_PARAMETER},
        responses={200: DeadLetterReplay},
        errors=(409, 503),
    )


async def handle_collection(target: Target, services: Services, call: Call) -> Response:
    """Replay the selected letters that are dead, and respond with their number."""
    kind, namespace = target.kind, call.parameters["namespace"]
    selection = parse_selection(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""), namespace)
    if selection.version_list is not None:
        raise BadRequest(f"{kind.plural} have no {selection.version_list.value}; select them by their own labels")
    counts = await services.dead_letters.replay_selected(caller_of(call), selector_of(selection), dry_run=options.is_dry_run(call))
    return json_response(
        DeadLetterReplay(
            kind="DeadLetterReplay",
            api_version=kind.api_version(target.version),
            replayed=counts.replayed,
            skipped=counts.skipped,
            remaining=counts.remaining,
        )
    )
