"""Types of the members of classic dashboards, which ``v1`` and its aliases check."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from dashwright.common.kinds.draft import Draft


class _Type(NamedTuple):
    """Type of a member, with its name in messages."""

    label: str
    accepts: Callable[[Any], bool]


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()


#: Maximum number of characters of a value in an error message.
_MAX_EXCERPT_LENGTH: Final = 40

_STRING: Final = _Type("a string", lambda value: isinstance(value, str))
_BOOLEAN: Final = _Type("true or false", lambda value: isinstance(value, bool))
_INTEGER: Final = _Type("an integer", _is_integer)
_OBJECT: Final = _Type("an object", lambda value: isinstance(value, dict))
_LIST: Final = _Type("a list", lambda value: isinstance(value, list))
_STRINGS: Final = _Type("a list of strings", lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value))
_REFRESH: Final = _Type("a string or false", lambda value: value is False or isinstance(value, str))
_NUMBER_OR_STRING: Final = _Type("a number or a string", lambda value: isinstance(value, str | int | float) and not isinstance(value, bool))

_DASHBOARD: Final[Mapping[str, _Type]] = {
    "description": _STRING,
    "editable": _BOOLEAN,
    "fiscalYearStartMonth": _INTEGER,
    "gnetId": _NUMBER_OR_STRING,
    "graphTooltip": _INTEGER,
    "links": _LIST,
    "liveNow": _BOOLEAN,
    "preload": _BOOLEAN,
    "refresh": _REFRESH,
    "revision": _INTEGER,
    "schemaVersion": _INTEGER,
    "style": _STRING,
    "tags": _STRINGS,
    "timezone": _STRING,
    "weekStart": _STRING,
}
_TIME: Final[Mapping[str, _Type]] = {"from": _STRING, "to": _STRING}
_PANEL: Final[Mapping[str, _Type]] = {
    "fieldConfig": _OBJECT,
    "gridPos": _OBJECT,
    "id": _INTEGER,
    "options": _OBJECT,
    "panels": _LIST,
    "targets": _LIST,
    "title": _STRING,
    "type": _STRING,
}
_VARIABLE: Final[Mapping[str, _Type]] = {"name": _STRING, "type": _STRING}
_ANNOTATION: Final[Mapping[str, _Type]] = {"enable": _BOOLEAN, "hide": _BOOLEAN, "name": _STRING}


def check_classic(draft: Draft) -> None:
    """Add a cause for each known member of the wrong type. Null counts as missing. Unknown members may have any type."""
    spec = draft.spec
    _check_members(draft, "spec", spec, _DASHBOARD)
    # Of objects without listed members, only the type itself is checked.
    for name, members in (("time", _TIME), ("timepicker", {}), ("templating", {}), ("annotations", {})):
        _check_object(draft, f"spec.{name}", spec.get(name), members)
    _check_objects(draft, "spec.panels", spec.get("panels"), _PANEL)
    for name, members in (("templating", _VARIABLE), ("annotations", _ANNOTATION)):
        if isinstance(section := spec.get(name), dict):
            _check_objects(draft, f"spec.{name}.list", section.get("list"), members)


def _check_objects(draft: Draft, path: str, value: Any, members: Mapping[str, _Type]) -> None:
    if _check_type(draft, path, value, _LIST):
        for index, item in enumerate(value):
            _check_object(draft, f"{path}[{index}]", item, members)


def _check_object(draft: Draft, path: str, value: Any, members: Mapping[str, _Type]) -> None:
    if _check_type(draft, path, value, _OBJECT):
        _check_members(draft, path, value, members)


def _check_members(draft: Draft, path: str, value: Mapping[str, Any], members: Mapping[str, _Type]) -> None:
    for name, expected in members.items():
        _check_type(draft, f"{path}.{name}", value.get(name), expected)


def _check_type(draft: Draft, path: str, value: Any, expected: _Type) -> bool:
    """Return whether the value is present and has the expected type. Add a cause if it has another type."""
    if value is None:
        return False
    if not expected.accepts(value):
        draft.invalid(path, _excerpt(value), f"must be {expected.label}")
        return False
    return True


def _excerpt(value: Any) -> str:
    """Return an invalid value as JSON, shortened for an error message."""
    match value:
        case dict():
            return "{…}"
        case list():
            return "[…]"
        case bool():
            return "true" if value else "false"
    return str(value)[:_MAX_EXCERPT_LENGTH]
