"""What is known of an expression's type while its statement is only read: the columns' types come with the tables, later."""

from enum import Enum, auto

from sqlglot import exp

_MARK = "kind"


class Kind(Enum):
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


NUMBERS = frozenset({Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN})
MOMENTS = frozenset({Kind.TIME, Kind.DATE})


def marked(node: exp.Expr, kind: Kind) -> exp.Expr:
    """The node, which remembers what it gives."""
    node.meta[_MARK] = kind
    return node


def kind_of(node: exp.Expr) -> Kind:
    """As marked; of a literal as it is written."""
    found = node.meta_get(_MARK)
    if isinstance(found, Kind):
        return found
    match node:
        case exp.Null():
            return Kind.NULL
        case exp.Boolean():
            return Kind.BOOLEAN
        case exp.Literal():
            return Kind.TEXT if node.is_string else Kind.INTEGER if node.is_int else Kind.NUMBER
    return Kind.UNKNOWN


def common(kinds: list[Kind]) -> Kind:
    """What a choice among values of these kinds gives: a text as soon as one is a text, or as they do not agree."""
    found = set(kinds) - {Kind.NULL}
    if not found:
        return Kind.NULL
    if len(found) == 1:
        return found.pop()
    if Kind.TEXT in found:
        return Kind.TEXT
    if Kind.UNKNOWN in found:
        return Kind.UNKNOWN
    if found <= NUMBERS:
        return Kind.INTEGER if Kind.NUMBER not in found else Kind.NUMBER
    return Kind.TIME if found <= MOMENTS else Kind.TEXT
