"""Types of expressions, as far as they are known before the tables and with them the types of columns are."""

from enum import Enum, auto

from sqlglot import exp

_MARK = "kind"


class SqlType(Enum):
    """The types of expressions, and (the last three) those that only parameters of functions ask for."""

    UNKNOWN = auto()  # a column's, and what passes one on
    NULL = auto()
    BOOLEAN = auto()
    INTEGER = auto()
    NUMBER = auto()
    TEXT = auto()
    TIME = auto()  # a moment: DATETIME, TIMESTAMP
    DATE = auto()
    JSON = auto()

    CLOCK = auto()  # microseconds of a TIME of day, which is a text wherever it is seen
    VALUE = auto()  # what becomes a part of a JSON document
    ANY = auto()


NUMBERS = frozenset({SqlType.INTEGER, SqlType.NUMBER, SqlType.BOOLEAN})
MOMENTS = frozenset({SqlType.TIME, SqlType.DATE})


def marked(node: exp.Expr, kind: SqlType) -> exp.Expr:
    """Return the node, with its type stored in its meta."""
    node.meta[_MARK] = kind
    return node


def type_of(node: exp.Expr) -> SqlType:
    """Return the type of a node as marked, or of a literal as written."""
    found = node.meta_get(_MARK)
    if isinstance(found, SqlType):
        return found
    match node:
        case exp.Null():
            return SqlType.NULL
        case exp.Boolean():
            return SqlType.BOOLEAN
        case exp.Literal():
            return SqlType.TEXT if node.is_string else SqlType.INTEGER if node.is_int else SqlType.NUMBER
    return SqlType.UNKNOWN


def common(kinds: list[SqlType]) -> SqlType:
    """Return the type of a choice among values: text if one is a text, or if they disagree."""
    found = set(kinds) - {SqlType.NULL}
    if not found:
        return SqlType.NULL
    if len(found) == 1:
        return found.pop()
    if SqlType.TEXT in found:
        return SqlType.TEXT
    if SqlType.UNKNOWN in found:
        return SqlType.UNKNOWN
    if found <= NUMBERS:
        return SqlType.INTEGER if SqlType.NUMBER not in found else SqlType.NUMBER
    return SqlType.TIME if found <= MOMENTS else SqlType.TEXT
