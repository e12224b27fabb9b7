"""The visible parts of a dashboard and how they change, alike for the classic spec and the one with elements.

Parts of an unexpected shape are ignored: validating the dashboard is not done here.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

from dashwright.common.document import json_equal, write_json
from dashwright.common.json_shapes import list_of, object_at, objects_of

POSITION: Final = "position"

_QUERIES: Final = ("expr", "rawSql", "query", "target", "expression")
"""Members where data sources keep the query text; the first that is a string is used."""

_LARGE: Final = 1e15
"""Whole numbers from here on are written as floats."""

_KEPT_ELSEWHERE: Final = ("id", "uid", "version", "iteration")
_OF_PANELS: Final = ("id", "title", "description", "type", "gridPos", "datasource", "targets", "fieldConfig", "panels", "pluginVersion")
_OF_QUERIES: Final = ("refId", "datasource", "key")
_OF_FIELDS: Final = ("unit", "thresholds", "min", "max", "decimals")
_OF_DASHBOARDS: Final = ("title", "description", "tags", "refresh", "time", "timezone", "timeSettings")
_LONGEST_TITLE: Final = 80
"""Characters of the title of a row or tab, which is repeated for each panel in it."""

_HELD: Final = ("panels", "rows", "elements", "layout", "templating", "variables", "annotations")


class PanelAction(StrEnum):
    """The kind of change to a panel."""

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

    id: str
    title: str
    #: A MOVED panel changes nothing but its place.
    action: PanelAction
    details: Sequence[Detail] = ()
    #: Names of changed settings without details.
    others: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """The changes of a dashboard: its own settings, then its panels in order."""

    details: Sequence[Detail] = ()
    others: Sequence[str] = ()
    panels: Sequence[PanelChange] = ()

    def count(self, action: PanelAction) -> int:
        """Return the number of panels with an action."""
        return sum(panel.action is action for panel in self.panels)


@dataclass(slots=True)
class _Summary:
    """The settings of a dashboard or panel."""

    title: str = ""
    #: Settings that are described as text, by name.
    texts: dict[str, str] = field(default_factory=dict)
    #: Other settings, by name.
    rest: dict[str, Any] = field(default_factory=dict)


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> Comparison:
    """Return the changes between two dashboard specs; ``before`` is empty for a new dashboard."""
    details, others = _differences(_dashboard(before), _dashboard(after))
    old, new = _panels(before), _panels(after)
    changes = [_changed(name, old.get(name), summary) for name, summary in new.items()]
    gone = [PanelChange(name, summary.title, PanelAction.REMOVED) for name, summary in old.items() if name not in new]
    return Comparison(details, others, [*(change for change in changes if change), *gone])


def _changed(name: str, old: _Summary | None, new: _Summary) -> PanelChange | None:
    if old is None:
        news = [Detail(what, "", text) for what, text in new.texts.items() if text and _is_news(what)]
        return PanelChange(name, new.title, PanelAction.ADDED, news)
    details, others = _differences(old, new)
    if not details and not others:
        return None
    is_moved = not others and all(detail.name == POSITION for detail in details)
    return PanelChange(name, new.title, PanelAction.MOVED if is_moved else PanelAction.CHANGED, details, others)


def _is_news(name: str) -> bool:
    """Return whether a setting describes a new panel."""
    return name in ("type", "data source") or (name.startswith("query ") and name.count(" ") == 1)


def _differences(old: _Summary, new: _Summary) -> tuple[list[Detail], list[str]]:
    names = [*new.texts, *(name for name in old.texts if name not in new.texts)]
    pairs = [Detail(name, old.texts.get(name, ""), new.texts.get(name, "")) for name in names]
    others = [name for name in sorted(old.rest.keys() | new.rest.keys()) if not json_equal(old.rest.get(name), new.rest.get(name))]
    return [detail for detail in pairs if detail.before != detail.after], others


def _dashboard(spec: Mapping[str, Any]) -> _Summary:
    times = object_at(spec, "timeSettings")
    span = object_at(spec, "time") or times
    texts = {
        "title": _text(spec.get("title")),
        "description": _text(spec.get("description")),
        "tags": ", ".join(_text(tag) for tag in list_of(spec.get("tags"))),
        "time range": f"{_text(span.get('from'))} to {_text(span.get('to'))}" if span.get("from") or span.get("to") else "",
        "refresh": _text(spec.get("refresh")) or _text(times.get("autoRefresh")),
        "time zone": _text(spec.get("timezone")) or _text(times.get("timezone")),
        **dict(_named("variable", object_at(spec, "templating").get("list") or spec.get("variables"))),
        **dict(_named("annotation", object_at(spec, "annotations").get("list") or spec.get("annotations"))),
    }
    rest = {key: value for key, value in spec.items() if key not in (*_KEPT_ELSEWHERE, *_OF_DASHBOARDS, *_HELD)}
    return _Summary(texts["title"], texts, rest)


def _named(word: str, items: Any) -> Iterator[tuple[str, str]]:
    """Yield variables or annotations by name, as JSON without the value that was chosen last."""
    for item in objects_of(items):
        body = object_at(item, "spec") or item
        kept = {key: value for key, value in body.items() if key not in ("name", "current", "options")}
        yield f"{word} {_text(body.get('name'))}", _json(kept)


def _panels(spec: Mapping[str, Any]) -> dict[str, _Summary]:
    """Return panels by id; without a unique id the key is numbered."""
    found: dict[str, _Summary] = {}
    numbers: Counter[str] = Counter()
    for name, summary in _elements(spec) if isinstance(spec.get("elements"), dict) else _classic_panels(spec):
        key = name
        while key in found:
            numbers[name] += 1
            key = f"{name} ({numbers[name] + 1})"
        found[key] = summary
    return found


def _classic_panels(spec: Mapping[str, Any]) -> Iterator[tuple[str, _Summary]]:
    """Yield panels with their keys, also those in collapsed rows and in the rows of old dashboards."""
    rows = [panel for row in objects_of(spec.get("rows")) for panel in objects_of(row.get("panels"))]
    for panel in [*objects_of(spec.get("panels")), *rows]:
        for item in (panel, *objects_of(panel.get("panels"))):
            yield _text(item.get("id")) or _text(item.get("title")), _classic_panel(item)


def _classic_panel(item: Mapping[str, Any]) -> _Summary:
    source = item.get("datasource")
    queries = [(_text(query.get("refId")), query, query.get("datasource")) for query in objects_of(item.get("targets"))]
    rest = {key: value for key, value in item.items() if key not in _OF_PANELS}
    return _panel(item, _text(item.get("type")), _place(object_at(item, "gridPos"), "w", "h"), source, queries, item, rest)


def _elements(spec: Mapping[str, Any]) -> Iterator[tuple[str, _Summary]]:
    places = dict(_places(spec.get("layout")))
    for name, element in spec["elements"].items():
        item = object_at(element, "spec") if isinstance(element, dict) else {}
        shown = object_at(item, "vizConfig")
        queries = [_v2_query(object_at(query, "spec")) for query in objects_of(object_at(object_at(item, "data"), "spec").get("queries"))]
        config = object_at(shown, "spec")
        data = object_at(object_at(item, "data"), "spec")
        rest = {key: value for key, value in item.items() if key not in (*_OF_PANELS, "data", "vizConfig")}
        rest |= {key: value for key, value in data.items() if key != "queries"}
        rest |= {key: value for key, value in config.items() if key not in _OF_PANELS}
        kind = _text(shown.get("group")) or _text(shown.get("kind"))
        yield _text(item.get("id")) or name, _panel(item, kind, places.get(name, ""), None, queries, config, rest)


def _v2_query(query: Mapping[str, Any]) -> tuple[str, Mapping[str, Any], Any]:
    asked = object_at(query, "query")
    source = query.get("datasource") or asked.get("datasource") or asked.get("group") or asked.get("kind")
    hidden = {"hide": True} if query.get("hidden") is True else {}
    return _text(query.get("refId")), {**object_at(asked, "spec"), **hidden}, source


def _panel(
    item: Mapping[str, Any],
    kind: str,
    place: str,
    source: Any,
    queries: Sequence[tuple[str, Mapping[str, Any], Any]],
    config: Mapping[str, Any],
    rest: dict[str, Any],
) -> _Summary:
    """Return the summary of a panel.

    ``config`` has ``fieldConfig``; each of ``queries`` is a refId, the query and its data source.
    """
    fields = object_at(config, "fieldConfig")
    defaults = object_at(fields, "defaults")
    shown = _source(source)
    options = object_at(rest, "options")
    texts = {
        "title": _text(item.get("title")),
        "description": _text(item.get("description")),
        "type": kind,
        POSITION: place,
        "data source": shown,
        **{name: text for ref_id, query, own in queries for name, text in _query(ref_id, query, own, shown)},
        "unit": _text(defaults.get("unit")),
        "thresholds": _thresholds(object_at(defaults, "thresholds")),
        **{name: _text(defaults.get(name)) for name in ("min", "max", "decimals")},
        "content": _text(options.get("content")),
    }
    more = {f"options.{key}": value for key, value in options.items() if key != "content"}
    more |= {f"fieldConfig.{key}": value for key, value in fields.items() if key != "defaults"}
    more |= {f"fieldConfig.defaults.{key}": value for key, value in defaults.items() if key not in _OF_FIELDS}
    return _Summary(texts["title"], texts, {key: value for key, value in rest.items() if key != "options"} | more)


def _query(ref_id: str, query: Mapping[str, Any], own: Any, source: str) -> Iterator[tuple[str, str]]:
    name = f"query {ref_id or '?'}"
    main = next((key for key in _QUERIES if isinstance(query.get(key), str)), "")
    others = {key: value for key, value in query.items() if key not in (*_OF_QUERIES, main)}
    yield name, _text(query.get(main)) if main else _json(others)
    if own is not None and _source(own) != source:
        yield f"{name} data source", _source(own)
    for key, value in others.items() if main else ():
        yield f"{name} {key}", _text(value)


def _thresholds(thresholds: Mapping[str, Any]) -> str:
    steps = [f"{_text(step.get('color'))} from {_text(step.get('value')) or 'the start'}" for step in objects_of(thresholds.get("steps"))]
    return ", ".join(steps) + (" (percent)" if thresholds.get("mode") == "percentage" else "")


def _source(source: Any) -> str:
    if not isinstance(source, Mapping):
        return _text(source)
    name, kind = _text(source.get("uid")) or _text(source.get("name")), _text(source.get("type"))
    return f"{name} ({kind})" if name and kind else name or kind


def _place(place: Mapping[str, Any], width: str, height: str) -> str:
    """Return size and position in grid units, 24 to a row."""
    if not place:
        return ""
    size = f"{_text(place.get(width))} × {_text(place.get(height))}"  # noqa: RUF001 - typography of a comment
    return f"{size} at {_text(place.get('x'))}, {_text(place.get('y'))}"


def _places(layout: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the place of each element, in layouts of every kind: rows and tabs above it, and its place in their grid."""
    if isinstance(layout, list):
        for item in layout:
            yield from _places(item, above)
    if not isinstance(layout, dict):
        return
    name = object_at(layout, "element").get("name")
    if isinstance(name, str):
        place = _place(layout, "width", "height") if "x" in layout else ""
        yield name, " in ".join(part for part in (place, *reversed(above)) if part)
        return
    title = layout.get("title")
    inner = (*above, repr(title[:_LONGEST_TITLE])) if isinstance(title, str) and title else above
    for value in layout.values():
        if isinstance(value, dict | list):
            yield from _places(value, inner)


def _text(value: Any) -> str:
    """Return strings as they are and other values as JSON; an empty string for None."""
    if isinstance(value, str):
        return value
    return "" if value is None else _json(value)


def _json(tree: Any) -> str:
    """Return JSON in which equal numbers have the same text, however they were written."""
    return write_json(_normalized(tree)).decode()


def _normalized(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _normalized(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_normalized(value) for value in node]
    if not isinstance(node, float):
        return node
    number = int(node) if node.is_integer() and abs(node) < _LARGE else float(node)
    return number if json_equal(number, node) else node
