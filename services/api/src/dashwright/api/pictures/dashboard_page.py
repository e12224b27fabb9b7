"""``/d/{uid}`` and ``/d-solo/{uid}``: HTML pages with the panels of a dashboard, or with one of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote, urlencode

import structlog
from multidict import MultiMapping
from pydantic import ValidationError

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.classic.dashboards import Dashboards, not_found
from dashwright.api.domain.urls import dashboard_url
from dashwright.api.http import html
from dashwright.api.http.call import Call
from dashwright.api.http.paging import PAGE_PARAMETER, Paging
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Content, Handler, Operation, Permission, Route
from dashwright.api.pictures.dashboard_pictures import DashboardPictures
from dashwright.api.pictures.page_controls import (
    PageLink,
    kept_parameters,
    link_of,
    page_controls,
    picture_parameters,
)
from dashwright.api.pictures.page_grid import PictureAddress, dashboard_path, grid_of, panel_alone
from dashwright.api.pictures.render import picture_options
from dashwright.api.pictures.url_times import TIME_PARAMETERS, with_range
from dashwright.api.routes.readable_titles import ReadableTitles
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, DashwrightError, Forbidden, NotFound, Unavailable
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.dashboard_outline import PAGE_SIZE, DashboardOutline
from dashwright.common.models.pictures import PictureOptions
from dashwright.common.stores.resources import StoredObject

_log = structlog.get_logger()

PAGE_CONTENT: Final = Content(str, ("text/html",))
PAGE_PARAMETERS: Final = {
    **TIME_PARAMETERS,
    "theme": "light or dark; by default that of the reader",
    "tz": "time zone of the axes; by default the dashboard's own",
    "refresh": "interval after which the pictures are drawn again, such as 30s; empty for never; by default the dashboard's own",
    "rows": "expanded to open collapsed rows",
    "var-name": "a value of the variable with that name; repeat it for several values",
}
_VIEWED_PANEL: Final = "viewPanel"
"""The parameter with which Grafana's links to a dashboard show one panel."""
SCRIPTS: Final = ("pictures.js",)
"""The scripts of pages with pictures."""
_MAX_PAGE: Final = 1_000
_MAX_TAGGED: Final = 50
"""Largest number of dashboards by whose links a link to tags is replaced."""


def routes(dashboards: Dashboards, pictures: DashboardPictures, database: Database, policy: AccessPolicy) -> list[Route]:
    """Return the routes. A page requires permission to read the dashboard, and its pictures also to query data sources."""
    titles = ReadableTitles(database, policy)

    async def read(call: Call) -> StoredObject:
        """Return the dashboard in the path. Raises NotFound, also if the caller may not read it."""
        try:
            return await dashboards.get(call.identity, call.parameters["uid"])
        except Forbidden as error:  # The page must not reveal that the dashboard exists.
            raise not_found() from error

    async def show_dashboard(call: Call) -> Response:
        """Return the page of a dashboard. If its pictures cannot be drawn, the page has the reason in place of the panels."""
        if call.query.get(_VIEWED_PANEL):
            return Response(302, headers={"Location": _panel_address(call)})
        number = call.query_integer(PAGE_PARAMETER, 1, minimum=1, maximum=_MAX_PAGE)
        # The page shows all panels, even if the URL has the panelId of one.
        options = picture_options(call).model_copy(update={"panel": None, "page": number})
        dashboard, query = await read(call), with_range(call.query)
        outline, problem = await outline_or_error(call.identity, dashboard.spec, options, pictures)
        theme, page_parameters = query.get("theme", ""), kept_parameters(query)
        grid = None
        if outline:
            address = PictureAddress(dashboard_path(dashboard.name), picture_parameters(query))
            grid = grid_of(
                outline, address, panel_page=f"/d-solo/{quote(dashboard.name, safe='')}", page_parameters=page_parameters, theme=theme
            )
        return html.page(
            "dashboard.html",
            title=(outline.title if outline else dashboard.title) or dashboard.name,
            status=_status_of(problem),
            theme=theme,
            is_wide=True,
            own_style=grid.style if grid else "",
            scripts=SCRIPTS,
            folders=await titles.path(call.identity, dashboard.folder),
            caption=f"{dashboard.name}, version {dashboard.generation}",
            problem=problem.message if problem else "",
            links=await _links(call, query, outline, titles) if outline else (),
            sections=grid.sections if grid else (),
            paging=Paging.of(
                call.path, call.query.items(), number=number, item_count=outline.panel_count if outline else 0, size=PAGE_SIZE
            ),
            opens_rows=options.rows == "expanded",
            whole_picture=f"/render/d/{quote(dashboard.name, safe='')}?{urlencode(picture_parameters(query))}",
            controls=page_controls(call.path, query, outline),
            notices=outline.notices if outline else (),
        )

    async def show_panel(call: Call) -> Response:
        """Return the page of one panel. If its picture cannot be drawn, the page has the reason in place of the panel."""
        options, dashboard, query = picture_options(call), await read(call), with_range(call.query)
        if options.panel is None:
            raise BadRequest("the parameter panelId is missing: it is the id of the panel to show")
        outline, problem = await outline_or_error(call.identity, dashboard.spec, options, pictures)
        theme, address = query.get("theme", ""), PictureAddress(dashboard_path(dashboard.name), picture_parameters(query))
        panels = [panel for section in outline.sections for panel in section.panels] if outline else []
        panel = next((panel for panel in panels if panel.id == options.panel), None)
        if outline and panel is None:
            raise NotFound(f"the dashboard has no panel {options.panel}")
        # A repeated panel has the values of its first repetition, which would replace the values in the URL of this page.
        shown_panel = panel_alone(panel.model_copy(update={"variables": {}}), address, theme) if panel else None
        title = (outline.title if outline else dashboard.title) or dashboard.name
        dashboard_query = urlencode(kept_parameters(query))
        return html.page(
            "panel.html",
            title=title,
            status=_status_of(problem),
            theme=theme,
            is_wide=True,
            scripts=SCRIPTS,
            folders=await titles.path(call.identity, dashboard.folder),
            panel=shown_panel,
            panel_title=panel.title if panel else "",
            description=panel.description if panel else "",
            dashboard_address=f"{dashboard_url(dashboard.name, dashboard.title)}{'?' if dashboard_query else ''}{dashboard_query}",
            problem=problem.message if problem else "",
            controls=page_controls(call.path, query, outline),
            notices=outline.notices if outline else (),
        )

    dashboard_parameters = {
        _VIEWED_PANEL: "a panel, such as 4 or panel-4; the response redirects to its page",
        PAGE_PARAMETER: f"number of the page of panels, {PAGE_SIZE} on each, from 1",
    }
    panel_parameters = {"panelId": "the panel, such as 4 or panel-4"}
    return [
        *_page_routes(
            "/d/{uid}", show_dashboard, "showDashboard", "a page that shows a dashboard", dashboard_parameters, redirects={302: None}
        ),
        *_page_routes("/d-solo/{uid}", show_panel, "showPanel", "a page that shows a panel of a dashboard", panel_parameters, redirects={}),
    ]


