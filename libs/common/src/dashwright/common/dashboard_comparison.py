"""The differences between two dashboards, setting by setting and panel by panel, in classic specs and in specs with elements.

Members of an unexpected shape are ignored, because this module does not validate dashboards.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

from dashwright.common.json_documents import json_equal, write_json
from dashwright.common.json_shapes import list_of, object_at, objects_of

#: Name of the setting whose change alone makes a panel MOVED.
POSITION: Final = "position"

#: Members in which data sources keep the query text; the first string among them is used.
_QUERY_TEXT_KEYS: Final = ("expr", "rawSql", "query", "target", "expression")

#: Whole numbers of at least this absolute value are written as floats, smaller ones as integers.
_MIN_FLOAT: Final = 1e15

#: Members that are set when a dashboard is stored. They are not compared.
_SET_BY_STORE: Final = ("id", "uid", "version", "iteration")
#: Members of panels, queries, fields and dashboards that the comparison shows by a text of their own, or leaves out. All other members
#: are compared as further settings.
_PANEL_KEYS: Final = (
    "id",
    "title",
    "description",
    "type",
    "gridPos",
    "datasource",
    "targets",
    "fieldConfig",
    "panels",
    "pluginVersion",
    "libraryPanel",
)
_QUERY_KEYS: Final = ("refId", "datasource", "key")
_FIELD_KEYS: Final = ("unit", "thresholds", "min", "max", "decimals")
_DASHBOARD_KEYS: Final = ("title", "description", "tags", "refresh", "time", "timezone", "timeSettings")
#: Maximum number of characters of the title of a row or tab, which is repeated for each panel in it.
_MAX_TITLE_CHARACTERS: Final = 80

#: Members of a dashboard whose parts are compared one by one.
_COMPARED_ELSEWHERE: Final = ("panels", "rows", "elements", "layout", "templating", "variables", "annotations")


class PanelAction(StrEnum):
    """The way in which a panel changes."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"


class Detail(NamedTuple):
    """One setting before and after the change; empty if it is not set."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class PanelChange:
    """The change of a panel."""

    #: Key of the panel: its id, or else its title or element name.
    id: str
    title: str
    #: MOVED if nothing but the position of the panel changes.
    action: PanelAction
    details: Sequence[Detail] = ()
    #: Further changed settings, with their JSON.
    other_details: Sequence[Detail] = ()

    @property
    def other_names(self) -> Sequence[str]:
        """The names of the further changed settings."""
        return [detail.name for detail in self.other_details]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The changes of a dashboard: those of its own settings, and those of its panels."""

    details: Sequence[Detail] = ()
    #: Further changed settings, with their JSON.
    other_details: Sequence[Detail] = ()
    #: Changed and new panels in the order of the new dashboard, then removed panels.
    panels: Sequence[PanelChange] = ()

    @property
    def other_names(self) -> Sequence[str]:
        """The names of the further changed settings."""
        return [detail.name for detail in self.other_details]

    def count(self, action: PanelAction) -> int:
        """Return the number of panels with an action."""
        return sum(panel.action is action for panel in self.panels)


@dataclass(slots=True)
class _Summary:
    """The settings of a dashboard or panel."""

    title: str = ""
    #: Texts of the settings that a comparison shows before and after, by name.
    texts: dict[str, str] = field(default_factory=dict)
    #: Values of the further settings, by name.
    other_settings: dict[str, Any] = field(default_factory=dict)


class _Query(NamedTuple):
    """A query of a panel."""

    ref_id: str
    members: Mapping[str, Any]
    #: Reference to its data source, as the dashboard contains it; None if it is missing.
    source: Any


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> Comparison:
    """Return the changes between two dashboard specs; ``before`` is empty for a new dashboard."""
    details, other_details = _differences(_dashboard_summary(before), _dashboard_summary(after))
    old_panels, new_panels = _panels(before), _panels(after)
    changes = [_panel_change(name, old_panels.get(name), panel) for name, panel in new_panels.items()]
    removed_panels = [PanelChange(name, panel.title, PanelAction.REMOVED) for name, panel in old_panels.items() if name not in new_panels]
    return Comparison(details, other_details, [*(change for change in changes if change), *removed_panels])


