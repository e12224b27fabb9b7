"""Members of classic objects, read with the types that they should have.

Published dashboards have nulls and values of wrong types anywhere. Such a member counts as missing, as it does in Grafana.
"""

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, TypeVar

#: Object of a classic dashboard: its members by name.
Members = Mapping[str, Any]

#: Largest magnitude up to which whole numbers are exact in JSON, and limit of positions and ids.
LARGEST_NUMBER: Final = 2**53

_Tree = TypeVar("_Tree")

#: Whole number as text. Any number of 18 digits fits into 64 bits.
_DECIMAL: Final = re.compile(r"[+-]?[0-9]{1,18}")


def text(members: Members, name: str, default: str = "") -> str:
    """Return the member if it is a string, and otherwise the default."""
    value = members.get(name)
    return value if isinstance(value, str) else default


def texts(members: Members, name: str) -> list[str]:
    """Return the strings in a member that is a list. Return an empty list if the member is not a list."""
    value = members.get(name)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def filled_texts(members: Members, *names: str) -> dict[str, str]:
    """Return those of the named members that are strings and not empty, by name."""
    return {name: value for name in names if isinstance(value := members.get(name), str) and value}


def flag(members: Members, name: str, default: bool = False) -> bool:
    """Return the member if it is a boolean, and otherwise the default."""
    value = members.get(name)
    return value if value is True or value is False else default


def is_number(value: Any) -> bool:
    """Return whether a value is a number. Booleans do not count as numbers."""
    # The exact type, because true and false are instances of int too.
    kind = type(value)
    return kind is int or kind is float


def truncated(value: Any) -> int | None:
    """Return a finite number without its fraction, limited to ``LARGEST_NUMBER``. Return None for any other value."""
    if type(value) is int and -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
        return value
    if not is_number(value) or (isinstance(value, float) and not isfinite(value)):
        return None
    return max(-LARGEST_NUMBER, min(int(value), LARGEST_NUMBER))


def parsed_number(value: Any) -> int | None:
    """Return a number or a decimal string as a number without its fraction. Return None for any other value."""
    if isinstance(value, str):
        return truncated(int(value)) if _DECIMAL.fullmatch(value) else None
    return truncated(value)


def whole_number(members: Members, name: str, default: int = 0) -> int:
    """Return a member that is a number or a decimal string, without its fraction. Return the default for any other member."""
    value = members.get(name)
    # The usual case, for speed.
    if type(value) is int and -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
        return value
    number = parsed_number(value)
    return default if number is None else number


def child(members: Members, name: str) -> dict[str, Any] | None:
    """Return the member if it is an object, and otherwise None."""
    value = members.get(name)
    return value if isinstance(value, dict) else None


def children(members: Members, name: str) -> list[dict[str, Any]]:
    """Return the objects in a member that is a list. Return an empty list if the member is not a list."""
    value = members.get(name)
    return [item for item in value if isinstance(item, dict)] if value and isinstance(value, list) else []


def shared(converted: _Tree, original: _Tree) -> _Tree:
    """Return the original of a converted part if both are equal. Sharing it saves the memory of a copy."""
    return original if converted == original else converted
