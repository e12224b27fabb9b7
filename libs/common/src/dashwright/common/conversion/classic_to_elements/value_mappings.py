"""Value mappings of fields: texts, colours and icons for values, ranges, regular expressions and special values."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dashwright.common.conversion.classic_to_elements.members import Members, child, is_number, text, truncated

#: The index of a result is a 32-bit number in Grafana's schema.
_LARGEST_INDEX: Final = 2**31 - 1


def value_mappings(mappings: Any) -> list[dict[str, Any]]:
    """Return the mappings of known types. Empty mappings are left out."""
    converted = []
    for mapping in mappings if isinstance(mappings, list) else ():
        if isinstance(mapping, dict):
            kind = text(mapping, "type")
            convert = _CONVERTERS.get(kind)
            options = convert(child(mapping, "options")) if convert else None
            if options is not None:
                converted.append({"type": kind, "options": options})
    return converted


def _value_options(options: Members | None) -> dict[str, Any]:
    return {value: _result(result) for value, result in (options or {}).items() if isinstance(result, dict)}


def _range_options(options: Members | None) -> dict[str, Any] | None:
    if options is None or (options.get("from") is None and options.get("to") is None):
        return None
    ends = {name: end if is_number(end := options.get(name)) else None for name in ("from", "to")}
    return {**ends, "result": _result(child(options, "result"))}


def _regex_options(options: Members | None) -> dict[str, Any] | None:
    return None if options is None else {"pattern": text(options, "pattern"), "result": _result(child(options, "result"))}


def _special_options(options: Members | None) -> dict[str, Any] | None:
    return {"match": text(options, "match"), "result": _result(child(options, "result"))} if options else None


_CONVERTERS: Final[Mapping[str, Callable[[Members | None], dict[str, Any] | None]]] = {
    "value": _value_options,
    "range": _range_options,
    "regex": _regex_options,
    "special": _special_options,
}


def _result(result: Members | None) -> dict[str, Any]:
    """Return the displayed result of a mapping for a value."""
    if result is None:
        return {}
    displayed: dict[str, Any] = {name: value for name in ("text", "color", "icon") if isinstance(value := result.get(name), str)}
    index = truncated(result.get("index"))
    if index is not None and abs(index) <= _LARGEST_INDEX:
        displayed["index"] = index
    return displayed
