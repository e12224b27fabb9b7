"""The forms in which files hold dashboards, recognized from the text and the tree alone.

This module imports no kind. The kinds import pydantic and every model of the interface, and ``dashwright lint`` starts faster without.
"""

from codecs import BOM_UTF8
from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.errors import Invalid, TooLarge

LARGEST_FILE: Final = 5 * 1024 * 1024
"""The size of the largest file that is read, in bytes."""

_MARKS: Final = frozenset({"title", "uid", "schemaVersion", "tags", "rows", "templating", "timepicker"})
"""Members of a dashboard that other files have, too: two of them together make a dashboard."""


def check_size(size: int, largest: int) -> None:
    """Raise TooLarge for a file of more than ``largest`` bytes."""
    if size > largest:
        raise TooLarge(f"file has {size} bytes, at most {largest} are read: make it smaller or raise the limit")


def decode_text(body: bytes) -> str:
    """Return the text of a file, without a byte order mark. Raises Invalid with the place that is not UTF-8."""
    try:
        return body.removeprefix(BOM_UTF8).decode()
    except UnicodeDecodeError as fault:
        raise Invalid(f"not UTF-8 at byte {fault.start}: save the file as UTF-8") from fault


def is_resource(tree: Any) -> bool:
    """Return whether a file says itself which kind of resource it holds."""
    return isinstance(tree, dict) and ("apiVersion" in tree or "kind" in tree)


def is_classic(tree: Any) -> bool:
    """Return whether a file is a dashboard's own JSON."""
    return isinstance(tree, dict) and not is_resource(tree) and has_marks(tree)


def unwrap_dashboard(tree: Any) -> dict[str, Any] | None:
    """Return the dashboard in the body of a classic request (``{"dashboard": …, "overwrite": …}``); None for any other tree."""
    inner = tree.get("dashboard") if isinstance(tree, dict) and not is_resource(tree) and not has_marks(tree) else None
    return inner if isinstance(inner, dict) and is_classic(inner) else None


def has_marks(tree: Mapping[str, Any]) -> bool:
    """Return whether an object has members that only a dashboard has, or two of those that other files have, too."""
    return "panels" in tree or len(_MARKS & tree.keys()) > 1
