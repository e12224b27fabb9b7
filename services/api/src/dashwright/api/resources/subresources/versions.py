"""The subresource ``versions``: a list of the versions of a dashboard, or one complete version."""

from dataclasses import replace
from typing import Final

from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Content, Operation
from dashwright.api.resources import descriptions, formats, history
from dashwright.api.resources.formats import Representation
from dashwright.api.resources.request import Target, read_object
from dashwright.api.resources.services import Services
from dashwright.common.errors import BadRequest
from dashwright.common.media import JSON, YAML
from dashwright.common.models.dashboard_versions import DashboardVersionInfo, DashboardVersionList, VersionsQueryOptions
from dashwright.common.models.meta import ListMeta
from dashwright.common.stores import histories
from dashwright.common.stores.histories import StoredVersion

_QUERY: Final = {
    "limit": "Maximum number of versions on a page",
    "continue": "The value metadata.continue of the previous page",
    "version": "The number of a version, which is returned completely instead of the list",
    "path": "The number of a version; used if the parameter version is missing",
}


def operation(target: Target) -> Operation:
    """Return the operation that lists versions."""
    content = Content(DashboardVersionList | descriptions.object_model(target.kind), (JSON, YAML))
    return descriptions.operation("list", target, id_suffix="Versions", query=_QUERY, responses={200: content}, errors=(404, 406))


def single_version_operation(target: Target) -> Operation:
    """Return the operation that reads one version."""
    version_operation = descriptions.operation(
        "get", target, id_suffix="Version", responses={200: descriptions.object_content(target.kind)}, errors=(404, 406)
    )
    return replace(version_operation, parameters={"number": int})


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Respond with the versions of a dashboard, the newest first, or with one complete version if the query names it."""
    query = _query_options(call)
    if query.version:
        return await _single_version(target, services, call, query.version)
    response_format = formats.format_of(call)
    limit = history.page_size_of(call)
    before = history.previous_generation(call)
    dashboard, _ = await read_object(target.kind, services, call)
    async with services.database.connection() as connection:
        # One more version than requested shows whether there is a next page.
        versions = await histories.versions(connection, dashboard.uid, before=before, limit=limit + 1)
    version_list = DashboardVersionList(
        kind="DashboardVersionList",
        api_version=target.kind.api_version(target.version),
        metadata=ListMeta(
            resource_version=str(dashboard.resource_version), continue_=history.continue_members(versions, limit).get("continue")
        ),
        items=[_version_info(version) for version in versions[:limit]],
    )
    # A list of versions has neither a table nor partial metadata.
    complete_format = replace(response_format, representation=Representation.OBJECT)
    return formats.object_response(complete_format, target.kind, target.version, version_list.to_json())


async def handle_single_version(target: Target, services: Services, call: Call) -> Response:
    """Respond with the version that the path names."""
    return await _single_version(target, services, call, _parse_version(call.parameters["number"]))


def _query_options(call: Call) -> VersionsQueryOptions:
    """Return the options in the query: the version in ``version`` or in ``path``, or 0 for the list of versions."""
    path = call.query.get("path")
    version = call.query.get("version") or (path or "").strip("/")
    return VersionsQueryOptions(path=path, version=_parse_version(version) if version not in ("", "0") else 0)


def _parse_version(value: str) -> int:
    """Return a version number. Raises BadRequest for any other value."""
    version_number = parse_integer(value)
    if version_number is None or version_number < 1:
        raise BadRequest(f"version {value[:40]!r} is not a version number; give a whole number from 1")
    return version_number


async def _single_version(target: Target, services: Services, call: Call, version_number: int) -> Response:
    response_format = formats.format_of(call)
    dashboard, _ = await read_object(target.kind, services, call)
    return formats.object_response(
        response_format, target.kind, target.version, await history.object_at_generation(services, dashboard, version_number)
    )


def _version_info(version: StoredVersion) -> DashboardVersionInfo:
    return DashboardVersionInfo(
        version=version.generation,
        parent_version=version.parent_version,
        created=int(version.created_at.timestamp() * 1000),
        created_by=version.created_by,
        message=version.message,
    )
