"""Options of variables, and the chosen option."""

from typing import Any, Final

from dashwright.common.conversion.classic_to_elements.members import Members, child, children, flag, text

#: Member that holds a query written as a plain string, since queries of elements are objects.
LEGACY_STRING: Final = "__legacyStringValue"


def option_list(variable: Members, name: str) -> list[dict[str, Any]]:
    """Return the options in a member of a variable."""
    return [
        {"selected": flag(option, "selected"), "text": _one_or_many(option.get("text")), "value": _one_or_many(option.get("value"))}
        for option in children(variable, name)
    ]


def current_option(variable: Members) -> dict[str, Any]:
    """Return the chosen option of a variable. Text and value are empty strings if none was chosen."""
    current = child(variable, "current") or {}
    return {"text": _one_or_many(current.get("text")), "value": _one_or_many(current.get("value"))}


def _one_or_many(value: Any) -> str | list[str]:
    """Return a string, a list of strings, or the string in an object with a legacy string. Any other value becomes an empty string."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return [item for item in value if isinstance(item, str)]
    return text(value, LEGACY_STRING) if isinstance(value, dict) else ""
