"""What becomes of fields that no object of a kind has, and what a client is told of them."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final

from dashwright.api.domain.unknown_fields import UnknownField
from dashwright.common.errors import BadRequest

_MOST: Final = 20
"""Fields named in one answer."""

_LONGEST: Final = 4096
"""Characters of all warnings of one answer."""


class FieldValidation(Enum):
    """What becomes of unknown fields: they are dropped, told, or refused."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"

    def warnings_for(self, fields: Iterable[UnknownField]) -> tuple[str, ...]:
        """The warnings for unknown fields. Raises BadRequest where they are refused."""
        if self is FieldValidation.IGNORE:
            return ()
        found = tuple(f'unknown field "{field.path}"' for field, _ in zip(fields, range(_MOST), strict=False))
        if found and self is FieldValidation.STRICT:
            raise BadRequest(f"strict decoding error: {', '.join(found)}")
        return found


def warning_headers(warnings: Sequence[str]) -> Mapping[str, str]:
    """Warnings as Kubernetes' clients print them; those that do not fit are left out."""
    texts: list[str] = []
    for warning in warnings:
        escaped = warning.encode("ascii", "backslashreplace").decode().replace("\\", "\\\\").replace('"', '\\"')
        texts.append(f'299 - "{"".join(character for character in escaped if character.isprintable())}"')
    while sum(map(len, texts)) > _LONGEST:
        texts.pop()
    return {"Warning": ", ".join(texts)} if texts else {}
