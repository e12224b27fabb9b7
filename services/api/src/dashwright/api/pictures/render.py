"""``GET /render/d/{uid}`` and ``/render/d-solo/{uid}``: a dashboard, or one panel of it, as a picture."""

from typing import Final, Literal

from multidict import MultiMapping
from pydantic import ValidationError

from dashwright.api.classic.dashboards import Dashboards
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import BINARY, Content, Operation, Permission, Route
from dashwright.api.pictures.dashboard_pictures import DashboardPictures
from dashwright.api.pictures.url_times import TIME_PARAMETERS, with_range
from dashwright.api.workers.picture_client import Picture
from dashwright.common import media
from dashwright.common.errors import BadRequest
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.pictures import PictureOptions

PICTURE_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "X-Content-Type-Options": "nosniff",
}
"""Headers that keep browsers from running scripts in an SVG."""

PICTURE_CONTENT: Final = Content(BINARY, (media.PNG, media.SVG, media.JSON))
_PANEL_PREFIX: Final = "panel-"
"""Prefix of panel ids in Grafana's links."""
_HEIGHT_OF_PANELS: Final = -1
"""Grafana's value of the parameter ``height`` for the height that all panels together take."""
_PANEL_HEIGHT: Final = 500
"""Pixels of the picture of one panel without a ``height``, as in Grafana."""
_NUMERIC_PARAMETERS: Final = {"width": "width", "height": "height", "scale": "scale", "panelId": "panel"}
"""Numeric members of PictureOptions, by query parameter."""
_STRING_PARAMETERS: Final = ("from", "to", "theme", "format", "title", "timezone", "rows")
"""Query parameters whose members of PictureOptions have the same names."""
_VARIABLE_PREFIX: Final = "var-"
"""Prefix of the names of variables, as in Grafana's links."""
_MAX_VARIABLES: Final = 100
"""Limit on the variables that the query of a URL sets."""
_MAX_QUOTED_CHARACTERS: Final = 40
"""Largest number of characters of a value that an error quotes."""


def routes(dashboards: Dashboards, pictures: DashboardPictures) -> list[Route]:
    """Return the routes of pictures.

    They require permission to read the dashboard and to query data sources. A panel shows an error if the caller may not query its
    data source.
    """

    async def respond(call: Call, options: PictureOptions) -> Response:
        dashboard = await dashboards.get(call.identity, call.parameters["uid"])
        return picture_response(await pictures.render(call.identity, dashboard.spec, options))

    async def draw(call: Call) -> Response:
        return await respond(call, picture_options(call))

    async def draw_panel(call: Call) -> Response:
        options = picture_options(call)
        if options.panel is None:
            raise BadRequest("the parameter panelId is missing: it is the id of the panel to draw")
        if options.height is None:
            options = options.model_copy(update={"height": _PANEL_HEIGHT})
        return await respond(call, options)

    def operation(operation_id: str, summary: str = "a dashboard as a picture") -> Operation:
        return Operation(
            operation_id,
            summary,
            "dashboards",
            responses={200: PICTURE_CONTENT},
            query=PICTURE_PARAMETERS,
            parameters={
                "width": int,
                "height": int,
                "scale": float,
                "theme": Literal["light", "dark"],
                "format": Literal["png", "svg", "json", "outline"],
            },
            errors=(404, 503, 504),
            description="Requires dashboards:read on the dashboard and datasources:query. If the caller may not query the data source "
            "of a panel, the picture of the panel is an error message.",
        )

    permission, path, panel_path = (
        Permission(DASHBOARD.actions["get"], object_rules_suffice=True),
        "/render/d/{uid}",
        "/render/d-solo/{uid}",
    )
    panel = "a panel of a dashboard as a picture"
    return [
        Route("GET", path, draw, permission, operation("renderDashboard")),
        Route("GET", f"{path}/{{slug}}", draw, permission, operation("renderDashboardWithSlug")),
        Route("GET", panel_path, draw_panel, permission, operation("renderPanel", panel)),
        Route("GET", f"{panel_path}/{{slug}}", draw_panel, permission, operation("renderPanelWithSlug", panel)),
    ]


def picture_response(picture: Picture) -> Response:
    """Return the response with a picture, which a browser may cache for a minute."""
    headers = {**PICTURE_HEADERS, "Cache-Control": "private, max-age=60"}
    return Response(200, picture.body, picture.media_type, headers, may_compress=picture.media_type != media.PNG)


def picture_options(call: Call) -> PictureOptions:
    """Return the picture options in the query of the URL. Raises BadRequest, which names the parameter, for an invalid value."""
    query = with_range(call.query)
    values: dict[str, object] = {name: query[name] for name in _STRING_PARAMETERS if query.get(name)}
    for name, member in _NUMERIC_PARAMETERS.items():
        if value := query.get(name):
            values[member] = _parse_number(name, value.removeprefix(_PANEL_PREFIX) if name == "panelId" else value)
    # Grafana's image renderer names the parameter ``tz``, and Grafana's links to dashboards name it ``timezone``.
    if query.get("tz"):
        values["timezone"] = query["tz"]
    values["variables"] = _variables(query)
    values["uid"] = call.parameters.get("uid", "")
    # Without a height, the picture of a dashboard is as high as its panels.
    if values.get("height") == _HEIGHT_OF_PANELS:
        del values["height"]
    try:
        return PictureOptions.model_validate(values)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise BadRequest(f"the parameter {fault['loc'][0]} is invalid: {fault['msg']}") from error


def _variables(query: MultiMapping[str]) -> dict[str, list[str]]:
    """Return the values of variables in the query by name. Raises BadRequest for too many variables."""
    names = [name for name in dict.fromkeys(query) if name.startswith(_VARIABLE_PREFIX) and name != _VARIABLE_PREFIX]
    if len(names) > _MAX_VARIABLES:
        raise BadRequest(f"the query sets {len(names)} variables (var-…); set at most {_MAX_VARIABLES}")
    return {name.removeprefix(_VARIABLE_PREFIX): query.getall(name) for name in names}


def _parse_number(name: str, value: str) -> float:
    """Return the value of a numeric parameter. Raises BadRequest for another value."""
    try:
        return float(value) if name == "scale" else int(value)
    except ValueError as error:
        raise BadRequest(f"the parameter {name} is {value[:_MAX_QUOTED_CHARACTERS]!r}; give a number") from error


PICTURE_PARAMETERS: Final = {
    **TIME_PARAMETERS,
    "width": "pixels, 200 (of one panel 30) to 3000, by default 1000",
    "height": "pixels; by default, and for -1, as many as the panels take",
    "theme": "light or dark (the default)",
    "format": "png (the default), svg, json: a report on what was drawn, or outline: positions of panels and options of variables",
    "scale": "pixels of a PNG for each pixel of the picture, 1 to 3",
    "panelId": "the one panel to draw, such as 4 or panel-4",
    "title": "a title instead of the dashboard's",
    "tz": "time zone of the axes and of times such as now/d; by default the dashboard's own",
    "rows": "expanded to draw the panels of collapsed rows, too",
    "var-name": "a value of the variable with that name; repeat it for several values",
}