def _panel_change(name: str, old: _Summary | None, new: _Summary) -> PanelChange | None:
    """Return the change of a panel of the new dashboard, or None if it has not changed. ``old`` is None for a new panel."""
    if old is None:
        details_of_new_panel = [
            Detail(setting, "", value) for setting, value in new.texts.items() if value and _is_shown_for_new_panel(setting)
        ]
        return PanelChange(name, new.title, PanelAction.ADDED, details_of_new_panel)
    details, other_details = _differences(old, new)
    if not details and not other_details:
        return None
    is_moved = not other_details and all(detail.name == POSITION for detail in details)
    return PanelChange(name, new.title, PanelAction.MOVED if is_moved else PanelAction.CHANGED, details, other_details)


def _is_shown_for_new_panel(name: str) -> bool:
    """Return whether the comment on a pull request shows a setting of a new panel: ``query A`` is shown, ``query A format`` is not."""
    return name in ("type", "library panel", "data source") or (name.startswith("query ") and name.count(" ") == 1)


def _differences(old: _Summary, new: _Summary) -> tuple[list[Detail], list[Detail]]:
    """Return the changed texts, and the further changed settings with their JSON."""
    names = [*new.texts, *(name for name in old.texts if name not in new.texts)]
    all_details = [Detail(name, old.texts.get(name, ""), new.texts.get(name, "")) for name in names]
    other_details = [
        Detail(name, _as_text(old.other_settings.get(name)), _as_text(new.other_settings.get(name)))
        for name in sorted(old.other_settings.keys() | new.other_settings.keys())
        if not json_equal(old.other_settings.get(name), new.other_settings.get(name))
    ]
    return [detail for detail in all_details if detail.before != detail.after], other_details


def _dashboard_summary(spec: Mapping[str, Any]) -> _Summary:
    """Return the summary of a dashboard itself, without its panels."""
    time_settings = object_at(spec, "timeSettings")
    time_range = object_at(spec, "time") or time_settings
    has_time_range = time_range.get("from") or time_range.get("to")
    texts = {
        "title": _as_text(spec.get("title")),
        "description": _as_text(spec.get("description")),
        "tags": ", ".join(_as_text(tag) for tag in list_of(spec.get("tags"))),
        "time range": f"{_as_text(time_range.get('from'))} to {_as_text(time_range.get('to'))}" if has_time_range else "",
        "refresh": _as_text(spec.get("refresh")) or _as_text(time_settings.get("autoRefresh")),
        "time zone": _as_text(spec.get("timezone")) or _as_text(time_settings.get("timezone")),
        **dict(_named_items("variable", object_at(spec, "templating").get("list") or spec.get("variables"))),
        **dict(_named_items("annotation", object_at(spec, "annotations").get("list") or spec.get("annotations"))),
    }
    other_settings = {key: value for key, value in spec.items() if key not in (*_SET_BY_STORE, *_DASHBOARD_KEYS, *_COMPARED_ELSEWHERE)}
    return _Summary(texts["title"], texts, other_settings)


def _named_items(noun: str, items: Any) -> Iterator[tuple[str, str]]:
    """Yield the names of variables or annotations, each after ``noun``, with their JSON without the selected value."""
    for item in objects_of(items):
        body = object_at(item, "spec") or item
        # Grafana saves the selected value and the loaded options of a variable with the dashboard, even if its definition is unchanged.
        definition = {key: value for key, value in body.items() if key not in ("name", "current", "options")}
        yield f"{noun} {_as_text(body.get('name'))}", _json(definition)


def _panels(spec: Mapping[str, Any]) -> dict[str, _Summary]:
    """Return panels by id. If several panels have the same id, a number is added to the key of each but the first."""
    panels: dict[str, _Summary] = {}
    repetitions: Counter[str] = Counter()
    has_elements = isinstance(spec.get("elements"), dict)
    for panel_id, summary in _element_panels(spec) if has_elements else _classic_panels(spec):
        key = panel_id
        while key in panels:
            repetitions[panel_id] += 1
            key = f"{panel_id} ({repetitions[panel_id] + 1})"
        panels[key] = summary
    return panels


