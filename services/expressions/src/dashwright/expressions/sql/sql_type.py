"""What is known of an expression's type while its statement is only read: the columns' types come with the tables, later."""

from enum import Enum, auto

from sqlglot import exp

_MARK = "kind"


class SqlType(Enum):
    """The kinds an expression has, and those (the last three) that only a function's parameter asks for."""

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
    """The node, which remembers what it gives."""
    node.meta[_MARK] = kind
    return node


def type_of(node: exp.Expr) -> SqlType:
    """As marked; of a literal as it is written."""
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
    """What a choice among values of these kinds gives: a text as soon as one is a text, or as they do not agree."""
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
