"""The tokens of a math expression."""

from dataclasses import dataclass
from enum import StrEnum

_SHOWN = 10


class Kind(StrEnum):
    OPERATOR = "op"
    NUMBER = "number"
    VARIABLE = "var"
    STRING = "string"
    FUNCTION = "func"
    OPEN = "("
    CLOSE = ")"
    COMMA = ","
    END = "EOF"


@dataclass(frozen=True, slots=True)
class Token:
    """``text`` is as written; ``position`` counts characters from 0."""

    kind: Kind
    text: str
    position: int

    def __str__(self) -> str:
        """As error messages show it: quoted, cut after ten characters."""
        if self.kind is Kind.END:
            return "EOF"
        return f'"{self.text[:_SHOWN]}"' + ("..." if len(self.text) > _SHOWN else "")
