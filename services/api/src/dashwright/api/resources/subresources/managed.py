"""The subresource ``resources``: objects that a repository manages, and its files in quarantine."""

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

_MAX_QUARANTINED_FILES: Final = 1000
"""Limit on the quarantined files in a response, which has no pages."""


def operation(target: Target) -> Operation:
    """Return the operation of ``resources``."""
    return descriptions.operation("get", target, id_suffix="Resources", responses={200: ResourceList}, errors=(404,))


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Respond with the managed objects and the quarantined files."""
    kind = target.kind
    namespace = call.parameters["namespace"]
    name = call.parameters["name"]
    async with services.database.connection() as connection:
        repository = await resources.get(connection, kind, namespace, name)
        managed_objects = await repositories.managed_objects(connection, namespace, name)
        # Identical copies of a synced file are in quarantine but no errors, so they are left out.
        quarantine_entries = await common_repositories.list_quarantined(
            connection, repository.uid, limit=_MAX_QUARANTINED_FILES, include_copies=False
        )
    resource_list = ResourceList(
        kind="ResourceList",
        api_version=kind.api_version(target.version),
        items=list(managed_objects),
        quarantined=[_quarantined_file(entry) for entry in quarantine_entries],
    )
    # Encoded in a thread: tens of thousands of objects would delay other requests.
    return (await asyncio.to_thread(json_response, resource_list))._replace(may_compress=True)


def _quarantined_file(entry: QuarantineEntry) -> QuarantinedFile:
    since = round(entry.since.timestamp() * 1000)
    return QuarantinedFile(path=entry.path, message=entry.message, name=entry.name or None, hash=entry.checksum or None, since=since)
