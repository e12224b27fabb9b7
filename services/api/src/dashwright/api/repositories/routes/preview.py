"""``GET /preview/{repository}/{path}``: a page that shows what a dashboard file at a branch or commit changes, with pictures."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

from multidict import MultiMapping

from dashwright.api.http import html
from dashwright.api.http.call import Call, run_in_thread_if_large
from dashwright.api.http.paging import PAGE_PARAMETER, Paging
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.pictures.dashboard_page import PAGE_CONTENT, PAGE_PARAMETERS, SCRIPTS, outline_or_error
from dashwright.api.pictures.dashboard_pictures import DashboardPictures
from dashwright.api.pictures.page_controls import PageLink, page_controls, picture_parameters
from dashwright.api.pictures.page_grid import PictureAddress, dashboard_path, grid_of
from dashwright.api.pictures.render import PICTURE_CONTENT, PICTURE_PARAMETERS, picture_options, picture_response
from dashwright.api.pictures.url_times import with_range
from dashwright.api.repositories.files import Files
from dashwright.api.repositories.preview_changes import MAX_PANELS, Side, changed_panels, shown_changes
from dashwright.api.repositories.previewed_file import PreviewedFile
from dashwright.common.dashboard_comparison import compare
from dashwright.common.errors import BadRequest, DashwrightError, NotFound
from dashwright.common.jobs import paths
from dashwright.common.json_documents import read_json, write_json
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.dashboard_outline import DashboardOutline
from dashwright.common.models.values import LintSeverity

_REF: Final = {"ref": "a branch or commit; by default the repository's own branch"}
_PREVIEW: Final = "/preview"
_PICTURES: Final = "/render/preview"
_MAX_PAGE: Final = 100
"""Limit on the number of a page of changed panels."""


def routes(files: Files, pictures: DashboardPictures) -> list[Route]:
    """Return the routes. They require permissions on the objects in the file, and pictures also permission to query data sources."""

    async def read(call: Call) -> PreviewedFile:
        path = call.parameters["path"]
        paths.check_path(path)
        if paths.is_directory(path):
            raise BadRequest("a preview shows one file; name it instead of a directory")
        repository, ref = call.parameters["repository"], call.query.get("ref", "")
        body = await files.read_with_removed(call.identity, repository, path, ref)
        response: dict[str, Any] = await run_in_thread_if_large(len(body), lambda: read_json(body.decode()))
        return PreviewedFile(repository, path, ref, response, len(body))

    async def draw(call: Call) -> Response:
        options, file = picture_options(call), await read(call)
        if not file.spec:
            raise NotFound(f"the file contains no dashboard to draw: {file.path!r}")
        return picture_response(await pictures.render(call.identity, await _body_of(file.spec, file.size), options))

    async def show_preview(call: Call) -> Response:
        """Return the page about a file: the changes of its dashboard, and the dashboard after them."""
        # The page always shows all panels.
        options = picture_options(call).model_copy(update={"panel": None})
        file, query = await read(call), with_range(call.query)
        comparison = await run_in_thread_if_large(file.size, lambda: compare(file.stored_spec, file.spec))
        parameters, theme = picture_parameters(query), query.get("theme", "")
        page_number = call.query_integer(PAGE_PARAMETER, 1, minimum=1, maximum=_MAX_PAGE)

        async def outline(spec: Mapping[str, Any]) -> tuple[DashboardOutline | None, DashwrightError | None]:
            if not spec:
                return None, None
            return await outline_or_error(call.identity, await _body_of(spec, file.size), options, pictures)

        (stored_outline, stored_problem), (file_outline, file_problem) = await asyncio.gather(outline(file.stored_spec), outline(file.spec))
        before = Side(PictureAddress(dashboard_path(file.stored_name), parameters), stored_outline)
        picture_path = f"{_PICTURES}/{quote(file.repository, safe='')}/{quote(file.path)}"
        commit_parameters = [("ref", file.commit)] if file.commit else []
        after = Side(PictureAddress(picture_path, [*parameters, *commit_parameters]), file_outline)
        # If the file has no dashboard, the stored one is shown.
        shown_side, problem = (after, file_problem) if file.spec else (before, stored_problem)
        shown_outline = shown_side.outline
        grid = grid_of(shown_outline, shown_side.address, theme=theme) if shown_outline else None
        paging = Paging.of(call.path, call.query.items(), number=page_number, item_count=len(changed_panels(comparison)), size=MAX_PANELS)
        # A dashboard that is created or removed has no changes of its panels.
        changes = None
        if file.stored_name and file.spec:
            changes = await run_in_thread_if_large(file.size, lambda: shown_changes(comparison, before, after, theme, paging))
        return html.page(
            "preview.html",
            title=file.title,
            # The page shows any other problem in place of the pictures, next to the changes.
            status=problem.status if isinstance(problem, BadRequest) else 200,
            theme=theme,
            is_wide=True,
            own_style=grid.style if grid else "",
            scripts=SCRIPTS,
            caption=f"{file.repository}: {file.path} at {file.commit or 'the current state'}",
            stored_page=f"/d/{quote(file.stored_name, safe='')}" if file.stored_name else "",
            has_dashboard=bool(file.spec),
            is_removed=file.is_removed,
            moved_from=file.moved_from,
            moved_to=_preview_of(file, file.moved_to, query) if file.moved_to else None,
            changes=changes,
            problems=[str(error) for error in file.wrapper.get("errors") or ()],
            lint=_lint_messages(file.wrapper),
            controls=page_controls(call.path, query, shown_outline) if file.spec or file.stored_spec else None,
            problem=problem.message if problem else "",
            notices=shown_outline.notices if shown_outline else (),
            sections=grid.sections if grid else (),
            opens_rows=options.rows == "expanded",
        )

    permission = Permission(DASHBOARD.actions["get"], object_rules_suffice=True)
    page = Operation(
        "previewRepositoryFile",
        "a page with what a dashboard file at a branch or commit changes",
        "dashboards",
        responses={200: PAGE_CONTENT},
        query={**_REF, PAGE_PARAMETER: f"number of the page of changed panels, {MAX_PANELS} on each, from 1", **PAGE_PARAMETERS},
        parameters={PAGE_PARAMETER: int},
        errors=(404, 422, 424),
        description="Requires the rights on the objects in the file, and datasources:query for the pictures.",
    )
    picture = Operation(
        "renderRepositoryFile",
        "a dashboard file at a branch or commit as a picture",
        "dashboards",
        responses={200: PICTURE_CONTENT},
        query={**_REF, **PICTURE_PARAMETERS},
        errors=(404, 422, 424, 503, 504),
        description="Requires the rights on the objects in the file, and datasources:query.",
    )
    return [
        Route("GET", f"{_PREVIEW}/{{repository}}/{{path:rest}}", show_preview, permission, page),
        Route("GET", f"{_PICTURES}/{{repository}}/{{path:rest}}", draw, permission, picture),
    ]


def _preview_of(file: PreviewedFile, path: str, query: MultiMapping[str]) -> PageLink:
    """Return a link to the preview of another file of the same repository, with the same parameters."""
    parameters = urlencode([(name, value) for name, value in query.items() if name != PAGE_PARAMETER])
    separator = "?" if parameters else ""
    return PageLink(path, f"{_PREVIEW}/{quote(file.repository, safe='')}/{quote(path)}{separator}{parameters}")


async def _body_of(spec: Mapping[str, Any], max_size: int) -> str:
    """Return the spec of a dashboard as JSON, which has at most ``max_size`` bytes."""
    return await run_in_thread_if_large(max_size, lambda: write_json(spec).decode())


def _lint_messages(wrapper: Mapping[str, Any]) -> Sequence[tuple[str, Sequence[str]]]:
    """Return the messages of lint below headings with severity and rule. Errors are first."""
    issues = sorted(wrapper.get("lint") or (), key=lambda issue: issue.get("severity") != LintSeverity.ERROR)
    messages: defaultdict[str, list[str]] = defaultdict(list)
    for issue in issues:
        messages[f"{issue.get('severity')}: {issue.get('rule')}"].append(str(issue.get("message")))
    return list(messages.items())
