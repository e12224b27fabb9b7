"""The subresources of batches: their items, and requests to close, cancel and retry them."""

from typing import Final

from pydantic import Field

from dashwright.api.domain import unknown_fields
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Content, Operation
from dashwright.api.resources import descriptions, formats, options
from dashwright.api.resources.pages import integer_parameter
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.media import JSON
from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.batch import BatchItemList, BatchItemView, BatchRetry, ItemState
from dashwright.common.models.causes import sentence
from dashwright.common.models.provisioning import JobStatus
from dashwright.common.stores.batches import ListedItem

#: Numbers of items on a page, by default and at most.
_DEFAULT_LIMIT, _MAX_LIMIT = 500, 5000
#: Limit on the index of an item: the largest value of the column type integer.
MAX_INDEX: Final = 2**31 - 1
#: Limit on the ids that a request to retry items names.
_MAX_IDS: Final = 10_000

_ITEMS_QUERY: Final = {
    "state": "Only items in this state: pending, working, success, error or cancelled",
    "limit": f"Maximum number of items on a page, by default {_DEFAULT_LIMIT}",
    "continue": "The index of the first item of the page: the value continue of the previous page",
}


class BatchRetryOptions(ApiModel):
    """Items to retry."""

    states: list[ItemState] = Field(
        default=[ItemState.ERROR, ItemState.CANCELLED],
        min_length=1,
        # A strict field accepts no strings as members of an enum.
        strict=False,
        description="The states in which items ended: error, cancelled or success",
    )
    ids: list[str] | None = Field(default=None, max_length=_MAX_IDS, description="Only the items with these ids")


def items_operation(target: Target) -> Operation:
    """Return the operation that lists the items."""
    return descriptions.operation("list", target, id_suffix="Items", query=_ITEMS_QUERY, responses={200: BatchItemList}, errors=(404,))


async def list_items(target: Target, services: Services, call: Call) -> Response:
    """Respond with a page of the items of the batch."""
    page = await services.batches.list_items(
        call.parameters["namespace"],
        call.parameters["name"],
        first=min(integer_parameter(call, "continue"), MAX_INDEX),
        limit=min(integer_parameter(call, "limit") or _DEFAULT_LIMIT, _MAX_LIMIT),
        state=item_state(call.query.get("state", "")),
    )
    return json_response(
        BatchItemList(
            kind="BatchItemList",
            api_version=target.kind.api_version(target.version),
            items=[_view(item) for item in page.items],
            continue_=page.next_index,
        )
    )


def close_operation(target: Target) -> Operation:
    """Return the operation that closes the batch."""
    return _change_operation(target, "Close")


async def close(target: Target, services: Services, call: Call) -> Response:
    """Close the batch, and respond with it."""
    response_format = formats.format_of(call)
    batch = await services.batches.close(
        call.actor, call.parameters["namespace"], call.parameters["name"], dry_run=options.is_dry_run(call)
    )
    return formats.object_response(response_format, target.kind, target.version, batch)


def cancel_operation(target: Target) -> Operation:
    """Return the operation that cancels the batch."""
    return _change_operation(target, "Cancel")


async def cancel(target: Target, services: Services, call: Call) -> Response:
    """Request the cancellation of the batch, and respond with the batch."""
    response_format = formats.format_of(call)
    batch = await services.batches.cancel(
        call.actor, call.parameters["namespace"], call.parameters["name"], dry_run=options.is_dry_run(call)
    )
    return formats.object_response(response_format, target.kind, target.version, batch)


def retry_operation(target: Target) -> Operation:
    """Return the operation that retries items."""
    return descriptions.operation(
        "create",
        target,
        id_suffix="Retry",
        query=descriptions.DRY_RUN_PARAMETER,
        request=Content(BatchRetryOptions, (JSON,), is_optional=True),
        responses={200: BatchRetry},
        errors=(404, 409, 422),
    )


async def retry(target: Target, services: Services, call: Call) -> Response:
    """Make items of the batch pending again, and respond with their number."""
    request = await _retry_options(call)
    if not set(request.states) <= {ItemState.ERROR, ItemState.CANCELLED, ItemState.SUCCESS}:
        raise BadRequest("states: only items that ended can be retried; give error, cancelled or success")
    retried = await services.batches.retry(
        call.actor,
        call.parameters["namespace"],
        call.parameters["name"],
        states=request.states,
        ids=request.ids,
        dry_run=options.is_dry_run(call),
    )
    return json_response(BatchRetry(kind="BatchRetry", api_version=target.kind.api_version(target.version), retried=retried))


async def _retry_options(call: Call) -> BatchRetryOptions:
    """Return the options in the body, or the defaults. Raises Invalid for unknown members: a misspelt ``ids`` would retry all items."""
    if not (await call.body()).strip():
        return BatchRetryOptions()
    retry_options = await call.model(BatchRetryOptions)
    if causes := unknown_fields.causes(unknown_fields.find_in_value(BatchRetryOptions, await call.json(), "")):
        raise Invalid(sentence(causes), causes=causes)
    return retry_options


def _change_operation(target: Target, id_suffix: str) -> Operation:
    """Return an operation without a body that changes a batch and returns it."""
    return descriptions.operation(
        "create",
        target,
        id_suffix=id_suffix,
        query=descriptions.DRY_RUN_PARAMETER,
        responses={200: descriptions.object_content(target.kind)},
        errors=(404, 406),
    )


def item_state(value: str) -> ItemState | None:
    """Return the state that a query selects, or None for an empty value. Raises BadRequest for an unknown state."""
    try:
        return ItemState(value) if value else None
    except ValueError as error:
        raise BadRequest(f"state: {value[:80]!r} is unknown; give {', '.join(ItemState)}") from error


def _view(item: ListedItem) -> BatchItemView:
    """Return an item as the API shows it. The error is that of its job."""
    error = None
    if item.state in (ItemState.ERROR, ItemState.CANCELLED) and item.status:
        error = JobStatus.model_validate_json(item.status).error
    return BatchItemView(
        index=item.index, id=item.id, kind=item.kind, state=ItemState(item.state), attempts=item.attempts, job=item.job, error=error
    )
