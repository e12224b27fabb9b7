"""Drawing of a picture: reads the dashboard, runs the queries of its panels, draws the panels and composes the picture."""

import asyncio
from collections.abc import Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from dashwright.common import media
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.json_shapes import string_of
from dashwright.common.models.pictures import PictureRequest
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions import queries
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.pictures.composition import compose
from dashwright.expressions.pictures.dashboard import read_dashboard, read_sections, used_names
from dashwright.expressions.pictures.layout import lay_out
from dashwright.expressions.pictures.outcomes import report
from dashwright.expressions.pictures.outline import outline_names, outline_of
from dashwright.expressions.pictures.panel_rendering import PanelRenderer, RenderContext
from dashwright.expressions.pictures.plotter import Plotter
from dashwright.expressions.pictures.theme import THEMES
from dashwright.expressions.pictures.zones import PictureTime, picture_time
from dashwright.expressions.sources.catalog import Catalog
from dashwright.expressions.variables.builtin import builtin_values
from dashwright.expressions.variables.option_queries import option_query
from dashwright.expressions.variables.resolution import BUDGET_SECONDS, Resolution, ResolutionContext, resolve

#: The maximum number of pixels of a picture, which limits the memory of a PNG: a pixel takes 4 bytes.
MAX_PIXELS: Final = 24_000_000


@dataclass(frozen=True, slots=True)
class Picture:
    """The response in the requested format: a drawn picture, or JSON with the report on its panels or with the dashboard's outline."""

    body: bytes
    media_type: str


async def draw(
    request: PictureRequest, context: QueryContext, settings: queries.QuerySettings, plotter: Plotter, deadline: float
) -> Picture:
    """Return the picture of a dashboard, drawn by ``deadline``, a time of ``time.monotonic``.

    Raises BadRequest for an invalid time or a picture that is too large, NotFound for an unknown panel, and the errors
    of ``Plotter.png``. The error of a single panel, such as a timeout, is shown in its place.
    """
    time = picture_time(request.spec, request, settings.clock.now())
    catalog = await settings.sources.catalog(context)
    sections = await asyncio.to_thread(read_sections, request.spec, request.library_panels)
    find_variable_names = outline_names if request.format == "outline" else partial(used_names, panel_id=request.panel)
    variable_names = await asyncio.to_thread(find_variable_names, request.spec, sections)
    resolution = await _resolve(request, variable_names, context, settings, catalog, time)
    if request.format == "outline":
        outline = partial(outline_of, panel_id=request.panel, page=request.page)
        return Picture((await asyncio.to_thread(outline, request.spec, sections, resolution, time)).to_json(), media.JSON)
    dashboard = await asyncio.to_thread(
        read_dashboard,
        request.spec,
        resolution,
        catalog,
        time,
        sections=sections,
        panel_id=request.panel,
        expanded=request.rows == "expanded",
    )
    if request.panel is not None and not dashboard.panels:
        raise NotFound(f"the dashboard has no panel {request.panel}")
    layout = lay_out(dashboard.panels, request.width, request.height, is_single_panel=request.panel is not None, notices=dashboard.notices)
    if layout.width * layout.height * request.scale**2 > MAX_PIXELS:
        size = f"the picture would be {layout.width} by {layout.height} pixels at scale {request.scale:g}"
        raise BadRequest(f"{size}, more than {MAX_PIXELS} in all; ask for less width or scale, or for one panel (panelId)")
    theme = THEMES[request.theme]
    renderer = PanelRenderer(RenderContext(theme, time.range, time.zone, context, settings, catalog, deadline))
    # Titles may refer to the interval of the panel's queries, which depends on the width that the layout gives the panel.
    layout = replace(layout, boxes=[renderer.with_interval(box) for box in layout.boxes])
    outcomes = await renderer.render_all(layout.boxes)
    if request.format == "json":
        return Picture(report([box.panel for box in layout.boxes], outcomes, layout.notices), media.JSON)
    svg_document = compose(layout, outcomes, theme, request.title or dashboard.title, time.range)
    if request.format == "svg":
        return Picture(svg_document.encode(), media.SVG)
    return Picture(await plotter.png(svg_document, request.scale, deadline, org_id=context.org_id), media.PNG)


async def _resolve(
    request: PictureRequest,
    variable_names: Set[str],
    context: QueryContext,
    settings: queries.QuerySettings,
    catalog: Catalog,
    time: PictureTime,
) -> Resolution:
    """Return the values of the variables with these names."""
    spec = request.spec
    # A time limit shorter than that of the picture leaves time for the panels.
    limits = replace(settings.limits, deadline=Deadline(BUDGET_SECONDS))
    identity = {"uid": request.uid, "title": string_of(spec.get("title"))}
    resolution_context = ResolutionContext(
        catalog,
        time.range,
        builtin_values(time.range, time.notation, time.zone_name, identity, context.org_id),
        request.variables,
        option_query(settings.sources, context, catalog, time.range, limits, settings.options),
        time.zone,
    )
    return await resolve(spec, variable_names, resolution_context)
