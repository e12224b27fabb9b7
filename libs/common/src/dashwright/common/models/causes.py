"""Causes of an error, made from validation errors of pydantic, and their form in a response."""

from collections.abc import Iterable, Sequence
from typing import Final

from pydantic import ValidationError

from dashwright.common.errors import Cause

#: Maximum number of causes that a response lists. The others are only counted.
MAX_CAUSES: Final = 20

_REASONS = {
    "missing": "FieldValueRequired",
    "extra_forbidden": "FieldValueForbidden",
    "enum": "FieldValueNotSupported",
    "literal_error": "FieldValueNotSupported",
    "union_tag_invalid": "FieldValueNotSupported",
    "too_long": "FieldValueTooMany",
    "string_too_long": "FieldValueTooLong",
}


def causes_of(error: ValidationError) -> tuple[Cause, ...] | None:
    """Return a cause for each validation error, with a reason of Kubernetes. Returns None if the document was not JSON."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    if faults and faults[0]["type"] == "json_invalid":
        return None
    return tuple(Cause(_path(fault["loc"]), _reason(fault["type"]), fault["msg"]) for fault in faults)


def format_causes(causes: Sequence[Cause]) -> Sequence[Cause]:
    """Return the first causes, and if there are more, one that counts the others."""
    omitted_count = len(causes) - MAX_CAUSES
    if omitted_count <= 0:
        return causes
    return [*causes[:MAX_CAUSES], Cause("", "FieldValueTooMany", f"and {omitted_count} more, {len(causes)} in all")]


def sentence(causes: Sequence[Cause]) -> str:
    """Return the first causes as one string, in brackets if there are several."""
    messages = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in format_causes(causes)]
    return messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"


def _reason(error_type: str) -> str:
    return _REASONS.get(error_type) or ("FieldValueTypeInvalid" if error_type.endswith("_type") else "FieldValueInvalid")


def _path(location: Iterable[int | str]) -> str:
    """Return the path of a validation error, such as ``items[0].refId``."""
    path = ""
    for step in location:
        # The alternative of a union, such as ``list[str]``. It is not a member of the document.
        if isinstance(step, str) and step.endswith("]"):
            continue
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else step
    return path
