"""Names of things and people: how long they may be."""

from typing import Final

from dashwright.common.errors import BadRequest

LONGEST: Final = 190
"""Characters of a name, login or e-mail."""


def fitting(member: str, text: str) -> str:
    """The text of a body's member, trimmed. Raises BadRequest naming the member where it is too long."""
    trimmed = text.strip()
    if len(trimmed) > LONGEST:
        raise BadRequest(f"{member} has {len(trimmed)} characters; at most {LONGEST} are allowed")
    return trimmed
