"""``GET /preview/{repository}/{path}``: a page that shows a dashboard file at a branch or commit, before it is synced."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.pictures.dashboard_page import CONTENT, QUERY, draw_or_reason, page
from dashwright.api.pictures.render import drawing_of
from dashwright.api.repositories.files import Files
from dashwright.api.resources.threads import run_sized
from dashwright.api.workers.picture_client import Picture, PictureClient
from dashwright.common.document import read_json, write_json
from dashwright.common.errors import BadRequest
from dashwright.common.jobs import paths
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.pictures import PictureOptions
from dashwright.common.models.values import LintSeverity


def routes(files: Files, drawings: PictureClient) -> list[Route]:
    """Return the route. It requires the rights to read the file, and for the picture to query data sources."""

    async def preview(call: Call) -> Response:
        drawing, path = drawing_of(call), call.parameters["path"]
        paths.check_path(path)
        if paths.is_directory(path):
            raise BadRequest("a preview shows one file; name it instead of a directory")
        repository, ref = call.parameters["repository"], call.query.get("ref", "")
        body = await files.read(call.identity, repository, path, ref)
        wrapper: dict[str, Any] = await run_sized(len(body), lambda: read_json(body.decode()))
        spec = _spec_of(wrapper)
        drawn = await _picture_or_reason(call, spec, drawing, drawings)
        where = f"{repository}: {path} at {wrapper.get('ref') or ref or 'the current state'}"
        return page(str((spec or {}).get("title") or path), where, drawn, _problems(wrapper), _advice(wrapper))

    operation = Operation(
        "previewRepositoryFile",
        "a page that shows a dashboard file at a branch or commit",
        "dashboards",
        responses={200: CONTENT},
        query={"ref": "a branch or commit; by default the repository's own branch", **QUERY},
        errors=(404, 422, 424),
        description="Requires the rights on the objects in the file, and datasources:query for the picture.",
    )
    needs = Permission(DASHBOARD.actions["get"], by_object=True)
    return [Route("GET", "/preview/{repository}/{path:rest}", preview, needs, operation)]


async def _picture_or_reason(call: Call, spec: Any, drawing: PictureOptions, drawings: PictureClient) -> Picture | str:
    """Return the picture, or the reason why there is none."""
    if spec is None:
        return "The file contains no dashboard to draw."
    body = await run_sized(len(spec), lambda: write_json(spec).decode())
    return await draw_or_reason(call.identity, body, drawing, drawings)


def _spec_of(wrapper: Mapping[str, Any]) -> Any:
    """Return the dashboard as it would be stored, or else as the file has it."""
    objects = wrapper.get("resource") or {}
    if (objects.get("type") or {}).get("resource") != DASHBOARD.plural:
        return None
    shown = objects.get("dryRun") or objects.get("file") or {}
    return shown.get("spec") or None


def _problems(wrapper: Mapping[str, Any]) -> list[str]:
    return [str(error) for error in wrapper.get("errors") or ()]


def _advice(wrapper: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the findings of the lint rules, by severity and rule, errors first."""
    issues = sorted(wrapper.get("lint") or (), key=lambda issue: issue.get("severity") != LintSeverity.ERROR)
    found: defaultdict[str, list[str]] = defaultdict(list)
    for issue in issues:
        found[f"{issue.get('severity')}: {issue.get('rule')}"].append(str(issue.get("message")))
    return found
