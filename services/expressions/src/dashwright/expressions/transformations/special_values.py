"""The values that transformations put into empty cells."""

from collections.abc import Mapping
from typing import Any, Final

_VALUES: Final[Mapping[str, Any]] = {"true": True, "false": False, "null": None, "zero": 0, "empty": ""}


def special_value(name: Any) -> Any:
    """Return the value that an option names, such as ``zero``; by default the empty string."""
    return _VALUES.get(name, "") if isinstance(name, str) else ""
