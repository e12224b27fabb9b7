"""The submission of items to a batch, as lines of JSON."""

from typing import Final

from dashwright.api.batches.upload import UploadOptions
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Content, Operation
from dashwright.api.resources import descriptions, formats, options
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.common.errors import UnsupportedMediaType
from dashwright.common.media import NDJSON
from dashwright.common.models.batch import BatchItem, ItemVerdict

_LINE_TYPES: Final = frozenset({NDJSON, "application/ndjson", "application/jsonl", "application/x-jsonlines"})
"""Media types of lines of JSON. None of them is registered, so clients use several."""

_UNNAMED_TYPES: Final = frozenset({"", "application/x-www-form-urlencoded"})
"""Media types of clients that name none: ``curl --data-binary`` sends the type of forms."""

_QUERY: Final = {**descriptions.DRY_RUN_PARAMETER, "close": "true: no more items are accepted after these"}


def operation(target: Target) -> Operation:
    """Return the operation that submits items."""
    return descriptions.operation(
        "submit",
        target,
        id_suffix="Items",
        query=_QUERY,
        request=Content(BatchItem, (NDJSON,)),
        responses={200: Content(ItemVerdict, (NDJSON,))},
        errors=(404, 409, 413, 415),
    )


async def submit(target: Target, services: Services, call: Call) -> Response:
    """Add the items in the body to the batch, and respond with one line for each."""
    media_type = formats.media_type_of(call)
    if media_type not in _LINE_TYPES | _UNNAMED_TYPES:
        raise UnsupportedMediaType(f"the body is of type {media_type[:80]!r}, which is not supported; send {NDJSON}, one item in each line")
    upload_options = UploadOptions(closes=call.query_flag("close"), dry_run=options.is_dry_run(call))
    verdicts = await services.item_uploads.add(call.actor, call.identity, call.parameters["name"], call.upload(), upload_options)
    return Response(200, verdicts, NDJSON)
