"""Dashboards as panels with positions, read from a spec of the classic schema or of the schema with elements and a layout.

Invalid parts of a spec are ignored, because a stored dashboard may contain anything.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dashwright.common.json_shapes import object_of, objects_of, string_of
from dashwright.expressions.pictures.variables import Variables

COLUMNS: Final = 24
# Bounds of positions, in rows of the grid.
_MAX_TOP: Final = 10_000
_MAX_HEIGHT: Final = 200
_DEFAULT_HEIGHT: Final = 8
#: The panel type that replaced each old type.
_CURRENT_TYPES: Final = {"graph": "timeseries", "singlestat": "stat", "table-old": "table", "grafana-singlestat-panel": "stat"}
#: Levels of layouts in layouts. Deeper layouts are ignored.
_MAX_DEPTH: Final = 8
#: The panels in each row of an automatic grid, and their height in grid rows.
_AUTO_COLUMNS: Final = 3
_AUTO_HEIGHT: Final = 8


@dataclass(frozen=True, slots=True)
class GridPosition:
    """The position and size of a panel in columns and rows of the grid, which has 24 columns."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel with its variables interpolated."""

    id: int
    type: str
    title: str
    position: GridPosition
    options: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)  #: Of the field configuration.
    overrides: Sequence[Mapping[str, Any]] = ()  #: Of the field configuration.
    targets: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard to draw."""

    title: str
    panels: Sequence[Panel]
    start: str  #: As stored, such as ``now-6h``.
    end: str  #: As stored, such as ``now``.


def read_dashboard(spec: Mapping[str, Any]) -> Dashboard:
    """Return the dashboard of a spec, with its panels from top to bottom."""
    variables = Variables.from_spec(spec)
    title = variables.interpolate(string_of(spec.get("title")))
    has_layout = isinstance(spec.get("elements"), dict)
    time = object_of(spec.get("timeSettings" if has_layout else "time"))
    panels = _panels_of_layout(spec, variables) if has_layout else _panels_of_classic_spec(spec, variables)
    sorted_panels = sorted(panels, key=lambda panel: (panel.position.y, panel.position.x))
    return Dashboard(title, sorted_panels, string_of(time.get("from")) or "now-6h", string_of(time.get("to")) or "now")


def number_of(value: Any) -> float | None:
    """Return the finite number that a JSON number or string contains; None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def _panels_of_classic_spec(spec: Mapping[str, Any], variables: Variables) -> Iterator[Panel]:
    # A panel without a position is below all panels before it.
    bottom = 0
    for panel in objects_of(spec.get("panels")):
        position = _position(object_of(panel.get("gridPos")), bottom, ("x", "y", "w", "h"))
        if panel.get("type") == "row":
            position = GridPosition(0, position.y, COLUMNS, 1)
        bottom = max(bottom, position.y + position.height)
        yield _panel(panel, position, variables)


def _panel(panel: Mapping[str, Any], position: GridPosition, variables: Variables) -> Panel:
    field_config = object_of(panel.get("fieldConfig"))
    type_ = string_of(panel.get("type"))
    return Panel(
        id=int(number_of(panel.get("id")) or 0),
        type=_CURRENT_TYPES.get(type_, type_),
        title=variables.interpolate(string_of(panel.get("title"))),
        position=position,
        options=variables.interpolate_tree(_options(panel)),
        defaults=object_of(field_config.get("defaults")) or _legacy_defaults(panel),
        overrides=objects_of(field_config.get("overrides")),
        targets=[_target(target, panel.get("datasource"), variables) for target in objects_of(panel.get("targets"))],
    )


