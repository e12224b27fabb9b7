"""``GET /d/{uid}``: an HTML page that shows a dashboard, and the parts of every page that shows one."""

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

import structlog

from dashwright.api.classic.dashboards import Dashboards, not_found
from dashwright.api.http import html
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Content, Operation, Permission, Route
from dashwright.api.pictures.render import drawing_of, query_context
from dashwright.api.workers.picture_client import Picture, PictureClient
from dashwright.common import media
from dashwright.common.errors import DashwrightError, Forbidden
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.pictures import PictureOptions

_log = structlog.get_logger()

CONTENT: Final = Content(str, ("text/html",))
QUERY: Final = {
    "from": "start of the time range; by default the dashboard's own",
    "to": "end of the time range",
    "theme": "light or dark (the default)",
}


def routes(dashboards: Dashboards, drawings: PictureClient) -> list[Route]:
    """Return the routes of the page. It needs permission to read the dashboard, and for the picture to query data sources."""

    async def show(call: Call) -> Response:
        drawing, uid = drawing_of(call), call.parameters["uid"]
        try:
            stored = await dashboards.get(call.identity, uid)
        except Forbidden as error:  # pages do not reveal dashboards that the user may not see
            raise not_found() from error
        drawn = await draw_or_reason(call.identity, stored.spec, drawing, drawings)
        return page(stored.title or uid, f"{uid}, version {stored.generation}", drawn)

    def operation(operation_id: str) -> Operation:
        return Operation(
            operation_id,
            "a page that shows a dashboard",
            "dashboards",
            responses={200: CONTENT},
            query=QUERY,
            errors=(404,),
            description="Takes dashboards:read on the dashboard, and datasources:query for the picture.",
        )

    needs, one = Permission(DASHBOARD.actions["get"], by_object=True), "/d/{uid}"
    return [
        Route("GET", one, show, needs, operation("showDashboard")),
        Route("GET", f"{one}/{{slug}}", show, needs, operation("showDashboardWithSlug")),
    ]


async def draw_or_reason(caller: Identity, spec: str, drawing: PictureOptions, drawings: PictureClient) -> Picture | str:
    """Return the picture of the dashboard whose JSON is ``spec``, or the reason why it cannot be drawn."""
    try:
        return await drawings.draw(spec, drawing, query_context(caller))
    except DashwrightError as error:
        _log.info("page_without_picture", reason=error.message)
        return error.message


def page(
    title: str, where: str, drawn: Picture | str, problems: Sequence[str] = (), advice: Mapping[str, Sequence[str]] | None = None
) -> Response:
    """Return the page. All arguments are plain text; ``where`` names the dashboard, ``advice`` has remarks by group.

    The page has no script and loads nothing: the picture is embedded. Problems are above it, advice below.
    """
    body = (
        f'<p class="quiet">{escape(where)}</p>{_problem_list(problems)}{_picture_html(drawn, escape(title))}{_advice_groups(advice or {})}'
    )
    return html.page(title, body)


def _problem_list(problems: Sequence[str]) -> str:
    return f"<h2>Problems</h2>{_html_list(problems)}" if problems else ""


def _html_list(texts: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in texts)}</ul>"


def _advice_groups(advice: Mapping[str, Sequence[str]]) -> str:
    groups = "".join(
        f"<details><summary>{escape(name)} ({len(texts)})</summary>{_html_list(texts)}</details>" for name, texts in advice.items()
    )
    return f"<h2>Lint</h2>{groups}" if groups else ""


def _picture_html(drawn: Picture | str, name: str) -> str:
    if isinstance(drawn, str):
        return f"<p>{escape(drawn)}</p>"
    kind = media.SVG if drawn.media_type == media.SVG else media.PNG
    return f'<img alt="{name}" src="data:{kind};base64,{base64.b64encode(drawn.body).decode()}">'
