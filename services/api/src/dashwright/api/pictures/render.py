"""``GET /render/d/{uid}``: a dashboard, or one panel of it, as a picture."""

from typing import Final, Literal

from pydantic import ValidationError

from dashwright.api.classic.dashboards import Dashboards
from dashwright.api.http.call import Call
from dashwright.api.http.errors import permission_denied
from dashwright.api.http.response import Response
from dashwright.api.http.routing import BINARY, Content, Operation, Permission, Route
from dashwright.api.routes.query import QUERY, readable_by, uids_of
from dashwright.api.workers.picture_client import Picture, PictureClient
from dashwright.common import media
from dashwright.common.errors import BadRequest
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.pictures import PictureOptions
from dashwright.common.models.query_context import QueryContext

PICTURE_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "X-Content-Type-Options": "nosniff",
}
"""Headers that keep browsers from running scripts in an SVG."""

PICTURE: Final = Content(BINARY, (media.PNG, media.SVG))
_PANEL: Final = "panel-"
"""Prefix of panel ids in Grafana's links."""
_NUMBERS: Final = {"width": "width", "height": "height", "scale": "scale", "panelId": "panel"}
_TEXTS: Final = ("from", "to", "theme", "format", "title")


def routes(dashboards: Dashboards, drawings: PictureClient) -> list[Route]:
    """Return the routes of pictures.

    They need permission to read the dashboard and to query data sources. A panel without permission for its data source says
    so.
    """

    async def draw(call: Call) -> Response:
        drawing = drawing_of(call)
        stored = await dashboards.get(call.identity, call.parameters["uid"])
        return picture_response(await drawings.draw(stored.spec, drawing, query_context(call.identity)))

    def operation(operation_id: str) -> Operation:
        return Operation(
            operation_id,
            "a dashboard as a picture",
            "dashboards",
            responses={200: PICTURE},
            query=_QUERY,
            parameters={"width": int, "height": int, "scale": float, "theme": Literal["light", "dark"], "format": Literal["png", "svg"]},
            errors=(404, 503, 504),
            description="Takes dashboards:read on the dashboard and datasources:query; a panel of a data source that the caller may not "
            "query says so.",
        )

    needs, one = Permission(DASHBOARD.actions["get"], by_object=True), "/render/d/{uid}"
    return [
        Route("GET", one, draw, needs, operation("renderDashboard")),
        Route("GET", f"{one}/{{slug}}", draw, needs, operation("renderDashboardWithSlug")),
    ]


def query_context(caller: Identity) -> QueryContext:
    """Return whose data sources a picture may query, and which. Raises Forbidden if the caller may query none."""
    if not caller.holds(QUERY):
        raise permission_denied(QUERY)
    return QueryContext(org_id=caller.org_id, uids=uids_of(caller), readable=readable_by(caller))


def picture_response(picture: Picture) -> Response:
    """Return the response with a picture."""
    return Response(200, picture.body, picture.media_type, {**PICTURE_HEADERS, "Cache-Control": "private, max-age=60"})


def drawing_of(call: Call) -> PictureOptions:
    """Return the drawing that a query describes. Raises BadRequest, naming the parameter."""
    query = call.query
    values: dict[str, object] = {name: query[name] for name in _TEXTS if query.get(name)}
    for name, member in _NUMBERS.items():
        if given := query.get(name):
            values[member] = _number(name, given.removeprefix(_PANEL) if name == "panelId" else given)
    if values.get("height") == -1:  # -1 asks for the natural height
        del values["height"]
    try:
        return PictureOptions.model_validate(values)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise BadRequest(f"the parameter {fault['loc'][0]} is wrong: {fault['msg']}") from error


def _number(name: str, given: str) -> float:
    try:
        return float(given) if name == "scale" else int(given)
    except ValueError as error:
        raise BadRequest(f"the parameter {name} is {given[:40]!r}; give a number") from error


_QUERY: Final = {
    "from": "start of the time range, such as now-6h; by default the dashboard's own",
    "to": "end of the time range, such as now",
    "width": "pixels, 200 to 3000, by default 1000",
    "height": "pixels; by default, and for -1, as many as the panels take",
    "theme": "light or dark (the default)",
    "format": "png (the default) or svg",
    "scale": "pixels of a PNG for each pixel of the picture, 1 to 3",
    "panelId": "the one panel to draw, such as 4 or panel-4",
    "title": "a title instead of the dashboard's",
}
