"""Causes of an error: from faults that pydantic found, and as text in a response."""

from collections.abc import Iterable, Sequence
from typing import Final

from pydantic import ValidationError

from dashwright.common.errors import Cause

#: Causes that one response lists; the others are counted.
MOST_CAUSES: Final = 20

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
    """Return one cause for each fault, with the reasons of Kubernetes field errors; None if the text was not JSON at all."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    if faults and faults[0]["type"] == "json_invalid":
        return None
    return tuple(Cause(_path(fault["loc"]), _reason(fault["type"]), fault["msg"]) for fault in faults)


def format_causes(causes: Sequence[Cause]) -> Sequence[Cause]:
    """Return the first causes, followed by one that counts the others where there are more."""
    more = len(causes) - MOST_CAUSES
    if more <= 0:
        return causes
    return [*causes[:MOST_CAUSES], Cause("", "FieldValueTooMany", f"and {more} more, {len(causes)} in all")]


def sentence(causes: Sequence[Cause]) -> str:
    """Return the causes that are shown as one text: a single one alone, several in brackets."""
    texts = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in format_causes(causes)]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _reason(kind: str) -> str:
    return _REASONS.get(kind) or ("FieldValueTypeInvalid" if kind.endswith("_type") else "FieldValueInvalid")


def _path(location: Iterable[int | str]) -> str:
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path
