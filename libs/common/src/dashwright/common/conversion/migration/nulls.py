"""Removal of members that are null."""

from typing import Any

import orjson


def may_contain_null(value: object) -> bool:
    """Return False if JSON contains no null. A null in a text or list counts too, so that True is only a suspicion."""
    try:
        # orjson writes a panel in less time than Python needs to walk through it.
        return b"null" in orjson.dumps(value)
    except orjson.JSONEncodeError:
        return True


def without_nulls(value: Any) -> Any:
    """Return JSON without the members that are null, at any depth. Items of lists that are null are kept.

    Parts without such members are shared with the value, and a value without them is returned itself.
    """
    changed: Any = None
    if isinstance(value, dict):
        for name, member in value.items():
            kind = type(member)
            if member is None:
                changed = dict(value) if changed is None else changed
                del changed[name]
            elif (kind is dict or kind is list) and (reduced := without_nulls(member)) is not member:
                changed = dict(value) if changed is None else changed
                changed[name] = reduced
    elif isinstance(value, list):
        for index, item in enumerate(value):
            kind = type(item)
            if (kind is dict or kind is list) and (reduced := without_nulls(item)) is not item:
                changed = list(value) if changed is None else changed
                changed[index] = reduced
    return value if changed is None else changed
