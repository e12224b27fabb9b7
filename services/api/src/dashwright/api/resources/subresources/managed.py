"""The sub-resource ``resources``: objects that a repository manages, and its files in quarantine."""

import asyncio
from typing import Final

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.stores import repositories
from dashwright.common.models.repository_views import QuarantinedFile, ResourceList
from dashwright.common.stores import repositories as common_repositories
from dashwright.common.stores import resources
from dashwright.common.stores.repositories import QuarantineEntry

_MOST_QUARANTINED: Final = 1000


def operation(target: Target) -> Operation:
    """Return the operation of ``resources``."""
    return descriptions.operation("get", target, below="Resources", responses={200: ResourceList}, errors=(404,))


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Respond with the managed objects and the quarantined files."""
    kind, namespace, name = target.kind, call.parameters["namespace"], call.parameters["name"]
    async with services.database.connection() as connection:
        repository = await resources.get(connection, kind, namespace, name)
        found = await repositories.managed(connection, namespace, name)
        faults = await common_repositories.faults(connection, repository.uid, most=_MOST_QUARANTINED, copies=False)
    listed = ResourceList(
        kind="ResourceList",
        api_version=kind.api_version(target.version),
        items=list(found),
        quarantined=[_quarantined(fault) for fault in faults],
    )
    # Encoded in a thread: tens of thousands of objects would delay other requests.
    return (await asyncio.to_thread(json_response, listed))._replace(may_compress=True)


def _quarantined(fault: QuarantineEntry) -> QuarantinedFile:
    since = round(fault.since.timestamp() * 1000)
    return QuarantinedFile(path=fault.path, message=fault.message, name=fault.name or None, hash=fault.checksum or None, since=since)
