"""Outlines of dashboards for pages: the panels with their positions, the variables with their options, and the links."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dashwright.common.json_shapes import list_of, objects_of, string_of
from dashwright.common.models.dashboard_outline import (
    PAGE_SIZE,
    DashboardOutline,
    OutlineLink,
    OutlineOption,
    OutlinePanel,
    OutlineSection,
    OutlineVariable,
)
from dashwright.expressions.pictures.dashboard import id_of
from dashwright.expressions.pictures.layout import compacted_rows
from dashwright.expressions.pictures.placement import MAX_PLACED, TOO_MANY_PANELS, PlacedPanel, place
from dashwright.expressions.pictures.sections import GridPosition, Section
from dashwright.expressions.pictures.zones import PictureTime, time_settings
from dashwright.expressions.variables.definitions import Definition, read_definitions
from dashwright.expressions.variables.resolution import Resolution
from dashwright.expressions.variables.scope import Scope, names_in
from dashwright.expressions.variables.values import ALL, ALL_TEXT, Value

_MAX_LINKS: Final = 50
_MAX_TEXT: Final = 1_000
_TITLE_FORMAT: Final = "text"
#: The values of ``hide`` of variables that users cannot set.
_HIDDEN: Final = (2, "hideVariable")
#: Kinds of variables that users cannot set on a page.
_FIXED_KINDS: Final = frozenset({"constant", "adhoc", "groupby"})
#: The value of the option ``auto`` of a variable for intervals.
_AUTO: Final = "$__auto"


def outline_names(spec: Mapping[str, Any], sections: Sequence[Section]) -> set[str]:
    """Return the names of the variables that an outline shows or refers to."""
    names = {name for name, definition in read_definitions(spec).items() if _is_settable(definition)}
    names.update(names_in([spec.get("title"), spec.get("description"), spec.get("links")]))
    for section in sections:
        names.update(names_in(section.title))
        names.update(repeat.variable for repeat in [section.repeat, *(panel.repeat for panel in section.panels)] if repeat)
        for panel in section.panels:
            names.update(names_in([panel.source.get("title"), panel.source.get("description")]))
    return names


def outline_of(
    spec: Mapping[str, Any],
    sections: Sequence[Section],
    resolution: Resolution,
    time: PictureTime,
    *,
    panel_id: int | None = None,
    page: int = 1,
) -> DashboardOutline:
    """Return the outline of a page of panels, also of those in collapsed rows. With ``panel_id``, it has only this panel."""
    scope, notices = resolution.scope, list(resolution.notices)
    outline_sections = _sections(sections, scope, notices, panel_id)
    panel_count = sum(len(section.panels) for section in outline_sections)
    # The classic schema has the refresh interval in the dashboard itself.
    settings = time_settings(spec) if "elements" in spec else spec
    return DashboardOutline(
        title=_text(scope, spec.get("title")),
        description=_text(scope, spec.get("description")),
        from_=time.notation[0],
        to=time.notation[1],
        start=int(time.range.start.timestamp() * 1000),
        end=int(time.range.end.timestamp() * 1000),
        timezone=time.zone_name,
        refresh=string_of(settings.get("refresh")) or string_of(settings.get("autoRefresh")),
        variables=[_variable(definition, resolution) for definition in read_definitions(spec).values() if _is_settable(definition)],
        links=[_link(link, scope) for link in objects_of(spec.get("links"))[:_MAX_LINKS]],
        sections=_page_of(outline_sections, page),
        panel_count=panel_count,
        notices=notices,
    )


def _sections(sections: Sequence[Section], scope: Scope, notices: list[str], panel_id: int | None) -> list[OutlineSection]:
    """Return the outlines of sections, with all repetitions. Add a notice to ``notices`` for each limit that applies."""
    outlines: list[OutlineSection] = []
    panel_count = 0
    for section in sections:
        placement = place([section], scope, expanded=True, max_repeats=MAX_PLACED)
        notices += [notice for notice in placement.notices if notice not in notices]
        repeats = [section.repeat, *(panel.repeat for panel in section.panels)]
        names = sorted({repeat.variable for repeat in repeats if repeat})
        for heading, placed_panels in _below_headings(placement.panels):
            panels = sorted(placed_panels, key=lambda panel: (panel.position.y, panel.position.x))
            if panel_id is not None:
                panels = [panel for panel in panels if id_of(panel) == panel_id]
            if panel_count + len(panels) > MAX_PLACED:
                panels = panels[: MAX_PLACED - panel_count]
                if TOO_MANY_PANELS not in notices:
                    notices.append(TOO_MANY_PANELS)
            panel_count += len(panels)
            outlines.append(
                OutlineSection(
                    title=_text(heading.scope, heading.source.get("title")) if heading else "",
                    has_heading=heading is not None,
                    is_collapsed=section.is_collapsed,
                    panels=[_panel(panel, scope, names) for panel in panels],
                )
            )
            if panel_count >= MAX_PLACED:
                return outlines
    return outlines


def _page_of(sections: Sequence[OutlineSection], page: int) -> list[OutlineSection]:
    """Return the sections with the panels of a page, moved up in the grid. A number beyond the last page means the last page.

    Sections without panels are on the first page.
    """
    panel_count = sum(len(section.panels) for section in sections)
    last_page = max(math.ceil(panel_count / PAGE_SIZE), 1)
    page = min(page, last_page)
    # The index of the first panel on the page, and the number of panels in the sections before the current one.
    first, count, page_sections = (page - 1) * PAGE_SIZE, 0, []
    for section in sections:
        panels = section.panels[max(first - count, 0) : max(first + PAGE_SIZE - count, 0)]
        count += len(section.panels)
        if panels or (page == 1 and not section.panels):
            rows = compacted_rows([GridPosition(panel.x, panel.y, panel.width, panel.height) for panel in panels])
            moved = [panel.model_copy(update={"y": row}) for panel, row in zip(panels, rows, strict=True)]
            page_sections.append(section.model_copy(update={"panels": moved}))
    return page_sections


def _below_headings(placed_panels: Sequence[PlacedPanel]) -> Iterator[tuple[PlacedPanel | None, list[PlacedPanel]]]:
    """Yield each heading with the panels below it, and None with the panels above the first heading."""
    heading: PlacedPanel | None = None
    panels: list[PlacedPanel] = []
    for panel in placed_panels:
        if panel.source.get("type") != "row":
            panels.append(panel)
            continue
        if heading or panels:
            yield heading, panels
        heading, panels = panel, []
    if heading or panels:
        yield heading, panels


def _panel(placed_panel: PlacedPanel, scope: Scope, names: Sequence[str]) -> OutlinePanel:
    """Return a panel with its position. ``names`` are the variables for whose values it may be repeated."""
    own_values = {name: placed_panel.scope.values[name] for name in names if placed_panel.scope.values.get(name) != scope.values.get(name)}
    position = placed_panel.position
    return OutlinePanel(
        id=id_of(placed_panel),
        title=_text(placed_panel.scope, placed_panel.source.get("title")),
        stored_title=string_of(placed_panel.source.get("title"))[:_MAX_TEXT],
        type=string_of(placed_panel.source.get("type")),
        description=_text(placed_panel.scope, placed_panel.source.get("description")),
        x=position.x,
        y=position.y,
        width=position.width,
        height=position.height,
        variables={name: list(value.values) for name, value in own_values.items()},
    )


def _is_settable(definition: Definition) -> bool:
    """Return whether a page shows a control for the variable."""
    return definition.source.get("hide") not in _HIDDEN and definition.kind not in _FIXED_KINDS


def _variable(definition: Definition, resolution: Resolution) -> OutlineVariable:
    """Return a variable with its selected values and its options, including *All* and selected values that are not options."""
    name = definition.name
    value = resolution.scope.values.get(name, Value())
    options = [OutlineOption(value=option.value, text=option.text or option.value) for option in resolution.options.get(name, ())]
    if definition.kind == "switch":
        switch_values = {"on": definition.source.get("enabledValue") or "true", "off": definition.source.get("disabledValue") or "false"}
        options = [OutlineOption(value=string_of(switch_value), text=text) for text, switch_value in switch_values.items()]
    if definition.includes_all:
        options.insert(0, OutlineOption(value=ALL, text=ALL_TEXT))
    values, texts = list(value.values), list(value.texts)
    if value.is_all:
        values, texts = [ALL], [ALL_TEXT]
    elif definition.kind == "interval" and texts == ["auto"]:
        values = [_AUTO]
    if definition.kind != "textbox":
        option_values = {option.value for option in options}
        # A selected value that is not an option remains selectable.
        pairs = zip(values, texts, strict=False)
        options += [OutlineOption(value=value, text=text) for value, text in pairs if value and value not in option_values]
    return OutlineVariable(
        name=name,
        label=string_of(definition.source.get("label")) or name,
        kind=definition.kind,
        is_multi=definition.is_multi,
        options=options,
        values=values,
        problem=resolution.scope.problems.get(name, ""),
    )


def _link(link: Mapping[str, Any], scope: Scope) -> OutlineLink:
    """Return a link of a dashboard, with its variables replaced."""
    # A link of this type leads to all dashboards with its tags.
    is_list_of_dashboards = link.get("type") == "dashboards"
    return OutlineLink(
        title=_text(scope, link.get("title")),
        url="" if is_list_of_dashboards else scope.interpolate(string_of(link.get("url")))[:_MAX_TEXT],
        tooltip=_text(scope, link.get("tooltip")),
        tags=[tag for tag in list_of(link.get("tags")) if isinstance(tag, str)] if is_list_of_dashboards else [],
        keeps_time=link.get("keepTime") is True,
        includes_variables=link.get("includeVars") is True,
        opens_tab=link.get("targetBlank") is True,
    )


def _text(scope: Scope, value: Any) -> str:
    return scope.interpolate(string_of(value), _TITLE_FORMAT)[:_MAX_TEXT]