def _classic_panels(spec: Mapping[str, Any]) -> Iterator[tuple[str, _Summary]]:
    """Yield panels with their keys, also those in collapsed rows and in the rows of old dashboards."""
    panels_in_rows = [panel for row in objects_of(spec.get("rows")) for panel in objects_of(row.get("panels"))]
    for panel in [*objects_of(spec.get("panels")), *panels_in_rows]:
        for item in (panel, *objects_of(panel.get("panels"))):
            yield _as_text(item.get("id")) or _as_text(item.get("title")), _classic_panel_summary(item)


def _classic_panel_summary(item: Mapping[str, Any]) -> _Summary:
    """Return the summary of a panel of a classic dashboard."""
    source = item.get("datasource")
    queries = [_Query(_as_text(query.get("refId")), query, query.get("datasource")) for query in objects_of(item.get("targets"))]
    other_settings = {key: value for key, value in item.items() if key not in _PANEL_KEYS}
    position = _position(object_at(item, "gridPos"), "w", "h")
    return _panel_summary(
        item,
        panel_type=_as_text(item.get("type")),
        position=position,
        source=source,
        queries=queries,
        config=item,
        other_settings=other_settings,
    )


def _element_panels(spec: Mapping[str, Any]) -> Iterator[tuple[str, _Summary]]:
    """Yield panels with their keys, from a spec with elements and a layout."""
    positions = dict(_positions(spec.get("layout")))
    for name, element in spec["elements"].items():
        item = object_at(element, "spec") if isinstance(element, dict) else {}
        visualization = object_at(item, "vizConfig")
        config = object_at(visualization, "spec")
        data = object_at(object_at(item, "data"), "spec")
        queries = [_element_query(object_at(query, "spec")) for query in objects_of(data.get("queries"))]
        other_settings = {key: value for key, value in item.items() if key not in (*_PANEL_KEYS, "data", "vizConfig")}
        other_settings |= {key: value for key, value in data.items() if key != "queries"}
        other_settings |= {key: value for key, value in config.items() if key not in _PANEL_KEYS}
        panel_type = _as_text(visualization.get("group")) or _as_text(visualization.get("kind"))
        summary = _panel_summary(
            item,
            panel_type=panel_type,
            position=positions.get(name, ""),
            source=None,
            queries=queries,
            config=config,
            other_settings=other_settings,
        )
        yield _as_text(item.get("id")) or name, summary


def _element_query(query: Mapping[str, Any]) -> _Query:
    """Return a query of an element. Versions have its data source in different members."""
    data_query = object_at(query, "query")
    source = query.get("datasource") or data_query.get("datasource") or data_query.get("group") or data_query.get("kind")
    # The name and the value in classic dashboards, so that a conversion alone makes no difference.
    hidden_flag = {"hide": True} if query.get("hidden") is True else {}
    return _Query(_as_text(query.get("refId")), {**object_at(data_query, "spec"), **hidden_flag}, source)


def _panel_summary(
    item: Mapping[str, Any],
    *,
    panel_type: str,
    position: str,
    source: Any,
    queries: Sequence[_Query],
    config: Mapping[str, Any],
    other_settings: dict[str, Any],
) -> _Summary:
    """Return the summary of a panel. ``config`` is the object that contains ``fieldConfig``."""
    field_config = object_at(config, "fieldConfig")
    defaults = object_at(field_config, "defaults")
    panel_source = _source_text(source)
    options = object_at(other_settings, "options")
    texts = {
        "title": _as_text(item.get("title")),
        "description": _as_text(item.get("description")),
        "type": panel_type,
        "library panel": _library_panel_text(object_at(item, "libraryPanel")),
        POSITION: position,
        "data source": panel_source,
        **{name: text for query in queries for name, text in _query_texts(query, panel_source)},
        "unit": _as_text(defaults.get("unit")),
        "thresholds": _thresholds(object_at(defaults, "thresholds")),
        **{name: _as_text(defaults.get(name)) for name in ("min", "max", "decimals")},
        "content": _as_text(options.get("content")),
    }
    nested_settings = {f"options.{key}": value for key, value in options.items() if key != "content"}
    nested_settings |= {f"fieldConfig.{key}": value for key, value in field_config.items() if key != "defaults"}
    nested_settings |= {f"fieldConfig.defaults.{key}": value for key, value in defaults.items() if key not in _FIELD_KEYS}
    return _Summary(texts["title"], texts, {key: value for key, value in other_settings.items() if key != "options"} | nested_settings)


