"""Names, labels and annotations that clients send."""

import secrets
from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.errors import BadRequest, TooLarge

MAX_NAME_LENGTH: Final = 190
"""Limit on the characters of a name, login or e-mail address."""


def stripped_text(field: str, value: str) -> str:
    """Return ``value`` without surrounding whitespace. Raises BadRequest, naming ``field``, if the result is too long."""
    stripped = value.strip()
    if len(stripped) > MAX_NAME_LENGTH:
        raise BadRequest(f"{field} has {len(stripped)} characters; at most {MAX_NAME_LENGTH} are allowed")
    return stripped


MAX_METADATA_LENGTH: Final = 256 * 1024
"""Limit on the characters of all labels, or of all annotations; the limit of Kubernetes."""

GENERATED_LENGTH: Final = 8
"""Number of characters that are appended to a ``generateName``."""

_SUFFIX_CHARACTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"


def string_map(metadata: Mapping[str, Any], field: str) -> dict[str, str]:
    """Return labels or annotations. Raises the errors of ``check_string_map``."""
    check_string_map(metadata, field)
    return metadata.get(field) or {}


def check_string_map(metadata: Mapping[str, Any], field: str) -> None:
    """Raise BadRequest if labels or annotations do not map strings to strings, and TooLarge beyond the limit."""
    strings = metadata.get(field)
    if strings is None:
        return
    if not isinstance(strings, dict):
        raise BadRequest(f"metadata.{field} must be an object")
    if not all(isinstance(value, str) for value in strings.values()):
        raise BadRequest(f"metadata.{field} must map text to text")
    if sum(len(key) + len(value) for key, value in strings.items()) > MAX_METADATA_LENGTH:
        raise TooLarge(
            f"metadata.{field} holds more than {MAX_METADATA_LENGTH} characters; store texts of that size in the spec or outside"
        )


def requested_name(metadata: Mapping[str, Any]) -> str:
    """Return ``name``, or a name generated from ``generateName``, or an empty string if both are missing.

    Raises BadRequest for values that are not strings.
    """
    name, prefix = metadata.get("name") or "", metadata.get("generateName") or ""
    if not isinstance(name, str) or not isinstance(prefix, str):
        raise BadRequest("metadata.name and metadata.generateName must be text")
    if name or not prefix:
        return name
    return prefix + "".join(secrets.choice(_SUFFIX_CHARACTERS) for _ in range(GENERATED_LENGTH))
