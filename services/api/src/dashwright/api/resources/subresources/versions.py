"""The sub-resource ``versions``: earlier versions of a dashboard, as a list or one as a whole."""

from dataclasses import replace
from typing import Final

from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Content, Operation
from dashwright.api.resources import descriptions, formats, history
from dashwright.api.resources.formats import Form
from dashwright.api.resources.request import Target, read_object
from dashwright.api.resources.services import Services
from dashwright.common.errors import BadRequest
from dashwright.common.media import JSON, YAML
from dashwright.common.models.dashboard_versions import DashboardVersionInfo, DashboardVersionList, VersionsQueryOptions
from dashwright.common.models.meta import ListMeta
from dashwright.common.stores import histories
from dashwright.common.stores.histories import StoredVersion

_QUERY: Final = {
    "limit": "How many versions a page has at most",
    "continue": "The token that the page before ended with",
    "version": "The version to return whole, instead of the list",
    "path": "The version, as the path below the name has it",
}


def operation(target: Target) -> Operation:
    """Return the operation that lists versions."""
    either = Content(DashboardVersionList | descriptions.object_model(target.kind), (JSON, YAML))
    return descriptions.operation("list", target, below="Versions", query=_QUERY, responses={200: either}, errors=(404, 406))


def operation_of_one(target: Target) -> Operation:
    """Return the operation that reads one version."""
    version_operation = descriptions.operation(
        "get", target, below="Version", responses={200: descriptions.object_content(target.kind)}, errors=(404, 406)
    )
    return replace(version_operation, parameters={"number": int})


async def handle(target: Target, services: Services, call: Call) -> Response:
    """Respond with the versions of a dashboard, the newest first, or with one if the query names it."""
    query = _options(call)
    if query.version:
        return await _one(target, services, call, query.version)
    form, limit, before = formats.format_of(call), history.limit_of(call), history.before_of(call)
    current, _ = await read_object(target.kind, services, call)
    async with services.database.connection() as connection:
        found = await histories.versions(connection, current.uid, before=before, limit=limit + 1)
    listed = DashboardVersionList(
        kind="DashboardVersionList",
        api_version=target.kind.api_version(target.version),
        metadata=ListMeta(resource_version=str(current.resource_version), continue_=history.continue_members(found, limit).get("continue")),
        items=[_info(version) for version in found[:limit]],
    )
    return formats.one(replace(form, form=Form.WHOLE), target.kind, target.version, listed.to_json())


async def handle_one(target: Target, services: Services, call: Call) -> Response:
    """Respond with the version that the path names."""
    return await _one(target, services, call, _number(call.parameters["number"]))


def _options(call: Call) -> VersionsQueryOptions:
    """Return the options in the query; version 0 means the list."""
    path, text = call.query.get("path"), call.query.get("version") or (call.query.get("path") or "").strip("/")
    return VersionsQueryOptions(path=path, version=_number(text) if text not in ("", "0") else 0)


def _number(text: str) -> int:
    number = parse_integer(text)
    if number is None or number < 1:
        raise BadRequest(f"version {text[:40]!r} is not a version number; give a whole number from 1")
    return number


async def _one(target: Target, services: Services, call: Call, number: int) -> Response:
    form = formats.format_of(call)
    current, _ = await read_object(target.kind, services, call)
    return formats.one(form, target.kind, target.version, await history.version_of(services, current, number))


def _info(version: StoredVersion) -> DashboardVersionInfo:
    return DashboardVersionInfo(
        version=version.generation,
        parent_version=version.parent_version,
        created=int(version.created_at.timestamp() * 1000),
        created_by=version.created_by,
        message=version.message,
    )