def _query_texts(query: _Query, panel_source: str) -> Iterator[tuple[str, str]]:
    """Yield the settings of a query by name. Its data source is left out if it is the panel's."""
    name = f"query {query.ref_id or '?'}"
    text_key = next((key for key in _QUERY_TEXT_KEYS if isinstance(query.members.get(key), str)), "")
    other_members = {key: value for key, value in query.members.items() if key not in (*_QUERY_KEYS, text_key)}
    yield name, _as_text(query.members.get(text_key)) if text_key else _json(other_members)
    if query.source is not None and _source_text(query.source) != panel_source:
        yield f"{name} data source", _source_text(query.source)
    # Without a text, the first item has all other members already.
    if text_key:
        for key, value in other_members.items():
            yield f"{name} {key}", _as_text(value)


def _thresholds(thresholds: Mapping[str, Any]) -> str:
    """Return thresholds as text, such as ``green from the start, red from 80``."""
    steps = [
        f"{_as_text(step.get('color'))} from {_as_text(step.get('value')) or 'the start'}" for step in objects_of(thresholds.get("steps"))
    ]
    return ", ".join(steps) + (" (percent)" if thresholds.get("mode") == "percentage" else "")


def _source_text(data_source: Any) -> str:
    """Return a reference to a data source as text: its uid or name with its type, as far as they are known."""
    if not isinstance(data_source, Mapping):
        return _as_text(data_source)
    name, source_type = _as_text(data_source.get("uid")) or _as_text(data_source.get("name")), _as_text(data_source.get("type"))
    return f"{name} ({source_type})" if name and source_type else name or source_type


def _library_panel_text(reference: Mapping[str, Any]) -> str:
    """Return the name and uid in a reference to a library panel as text, as far as they are known."""
    name, uid = _as_text(reference.get("name")), _as_text(reference.get("uid"))
    return f"{name} ({uid})" if name and uid else name or uid


def _position(grid: Mapping[str, Any], width_key: str, height_key: str) -> str:
    """Return size and position as text, in grid units, of which a row has 24; empty if ``grid`` is empty."""
    if not grid:
        return ""
    size = f"{_as_text(grid.get(width_key))} × {_as_text(grid.get(height_key))}"  # noqa: RUF001 - typography of a comment on a pull request
    return f"{size} at {_as_text(grid.get('x'))}, {_as_text(grid.get('y'))}"


def _positions(layout: Any, titles_above: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the position of each element, in layouts of every kind: its grid position, and the titles of the rows and tabs around it."""
    if isinstance(layout, list):
        for item in layout:
            yield from _positions(item, titles_above)
    if not isinstance(layout, dict):
        return
    name = object_at(layout, "element").get("name")
    if isinstance(name, str):
        position = _position(layout, "width", "height") if "x" in layout else ""
        yield name, " in ".join(text for text in (position, *reversed(titles_above)) if text)
        return
    title = layout.get("title")
    inner_titles = (*titles_above, repr(title[:_MAX_TITLE_CHARACTERS])) if isinstance(title, str) and title else titles_above
    for value in layout.values():
        if isinstance(value, dict | list):
            yield from _positions(value, inner_titles)


def _as_text(value: Any) -> str:
    """Return strings unchanged, other values as JSON, and an empty string for None."""
    if isinstance(value, str):
        return value
    return "" if value is None else _json(value)


def _json(tree: Any) -> str:
    """Return JSON in which equal numbers have one notation, such as ``1`` for ``1.0``."""
    return write_json(_normalized(tree)).decode()


def _normalized(node: Any) -> Any:
    """Return a tree in which equal numbers have one notation, as far as that loses no digits."""
    if isinstance(node, dict):
        return {key: _normalized(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_normalized(value) for value in node]
    if not isinstance(node, float):
        return node
    normalized = int(node) if node.is_integer() and abs(node) < _MIN_FLOAT else float(node)
    return normalized if json_equal(normalized, node) else node
