"""``GET /d/{uid}``: an HTML page that shows a dashboard. Previews of files use the same page."""

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
from dashwright.api.pictures.render import picture_options, query_context
from dashwright.api.workers.picture_client import Picture, PictureClient
from dashwright.common import media
from dashwright.common.errors import DashwrightError, Forbidden
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.pictures import PictureOptions

_log = structlog.get_logger()

PAGE_CONTENT: Final = Content(str, ("text/html",))
PAGE_PARAMETERS: Final = {
    "from": "start of the time range; by default the dashboard's own",
    "to": "end of the time range",
    "theme": "light or dark (the default)",
    "tz": "time zone of the axes; by default the dashboard's own",
    "rows": "expanded to draw the panels of collapsed rows, too",
    "var-name": "a value of the variable with that name; repeat it for several values",
}


def routes(dashboards: Dashboards, picture_client: PictureClient) -> list[Route]:
    """Return the routes. The page requires permission to read the dashboard, and its picture also to query data sources."""

    async def show_page(call: Call) -> Response:
        options, uid = picture_options(call), call.parameters["uid"]
        try:
            dashboard = await dashboards.get(call.identity, uid)
        except Forbidden as error:  # A user must not learn that a dashboard exists that the user may not read.
            raise not_found() from error
        picture = await draw_or_explain(call.identity, dashboard.spec, options, picture_client)
        return page_response(dashboard.title or uid, f"{uid}, version {dashboard.generation}", picture)

    def operation(operation_id: str) -> Operation:
        return Operation(
            operation_id,
            "a page that shows a dashboard",
            "dashboards",
            responses={200: PAGE_CONTENT},
            query=PAGE_PARAMETERS,
            errors=(404,),
            description="Takes dashboards:read on the dashboard, and datasources:query for the picture.",
        )

    permission, path = Permission(DASHBOARD.actions["get"], object_rules_suffice=True), "/d/{uid}"
    return [
        Route("GET", path, show_page, permission, operation("showDashboard")),
        Route("GET", f"{path}/{{slug}}", show_page, permission, operation("showDashboardWithSlug")),
    ]


async def draw_or_explain(caller: Identity, spec: str, options: PictureOptions, picture_client: PictureClient) -> Picture | str:
    """Return the picture of the dashboard whose JSON is ``spec``, or the reason why it cannot be drawn."""
    if options.format == "json":
        options = options.model_copy(update={"format": "png"})
    try:
        return await picture_client.render(spec, options, query_context(caller))
    except DashwrightError as error:
        _log.info("page_without_picture", reason=error.message)
        return error.message


def page_response(
    title: str, caption: str, picture: Picture | str, problems: Sequence[str] = (), lint_messages: Mapping[str, Sequence[str]] | None = None
) -> Response:
    """Return the page with a picture, or with the reason why it cannot be drawn.

    All strings are plain text. ``problems`` are listed above the picture. Below it are the ``lint_messages``, in which the key is the
    heading of a group. The page has no script and loads nothing, since the picture is embedded.
    """
    introduction = f'<p class="quiet">{escape(caption)}</p>{_problem_list(problems)}'
    return html.page(title, f"{introduction}{_picture_html(picture, escape(title))}{_lint_groups(lint_messages or {})}")


def _problem_list(problems: Sequence[str]) -> str:
    return f"<h2>Problems</h2>{_html_list(problems)}" if problems else ""


def _html_list(items: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>"


def _lint_groups(lint_messages: Mapping[str, Sequence[str]]) -> str:
    groups = "".join(
        f"<details><summary>{escape(heading)} ({len(messages)})</summary>{_html_list(messages)}</details>"
        for heading, messages in lint_messages.items()
    )
    return f"<h2>Lint</h2>{groups}" if groups else ""


def _picture_html(picture: Picture | str, alternative_text: str) -> str:
    if isinstance(picture, str):
        return f"<p>{escape(picture)}</p>"
    media_type = media.SVG if picture.media_type == media.SVG else media.PNG
    return f'<img alt="{alternative_text}" src="data:{media_type};base64,{base64.b64encode(picture.body).decode()}">'