def _options(panel: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options of a panel. Old text panels have their content next to ``options`` rather than in it."""
    options = object_of(panel.get("options"))
    return options or {name: panel[name] for name in ("content", "mode") if name in panel}


def _legacy_defaults(panel: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the unit and decimals of an old panel without a field configuration."""
    axes = objects_of(panel.get("yaxes"))
    unit = panel.get("format") or (axes[0].get("format") if axes else None)
    settings = {"unit": unit, "decimals": panel.get("decimals")}
    return {name: value for name, value in settings.items() if value is not None}


def _target(target: Mapping[str, Any], datasource: Any, variables: Variables) -> Mapping[str, Any]:
    """Return the target, with the panel's data source if it has none of its own."""
    if datasource is not None and not target.get("datasource"):
        target = {**target, "datasource": datasource}
    interpolated: Mapping[str, Any] = variables.interpolate_tree(target)
    return interpolated


def _position(source: Mapping[str, Any], default_y: int, names: tuple[str, str, str, str]) -> GridPosition:
    """Return the position in ``source``, moved and shrunk to fit into the grid.

    ``names`` are the keys of the column, the row, the width and the height. Without a row it is ``default_y``.
    """
    x, y, width, height = (number_of(source.get(name)) for name in names)
    column = min(max(int(x or 0), 0), COLUMNS - 1)
    return GridPosition(
        column,
        default_y if y is None else min(max(int(y), 0), _MAX_TOP),
        min(max(int(width or COLUMNS // 2), 1), COLUMNS - column),
        min(max(int(height or _DEFAULT_HEIGHT), 1), _MAX_HEIGHT),
    )


def _panels_of_layout(spec: Mapping[str, Any], variables: Variables) -> Iterator[Panel]:
    elements = object_of(spec.get("elements"))
    for position, name in _positions(object_of(spec.get("layout")), 0, 0):
        if position.height == 0:
            yield Panel(0, "row", variables.interpolate(name), GridPosition(0, position.y, COLUMNS, 1))
        elif isinstance(element := elements.get(name), dict):
            yield _panel(_as_classic(object_of(element.get("spec"))), position, variables)


def _positions(layout: Mapping[str, Any], top: int, depth: int) -> Iterator[tuple[GridPosition, str]]:
    """Yield the position and name of each element below the grid row ``top``.

    The heading of a row or tab has the height 0 and its title as name.
    """
    kind, spec = layout.get("kind"), object_of(layout.get("spec"))
    if depth > _MAX_DEPTH:
        return
    if kind in ("RowsLayout", "TabsLayout"):
        for section in objects_of(spec.get("rows" if kind == "RowsLayout" else "tabs")):
            section_spec = object_of(section.get("spec"))
            yield GridPosition(0, top, COLUMNS, 0), string_of(section_spec.get("title"))
            top += 1
            if section_spec.get("collapse") is True:
                continue
            section_elements = list(_positions(object_of(section_spec.get("layout")), top, depth + 1))
            yield from section_elements
            top = max([top, *(position.y + max(position.height, 1) for position, _ in section_elements)])
        return
    for index, item in enumerate(objects_of(spec.get("items"))):
        item_spec = object_of(item.get("spec"))
        width = COLUMNS // _AUTO_COLUMNS
        row, column = divmod(index, _AUTO_COLUMNS)
        automatic_position = GridPosition(column * width, row * _AUTO_HEIGHT, width, _AUTO_HEIGHT)
        position = automatic_position if kind == "AutoGridLayout" else _position(item_spec, 0, ("x", "y", "width", "height"))
        name = string_of(object_of(item_spec.get("element")).get("name"))
        yield GridPosition(position.x, top + position.y, position.width, position.height), name


def _as_classic(element: Mapping[str, Any]) -> dict[str, Any]:
    """Return an element's panel in the classic schema."""
    viz_config = object_of(element.get("vizConfig"))
    viz_spec = object_of(viz_config.get("spec"))
    queries = objects_of(object_of(object_of(element.get("data")).get("spec")).get("queries"))
    return {
        "id": element.get("id"),
        "title": element.get("title"),
        "type": viz_config.get("group") or viz_config.get("kind"),
        "options": viz_spec.get("options"),
        "fieldConfig": viz_spec.get("fieldConfig"),
        "targets": [_as_target(object_of(query.get("spec"))) for query in queries],
    }


def _as_target(query: Mapping[str, Any]) -> dict[str, Any]:
    """Return an element's query as a target of the classic schema."""
    data_query = object_of(query.get("query"))
    kind = data_query.get("group") or data_query.get("kind")
    datasource_ref = object_of(data_query.get("datasource"))
    datasource = query.get("datasource") or {"type": kind, **({"uid": datasource_ref["name"]} if "name" in datasource_ref else {})}
    return {**object_of(data_query.get("spec")), "refId": query.get("refId"), "hide": query.get("hidden") is True, "datasource": datasource}
