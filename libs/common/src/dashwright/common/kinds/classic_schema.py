"""Schema of classic dashboards that ``v1beta1`` checks: the type of each known member."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from dashwright.common.kinds.draft import Draft


class _Type(NamedTuple):
    label: str
    holds: Callable[[Any], bool]


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()


_TEXT: Final = _Type("a text", lambda value: isinstance(value, str))
_SWITCH: Final = _Type("true or false", lambda value: isinstance(value, bool))
_INTEGER: Final = _Type("an integer", _is_integer)
_OBJECT: Final = _Type("an object", lambda value: isinstance(value, dict))
_LIST: Final = _Type("a list", lambda value: isinstance(value, list))
_TEXTS: Final = _Type("a list of texts", lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value))
_REFRESH: Final = _Type("a text or false", lambda value: value is False or isinstance(value, str))
_NUMBER_OR_TEXT: Final = _Type("a number or a text", lambda value: isinstance(value, str | int | float) and not isinstance(value, bool))

_DASHBOARD: Final[Mapping[str, _Type]] = {
    "description": _TEXT,
    "editable": _SWITCH,
    "fiscalYearStartMonth": _INTEGER,
    "gnetId": _NUMBER_OR_TEXT,
    "graphTooltip": _INTEGER,
    "links": _LIST,
    "liveNow": _SWITCH,
    "preload": _SWITCH,
    "refresh": _REFRESH,
    "revision": _INTEGER,
    "schemaVersion": _INTEGER,
    "style": _TEXT,
    "tags": _TEXTS,
    "timezone": _TEXT,
    "weekStart": _TEXT,
}
_TIME: Final[Mapping[str, _Type]] = {"from": _TEXT, "to": _TEXT}
_PANEL: Final[Mapping[str, _Type]] = {
    "fieldConfig": _OBJECT,
    "gridPos": _OBJECT,
    "id": _INTEGER,
    "options": _OBJECT,
    "panels": _LIST,
    "targets": _LIST,
    "title": _TEXT,
    "type": _TEXT,
}
_VARIABLE: Final[Mapping[str, _Type]] = {"name": _TEXT, "type": _TEXT}
_ANNOTATION: Final[Mapping[str, _Type]] = {"enable": _SWITCH, "hide": _SWITCH, "name": _TEXT}


def check_classic(draft: Draft) -> None:
    """Add a cause for each known member of the wrong type. Null counts as missing; unknown members may have any type."""
    spec = draft.spec
    _check_members(draft, "spec", spec, _DASHBOARD)
    for name, members in (("time", _TIME), ("timepicker", {}), ("templating", {}), ("annotations", {})):
        _check_object(draft, f"spec.{name}", spec.get(name), members)
    _check_objects(draft, "spec.panels", spec.get("panels"), _PANEL)
    for name, members in (("templating", _VARIABLE), ("annotations", _ANNOTATION)):
        if isinstance(listing := spec.get(name), dict):
            _check_objects(draft, f"spec.{name}.list", listing.get("list"), members)


def _check_objects(draft: Draft, path: str, value: Any, members: Mapping[str, _Type]) -> None:
    if _fits(draft, path, value, _LIST):
        for index, item in enumerate(value):
            _check_object(draft, f"{path}[{index}]", item, members)


def _check_object(draft: Draft, path: str, value: Any, members: Mapping[str, _Type]) -> None:
    if _fits(draft, path, value, _OBJECT):
        _check_members(draft, path, value, members)


def _check_members(draft: Draft, path: str, value: Mapping[str, Any], members: Mapping[str, _Type]) -> None:
    for name, wanted in members.items():
        _fits(draft, f"{path}.{name}", value.get(name), wanted)


def _fits(draft: Draft, path: str, value: Any, wanted: _Type) -> bool:
    """Return whether the value is present and of the wanted type; add a cause if it has another type."""
    if value is None:
        return False
    if not wanted.holds(value):
        draft.invalid(path, _excerpt(value), f"must be {wanted.label}")
        return False
    return True


def _excerpt(value: Any) -> str:
    if isinstance(value, dict | list):
        return "{…}" if isinstance(value, dict) else "[…]"
    return "true" if value is True else "false" if value is False else str(value)[:40]
