"""An object as the answer to a write, with what its writer is to be warned of."""

from collections.abc import Mapping, Sequence
from typing import Final

from dashwright.api.http.answer import Answer
from dashwright.api.resources.target import Target
from dashwright.common.stores.resources import Stored

_LONGEST: Final = 4096
"""Characters of all warnings of one answer."""


def one(target: Target, stored: Stored, *, status: int = 200, warnings: Sequence[str] = ()) -> Answer:
    return Answer(status, stored.encode(target.version), headers=warned(warnings))


def warned(warnings: Sequence[str]) -> Mapping[str, str]:
    """Warnings as Kubernetes' clients print them; those that do not fit are left out."""
    texts: list[str] = []
    for warning in warnings:
        escaped = warning.encode("ascii", "backslashreplace").decode().replace("\\", "\\\\").replace('"', '\\"')
        text = f'299 - "{"".join(character for character in escaped if character.isprintable())}"'
        if sum(map(len, texts)) + len(text) > _LONGEST:
            break
        texts.append(text)
    return {"Warning": ", ".join(texts)} if texts else {}
