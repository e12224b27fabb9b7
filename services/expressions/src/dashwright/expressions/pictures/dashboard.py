"""Dashboards as panels with positions, read from a spec of the classic schema or of the schema with elements and a layout.

Invalid parts of a spec are ignored, because a stored dashboard may contain anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dashwright.common.json_shapes import number_of, object_of, objects_of, string_of
from dashwright.expressions.pictures.elements import elements_sections
from dashwright.expressions.pictures.library_panels import missing_library_panel, with_library_panels
from dashwright.expressions.pictures.migrations.registry import migrated
from dashwright.expressions.pictures.panel_targets import PanelTargets, read_targets
from dashwright.expressions.pictures.panel_time import PanelTime, panel_time
from dashwright.expressions.pictures.placement import PlacedPanel, place
from dashwright.expressions.pictures.sections import GridPosition, Section, classic_sections
from dashwright.expressions.pictures.zones import PictureTime
from dashwright.expressions.sources.catalog import Catalog
from dashwright.expressions.transformations.pipeline import Step, read_steps
from dashwright.expressions.variables.builtin import end_values
from dashwright.expressions.variables.references import DASHBOARD
from dashwright.expressions.variables.resolution import Resolution
from dashwright.expressions.variables.scope import Scope, names_in
from dashwright.expressions.variables.values import text_of

#: The maximum number of panels that a picture draws.
MAX_PANELS: Final = 60
#: Larger ids are ignored, because a number of JavaScript may not be exact from here on.
_MAX_ID: Final = 2**53
#: Larger numbers of points of a panel are ignored.
_MAX_DATA_POINTS: Final = 1_000_000
#: The format of variables in titles.
_TITLE_FORMAT: Final = "text"


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel with its variables interpolated."""

    id: int
    type: str
    title: str
    position: GridPosition
    options: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)  #: The defaults of the field configuration.
    overrides: Sequence[Mapping[str, Any]] = ()  #: The overrides of the field configuration.
    targets: Sequence[Mapping[str, Any]] = ()
    problem: str = ""  #: The reason why the targets cannot be run.
    hint: str = ""  #: A text about variables without a value, which may be the reason for a result without data.
    interval: str = ""  #: The minimum interval of the panel.
    max_data_points: int | None = None
    transformations: Sequence[Step] = ()  #: The transformations that are not disabled.
    is_collapsed: bool = False  #: True for the heading of a row whose panels are not shown.
    description: str = ""
    is_transparent: bool = False  #: True if the panel has no background and no border.
    time: PanelTime | None = None  #: None if the range of the picture applies.

    @property
    def no_value(self) -> str:
        """The text that the panel shows if its queries have no data; empty for the usual text."""
        text = self.defaults.get("noValue")
        return "" if text is None else text_of(text)


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard to draw."""

    title: str
    panels: Sequence[Panel]  #: From top to bottom.
    notices: Sequence[str] = ()  #: Notices about limits, and about settings that are ignored.


def read_sections(spec: Mapping[str, Any], library_panels: Mapping[str, Mapping[str, Any]] | None = None) -> Sequence[Section]:
    """Return the sections of a spec. ``library_panels`` are the models of stored library panels by uid."""
    sections = elements_sections(spec) if isinstance(spec.get("elements"), dict) else classic_sections(spec)
    return with_library_panels(sections, spec, library_panels or {})


def used_names(spec: Mapping[str, Any], sections: Sequence[Section], *, panel_id: int | None = None) -> set[str]:
    """Return the names of the variables that the title, the headings and the panels use, or with ``panel_id`` only this panel."""
    names = set(names_in(spec.get("title")))
    for section in sections if panel_id is None else _sections_with(sections, panel_id):
        names.update(names_in(section.title))
        repeats = [section.repeat, *(panel.repeat for panel in section.panels)]
        names.update(repeat.variable for repeat in repeats if repeat)
        for panel in section.panels:
            names.update(names_in([panel.source.get(name) for name in _INTERPOLATED_MEMBERS]))
    return names


def _sections_with(sections: Sequence[Section], panel_id: int) -> Sequence[Section]:
    """Return the sections with no panel but ``panel_id``, or all ``sections`` if this panel shows the data of another panel."""
    filtered_sections = [
        replace(section, panels=[panel for panel in section.panels if number_of(panel.source.get("id")) == panel_id])
        for section in sections
    ]
    filtered_sections = [section for section in filtered_sections if section.panels]
    # The search also finds the name in other texts of a panel. Then a few variables too many are resolved.
    shows_other_queries = any(DASHBOARD in str(panel.source) for section in filtered_sections for panel in section.panels)
    return sections if shows_other_queries else filtered_sections


#: The members of panels in which variables are replaced.
_INTERPOLATED_MEMBERS: Final = (
    *("title", "description", "datasource", "targets", "options", "content", "interval"),
    *("fieldConfig", "transformations", "timeFrom", "timeShift"),
)
#: The settings of columns in which Grafana replaces variables.
_INTERPOLATED_SETTINGS: Final = frozenset({"displayName", "custom.axisLabel"})


def read_dashboard(
    spec: Mapping[str, Any],
    resolution: Resolution | None = None,
    catalog: Catalog | None = None,
    time: PictureTime | None = None,
    *,
    sections: Sequence[Section] | None = None,
    panel_id: int | None = None,
    expanded: bool = False,
) -> Dashboard:
    """Return the dashboard of a spec, with its panels from top to bottom, or only the panel ``panel_id``.

    Panels after the first ``MAX_PANELS``, which no picture draws, have only their id, type, title and position.
    """
    resolution = resolution or Resolution(Scope())
    catalog = catalog or Catalog()
    sections = read_sections(spec) if sections is None else sections
    placement = place(sections, resolution.scope, expanded=expanded or panel_id is not None)
    placed_panels = sorted(placement.panels, key=lambda panel: (panel.position.y, panel.position.x))
    if panel_id is not None:
        placed_panels = [panel for panel in placed_panels if id_of(panel) == panel_id and panel.source.get("type") != "row"][:1]
    sources = {text_of(panel.source.get("id")): panel.source for section in sections for panel in section.panels}
    panels = [_panel(panel, sources, catalog, time, is_complete=index < MAX_PANELS) for index, panel in enumerate(placed_panels)]
    title = resolution.scope.interpolate(string_of(spec.get("title")), _TITLE_FORMAT)
    return Dashboard(title, panels, [*resolution.notices, *placement.notices])


def id_of(panel: PlacedPanel) -> int:
    """Return the id of a panel; 0 without a valid one."""
    number = number_of(panel.source.get("id")) or 0
    return int(number) if abs(number) < _MAX_ID else 0


def _panel(
    placed_panel: PlacedPanel, sources: Mapping[str, Mapping[str, Any]], catalog: Catalog, time: PictureTime | None, *, is_complete: bool
) -> Panel:
    """Return a panel with its variables replaced and its targets resolved, or only with its title unless ``is_complete``."""
    panel, scope = migrated(placed_panel.source), placed_panel.scope
    current_type = string_of(panel.get("type"))
    title = scope.interpolate(string_of(panel.get("title")), _TITLE_FORMAT)
    is_collapsed = placed_panel.hidden_count is not None
    if is_collapsed:
        title = f"{title} ({placed_panel.hidden_count} {'panel' if placed_panel.hidden_count == 1 else 'panels'})"
    if not is_complete:
        return Panel(id_of(placed_panel), current_type, title, placed_panel.position, is_collapsed=is_collapsed)
    own_time = panel_time(panel, scope, time) if time and (panel.get("timeFrom") or panel.get("timeShift")) else None
    if own_time:
        # In the panel, ``$__from`` and ``$__to`` are the ends of its own range.
        scope = scope.with_values(end_values(own_time.range))
    field_config = object_of(panel.get("fieldConfig"))
    points = number_of(panel.get("maxDataPoints"))
    panel_targets = PanelTargets() if current_type in ("row", "text") else read_targets(panel, sources, catalog, scope)
    return Panel(
        id=id_of(placed_panel),
        type=current_type,
        title=title,
        position=placed_panel.position,
        options=scope.interpolate_tree(_options(panel)),
        defaults=_defaults(object_of(field_config.get("defaults")), scope),
        overrides=[_override(rule, scope) for rule in objects_of(field_config.get("overrides"))],
        targets=panel_targets.targets,
        problem=missing_library_panel(panel) or panel_targets.problem,
        hint=_hint(panel, scope),
        interval=scope.interpolate(string_of(panel.get("interval"))),
        max_data_points=int(points) if points and 1 <= points <= _MAX_DATA_POINTS else None,
        transformations=read_steps(scope.interpolate_tree(panel.get("transformations"))),
        is_collapsed=is_collapsed,
        description=scope.interpolate(string_of(panel.get("description")), _TITLE_FORMAT).strip(),
        is_transparent=panel.get("transparent") is True,
        time=own_time,
    )


def _hint(panel: Mapping[str, Any], scope: Scope) -> str:
    """Return the text that names variables without a value in the targets, at most three; empty if all have values."""
    names = dict.fromkeys(names_in(panel.get("targets")))
    # The custom text of *All* is a value even if the variable has no options.
    without_value = [name for name in names if (value := scope.values.get(name)) and not any(value.values) and value.custom_all is None]
    return f"no value of {', '.join(f'${name}' for name in without_value[:3])}" if without_value else ""


def _options(panel: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options of a panel. Old text panels have their content next to ``options`` rather than in it."""
    options = object_of(panel.get("options"))
    return options or {name: panel[name] for name in ("content", "mode") if name in panel}


def _defaults(defaults: Mapping[str, Any], scope: Scope) -> Mapping[str, Any]:
    """Return the defaults of columns with variables replaced in names and labels of axes."""
    custom = object_of(defaults.get("custom"))
    names = {"displayName": scope.interpolate_tree(defaults["displayName"])} if "displayName" in defaults else {}
    labels = {"custom": {**custom, "axisLabel": scope.interpolate_tree(custom["axisLabel"])}} if "axisLabel" in custom else {}
    return {**defaults, **names, **labels}


def _override(rule: Mapping[str, Any], scope: Scope) -> Mapping[str, Any]:
    """Return an override rule with variables replaced in names and labels of axes."""
    properties = [
        {**item, "value": scope.interpolate_tree(item.get("value"))} if item.get("id") in _INTERPOLATED_SETTINGS else item
        for item in objects_of(rule.get("properties"))
    ]
    return {**rule, "properties": properties}
