"""Get: one object by its name."""

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, formats
from dashwright.api.resources.request import Target, read_object
from dashwright.api.resources.services import Services
from dashwright.common.kinds.kind import Storage
from dashwright.common.stores import jobs


def operation(target: Target) -> Operation:
    return descriptions.operation(
        "get", target, query=descriptions.INCLUDED, responses={200: descriptions.object_content(target.kind)}, errors=(404, 406)
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    kind, form = target.kind, formats.format_of(call)
    if kind.storage is Storage.RESOURCES:
        found, _ = await read_object(kind, services, call)
        return formats.one(form, kind, target.version, found)
    async with services.database.connection() as connection:
        job = await jobs.get(connection, kind, call.parameters["namespace"], call.parameters["name"])
    return formats.one(form, kind, target.version, job)
