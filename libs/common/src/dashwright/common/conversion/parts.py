"""Reading of parts of a dashboard that a conversion needs. Null counts as missing."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashwright.common.conversion.failures import ConversionFailed

#: Limit on layouts inside each other. A stored document has at most 128 levels of JSON, and each layout takes five of them.
MAX_LAYOUT_DEPTH: Final = 24

#: Limit on numbers. It is low enough that sums of heights fit into 64 bits, and high enough for ids that are times in milliseconds.
MAX_NUMBER: Final = 2**44

_NOTHING: Final[Mapping[str, Any]] = {}
_NO_ITEMS: Final[Sequence[Any]] = ()


def object_in(tree: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the object in member ``name``, or an empty one if it is missing. Raises ConversionFailed for another type."""
    value = tree.get(name)
    if isinstance(value, dict):
        return value
    if value is None:
        return _NOTHING
    raise unexpected(f"'{name}'", value, "an object")


def list_in(tree: Mapping[str, Any], name: str) -> Sequence[Any]:
    """Return the list in member ``name``, or an empty one if it is missing. Raises ConversionFailed for another type."""
    value = tree.get(name)
    if isinstance(value, list):
        return value
    if value is None:
        return _NO_ITEMS
    raise unexpected(f"'{name}'", value, "a list")


def objects_in(tree: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    """Return the objects of the list in member ``name``. Raises ConversionFailed for another type of the list or of an item."""
    items = list_in(tree, name)
    for item in items:
        if not isinstance(item, dict):
            raise unexpected(f"an item of '{name}'", item, "an object")
    return items


def specs_in(tree: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    """Return the ``spec`` of each object of the list in member ``name``. Raises ConversionFailed for another type of a part."""
    items = objects_in(tree, name)
    return [object_in(item, "spec") for item in items] if items else _NO_ITEMS


def text_in(tree: Mapping[str, Any], name: str) -> str:
    """Return the string in member ``name``, or an empty one if it is missing. Raises ConversionFailed for another type."""
    value = tree.get(name)
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    raise unexpected(f"'{name}'", value, "a string")


def number_in(tree: Mapping[str, Any], name: str) -> float:
    """Return the number in member ``name``, or 0 if it is missing. Raises ConversionFailed for another type or a huge number."""
    value = tree.get(name)
    if value is None:
        return 0
    # The exact type, because true and false are instances of int too.
    if (type(value) is int or isinstance(value, float)) and -MAX_NUMBER <= value <= MAX_NUMBER:
        return value
    raise unexpected(f"'{name}'", value, f"a number between -{MAX_NUMBER} and {MAX_NUMBER}")


def unexpected(name: str, value: Any, expected: str) -> ConversionFailed:
    """Return the error for a part that has another type than ``expected``."""
    return ConversionFailed(f"{name} is {_type_name(value)}; it must be {expected}")


def located(location: str, failure: ConversionFailed) -> ConversionFailed:
    """Return the error with the location of the invalid part before its message."""
    return ConversionFailed(f"{location}: {failure.message}")


def too_deep() -> ConversionFailed:
    """Return the error for layouts that are nested too deeply."""
    return ConversionFailed(
        f"'layout' has more than {MAX_LAYOUT_DEPTH} layouts inside each other; use fewer rows and tabs inside rows and tabs"
    )


def _type_name(value: Any) -> str:
    """Return what a value is, as a part of an error message."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return "a string"
        case list():
            return "a list"
        case dict():
            return "an object"
    return "a number"