def _page_routes(
    path: str, handler: Handler, name: str, summary: str, parameters: Mapping[str, str], *, redirects: Mapping[int, None]
) -> Iterator[Route]:
    """Yield the routes of a page: at its path, and at its path with a slug, which has no effect.

    ``name`` is the operation's id, and ``redirects`` are responses without a page.
    """
    permission = Permission(DASHBOARD.actions["get"], object_rules_suffice=True)
    for suffix, slug in (("", ""), ("WithSlug", "/{slug}")):
        operation = Operation(
            f"{name}{suffix}",
            summary,
            "dashboards",
            responses={200: PAGE_CONTENT, **redirects},
            query={**parameters, **PAGE_PARAMETERS},
            errors=(404,),
            description="Requires dashboards:read on the dashboard, and datasources:query for the pictures.",
        )
        yield Route("GET", f"{path}{slug}", handler, permission, operation)


def _panel_address(call: Call) -> str:
    """Return the address of the page of the panel that the URL of a dashboard selects, with the other parameters."""
    other_parameters = [(name, value) for name, value in call.query.items() if name not in (_VIEWED_PANEL, "panelId")]
    parameters = urlencode([("panelId", call.query[_VIEWED_PANEL]), *other_parameters])
    return f"/d-solo/{quote(call.parameters['uid'], safe='')}?{parameters}"


async def outline_or_error(
    caller: Identity, spec: str, options: PictureOptions, pictures: DashboardPictures
) -> tuple[DashboardOutline | None, DashwrightError | None]:
    """Return an outline without an error, or an error without an outline if no picture of the dashboard can be drawn.

    ``spec`` is the JSON of the dashboard. ``options`` select a page of its panels, or one panel.
    """
    outline_options = options.model_copy(update={"format": "outline"})
    try:
        picture = await pictures.render(caller, spec, outline_options)
        return DashboardOutline.model_validate_json(picture.body), None
    except ValidationError as error:  # Both programs use one model of the outline, so only versions can differ.
        raise Unavailable("the expressions worker is of another version; update it") from error
    except DashwrightError as error:
        _log.info("page_without_pictures", reason=error.message)
        return None, error


def _status_of(problem: DashwrightError | None) -> int:
    """Return the status of a page: 200, since the page shows the problem, or the status of the problem if the address is invalid."""
    return problem.status if isinstance(problem, BadRequest) else 200


async def _links(call: Call, query: MultiMapping[str], outline: DashboardOutline, titles: ReadableTitles) -> Sequence[PageLink]:
    """Return the links of a dashboard. A link to tags is replaced by a link to each dashboard with these tags."""
    links = []
    for link in outline.links:
        if link.url:
            links.append(link_of(link, query, outline))
            continue
        tagged = await titles.search(call.identity, limit=_MAX_TAGGED, tags=link.tags, include_folders=False) if link.tags else ()
        links += [link_of(link, query, outline, text=match.title, address=match.url) for match in tagged]
    return [link for link in links if link]
