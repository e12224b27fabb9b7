"""``GET /preview/{repository}/{path}``: a page that shows a dashboard file at a branch or commit, before it is synced."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.pictures.dashboard_page import PAGE_CONTENT, PAGE_PARAMETERS, draw_or_explain, page_response
from dashwright.api.pictures.render import picture_options
from dashwright.api.repositories.files import Files
from dashwright.api.resources.threads import run_in_thread_if_large
from dashwright.api.workers.picture_client import Picture, PictureClient
from dashwright.common.errors import BadRequest
from dashwright.common.jobs import paths
from dashwright.common.json_documents import read_json, write_json
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.pictures import PictureOptions
from dashwright.common.models.values import LintSeverity


def routes(files: Files, picture_client: PictureClient) -> list[Route]:
    """Return the route. It requires permissions on the objects in the file, and for the picture permission to query data sources."""

    async def show_preview(call: Call) -> Response:
        options, path = picture_options(call), call.parameters["path"]
        paths.check_path(path)
        if paths.is_directory(path):
            raise BadRequest("a preview shows one file; name it instead of a directory")
        repository, ref = call.parameters["repository"], call.query.get("ref", "")
        body = await files.read_file(call.identity, repository, path, ref)
        wrapper: dict[str, Any] = await run_in_thread_if_large(len(body), lambda: read_json(body.decode()))
        spec = _spec_of(wrapper)
        picture = await _picture_or_reason(call, spec, len(body), options, picture_client)
        title = str((spec or {}).get("title") or path)
        caption = f"{repository}: {path} at {wrapper.get('ref') or ref or 'the current state'}"
        return page_response(title, caption, picture, _error_messages(wrapper), _lint_messages(wrapper))

    operation = Operation(
        "previewRepositoryFile",
        "a page that shows a dashboard file at a branch or commit",
        "dashboards",
        responses={200: PAGE_CONTENT},
        query={"ref": "a branch or commit; by default the repository's own branch", **PAGE_PARAMETERS},
        errors=(404, 422, 424),
        description="Requires the rights on the objects in the file, and datasources:query for the picture.",
    )
    permission = Permission(DASHBOARD.actions["get"], object_rules_suffice=True)
    return [Route("GET", "/preview/{repository}/{path:rest}", show_preview, permission, operation)]


async def _picture_or_reason(call: Call, spec: Any, max_size: int, options: PictureOptions, picture_client: PictureClient) -> Picture | str:
    """Return the picture, or the reason why no picture can be drawn. ``max_size`` limits the bytes of ``spec`` as JSON."""
    if spec is None:
        return "The file contains no dashboard to draw."
    body = await run_in_thread_if_large(max_size, lambda: write_json(spec).decode())
    return await draw_or_explain(call.identity, body, options, picture_client)


def _spec_of(wrapper: Mapping[str, Any]) -> Any:
    """Return the spec of the dashboard as a sync would store it. Without a result of the sync, return the spec in the file.

    ``wrapper`` is a ResourceWrapper as JSON. Returns None if the file has no dashboard.
    """
    resource_objects = wrapper.get("resource") or {}
    if (resource_objects.get("type") or {}).get("resource") != DASHBOARD.plural:
        return None
    dashboard = resource_objects.get("dryRun") or resource_objects.get("file") or {}
    return dashboard.get("spec") or None


def _error_messages(wrapper: Mapping[str, Any]) -> list[str]:
    return [str(error) for error in wrapper.get("errors") or ()]


def _lint_messages(wrapper: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the messages of lint by a heading with severity and rule. Errors are first."""
    issues = sorted(wrapper.get("lint") or (), key=lambda issue: issue.get("severity") != LintSeverity.ERROR)
    messages: defaultdict[str, list[str]] = defaultdict(list)
    for issue in issues:
        messages[f"{issue.get('severity')}: {issue.get('rule')}"].append(str(issue.get("message")))
    return messages
