"""Dashboards as drawable panels with their places. Reads the classic schema and the one with elements and a layout.

Invalid parts are left out, because a saved dashboard may hold anything.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dashwright.common.json_shapes import object_of, objects_of, text_of
from dashwright.expressions.pictures.variables import Variables

COLUMNS: Final = 24
_RENAMED: Final = {"graph": "timeseries", "singlestat": "stat", "table-old": "table", "grafana-singlestat-panel": "stat"}
_DEEPEST: Final = 8
_AUTO_COLUMNS: Final = 3
_AUTO_HEIGHT: Final = 8


@dataclass(frozen=True, slots=True)
class Place:
    """A place in units of the grid: 24 columns, any number of rows."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel with variables replaced."""

    id: int
    type: str
    title: str
    place: Place
    options: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)  #: Of the field configuration.
    overrides: Sequence[Mapping[str, Any]] = ()  #: Of the field configuration.
    targets: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard to draw."""

    title: str
    panels: Sequence[Panel]
    start: str  #: As saved, such as ``now-6h``.
    end: str


def read(spec: Mapping[str, Any]) -> Dashboard:
    """Return the dashboard in a spec."""
    variables = Variables.of(spec)
    title = variables.put_in(text_of(spec.get("title")))
    is_layout = isinstance(spec.get("elements"), dict)
    time = object_of(spec.get("timeSettings" if is_layout else "time"))
    drawn = _laid_out(spec, variables) if is_layout else _classic(spec, variables)
    panels = sorted(drawn, key=lambda panel: (panel.place.y, panel.place.x))
    return Dashboard(title, panels, text_of(time.get("from")) or "now-6h", text_of(time.get("to")) or "now")


def number_of(value: Any) -> float | None:
    """Return a finite number, also one written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def _classic(spec: Mapping[str, Any], variables: Variables) -> Iterator[Panel]:
    below = 0
    for panel in objects_of(spec.get("panels")):
        place = _place(object_of(panel.get("gridPos")), below, ("x", "y", "w", "h"))
        if panel.get("type") == "row":
            place = Place(0, place.y, COLUMNS, 1)
        below = max(below, place.y + place.height)
        yield _panel(panel, place, variables)


def _panel(panel: Mapping[str, Any], place: Place, variables: Variables) -> Panel:
    configured = object_of(panel.get("fieldConfig"))
    kind = text_of(panel.get("type"))
    return Panel(
        id=int(number_of(panel.get("id")) or 0),
        type=_RENAMED.get(kind, kind),
        title=variables.put_in(text_of(panel.get("title"))),
        place=place,
        options=variables.put_into(_options(panel)),
        defaults=object_of(configured.get("defaults")) or _older_defaults(panel),
        overrides=objects_of(configured.get("overrides")),
        targets=[_target(target, panel.get("datasource"), variables) for target in objects_of(panel.get("targets"))],
    )


def _options(panel: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options, with the text of a text panel from before panels had options."""
    options = object_of(panel.get("options"))
    return options or {name: panel[name] for name in ("content", "mode") if name in panel}


def _older_defaults(panel: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the unit and decimals of a panel from before field configurations."""
    axes = objects_of(panel.get("yaxes"))
    unit = panel.get("format") or (axes[0].get("format") if axes else None)
    older = {"unit": unit, "decimals": panel.get("decimals")}
    return {name: value for name, value in older.items() if value is not None}


def _target(target: Mapping[str, Any], datasource: Any, variables: Variables) -> Mapping[str, Any]:
    """Return the target, with the panel's data source if it names none."""
    given = target if target.get("datasource") or datasource is None else {**target, "datasource": datasource}
    put: Mapping[str, Any] = variables.put_into(given)
    return put


def _place(given: Mapping[str, Any], below: int, names: tuple[str, str, str, str]) -> Place:
    x, y, width, height = (number_of(given.get(name)) for name in names)
    left = min(max(int(x or 0), 0), COLUMNS - 1)
    return Place(
        left,
        below if y is None else min(max(int(y), 0), 10_000),
        min(max(int(width or COLUMNS // 2), 1), COLUMNS - left),
        min(max(int(height or 8), 1), 200),
    )


def _laid_out(spec: Mapping[str, Any], variables: Variables) -> Iterator[Panel]:
    elements = object_of(spec.get("elements"))
    for place, name in _places(object_of(spec.get("layout")), 0, 0):
        if place.height == 0:
            yield Panel(0, "row", variables.put_in(name), Place(0, place.y, COLUMNS, 1))
        elif isinstance(element := elements.get(name), dict):
            yield _panel(_as_classic(object_of(element.get("spec"))), place, variables)


def _places(layout: Mapping[str, Any], top: int, depth: int) -> Iterator[tuple[Place, str]]:
    """Yield the place of each element; the heading of a row is a place without height."""
    kind, spec = layout.get("kind"), object_of(layout.get("spec"))
    if depth > _DEEPEST:
        return
    if kind in ("RowsLayout", "TabsLayout"):
        for part in objects_of(spec.get("rows" if kind == "RowsLayout" else "tabs")):
            row_spec = object_of(part.get("spec"))
            yield Place(0, top, COLUMNS, 0), text_of(row_spec.get("title"))
            top += 1
            if row_spec.get("collapse") is True:
                continue
            inner = list(_places(object_of(row_spec.get("layout")), top, depth + 1))
            yield from inner
            top = max([top, *(place.y + max(place.height, 1) for place, _ in inner)])
        return
    for number, item in enumerate(objects_of(spec.get("items"))):
        item_spec = object_of(item.get("spec"))
        width = COLUMNS // _AUTO_COLUMNS
        row, column = divmod(number, _AUTO_COLUMNS)
        automatic = Place(column * width, row * _AUTO_HEIGHT, width, _AUTO_HEIGHT)
        place = automatic if kind == "AutoGridLayout" else _place(item_spec, 0, ("x", "y", "width", "height"))
        yield Place(place.x, top + place.y, place.width, place.height), text_of(object_of(item_spec.get("element")).get("name"))


def _as_classic(element: Mapping[str, Any]) -> dict[str, Any]:
    """Return a panel among elements with the members of the classic schema."""
    shown = object_of(element.get("vizConfig"))
    visualization = object_of(shown.get("spec"))
    queries = objects_of(object_of(object_of(element.get("data")).get("spec")).get("queries"))
    return {
        "id": element.get("id"),
        "title": element.get("title"),
        "type": shown.get("group") or shown.get("kind"),
        "options": visualization.get("options"),
        "fieldConfig": visualization.get("fieldConfig"),
        "targets": [_as_target(object_of(query.get("spec"))) for query in queries],
    }


def _as_target(query: Mapping[str, Any]) -> dict[str, Any]:
    inner = object_of(query.get("query"))
    kind = inner.get("group") or inner.get("kind")
    named = object_of(inner.get("datasource"))
    source = query.get("datasource") or {"type": kind, **({"uid": named["name"]} if "name" in named else {})}
    return {**object_of(inner.get("spec")), "refId": query.get("refId"), "hide": query.get("hidden") is True, "datasource": source}
