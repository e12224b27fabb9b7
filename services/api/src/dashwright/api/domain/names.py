"""Names, labels and annotations that clients send."""

import secrets
from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.errors import BadRequest, TooLarge

LONGEST: Final = 190
"""Characters of a name, login or e-mail address."""


def fitting(member: str, text: str) -> str:
    """Return the text without surrounding blanks. Raises BadRequest, naming the member, if it is too long."""
    trimmed = text.strip()
    if len(trimmed) > LONGEST:
        raise BadRequest(f"{member} has {len(trimmed)} characters; at most {LONGEST} are allowed")
    return trimmed


LARGEST_METADATA: Final = 256 * 1024
"""Characters of all labels, or of all annotations; the limit of Kubernetes."""

_ADDED: Final = 8
"""Characters that are appended to a ``generateName``."""

_SUFFIX: Final = "abcdefghijklmnopqrstuvwxyz0123456789"


def texts(metadata: Mapping[str, Any], field: str) -> dict[str, str]:
    """Return labels or annotations. Raises BadRequest if they do not map text to text, TooLarge beyond the limit."""
    found = metadata.get(field)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise BadRequest(f"metadata.{field} must be an object")
    if not all(isinstance(text, str) for text in found.values()):
        raise BadRequest(f"metadata.{field} must map text to text")
    if sum(len(key) + len(text) for key, text in found.items()) > LARGEST_METADATA:
        raise TooLarge(f"metadata.{field} holds more than {LARGEST_METADATA} characters; store texts of that size in the spec or outside")
    return found


def name(metadata: Mapping[str, Any]) -> str:
    """Return the name, one made from ``generateName``, or an empty text. Raises BadRequest for values that are not text."""
    given, prefix = metadata.get("name") or "", metadata.get("generateName") or ""
    if not isinstance(given, str) or not isinstance(prefix, str):
        raise BadRequest("metadata.name and metadata.generateName must be text")
    if given or not prefix:
        return given
    return prefix + "".join(secrets.choice(_SUFFIX) for _ in range(_ADDED))
