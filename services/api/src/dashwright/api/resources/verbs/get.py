"""Get: one object by its name."""

from functools import partial

from dashwright.api.http.call import Call, run_in_thread_if_large
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, formats
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.storage import storage_of
from dashwright.common.stores.resources import StoredObject


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
    response_format, kind = formats.format_of(call), target.kind
    item = await storage_of(kind).get(kind, services, call)
    # Without a conversion between versions, even a large object is encoded fast.
    converted_size = len(item.spec) if kind.versioning is not None and isinstance(item, StoredObject) else 0
    return await run_in_thread_if_large(converted_size, partial(formats.object_response, response_format, kind, target.version, item))
