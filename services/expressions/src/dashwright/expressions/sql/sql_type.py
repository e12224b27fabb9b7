"""Types of the expressions of a statement. They are determined before the tables are read, so that columns have unknown types."""

from enum import Enum, auto

from sqlglot import exp

_TYPE_KEY = "kind"


class SqlType(Enum):
    """The type of an expression. TIME_OF_DAY, JSON_VALUE and ANY are types of function parameters only."""

    UNKNOWN = auto()  #: The type of a column, and of a function that returns its argument.
    NULL = auto()
    BOOLEAN = auto()
    INTEGER = auto()
    NUMBER = auto()
    STRING = auto()
    TIMESTAMP = auto()  #: MySQL's DATETIME and TIMESTAMP.
    DATE = auto()
    JSON = auto()

    TIME_OF_DAY = auto()  #: MySQL's TIME, as microseconds. In results it is a string.
    JSON_VALUE = auto()  #: A value to put into a JSON document.
    ANY = auto()  #: Any type, without conversion.


NUMERIC_TYPES = frozenset({SqlType.INTEGER, SqlType.NUMBER, SqlType.BOOLEAN})
TEMPORAL_TYPES = frozenset({SqlType.TIMESTAMP, SqlType.DATE})


def with_type(node: exp.Expr, sql_type: SqlType) -> exp.Expr:
    """Store the type in the meta of the node, and return the node."""
    node.meta[_TYPE_KEY] = sql_type
    return node


def type_of(node: exp.Expr) -> SqlType:
    """Return the type stored by ``with_type``, or the type of a literal."""
    stored_type = node.meta_get(_TYPE_KEY)
    if isinstance(stored_type, SqlType):
        return stored_type
    match node:
        case exp.Null():
            return SqlType.NULL
        case exp.Boolean():
            return SqlType.BOOLEAN
        case exp.Literal() if node.is_string:
            return SqlType.STRING
        case exp.Literal():
            return SqlType.INTEGER if node.is_int else SqlType.NUMBER
    return SqlType.UNKNOWN


def common_type(types: list[SqlType]) -> SqlType:
    """Return the type to which a choice among values, such as COALESCE, converts them: STRING if nothing else fits."""
    known_types = set(types) - {SqlType.NULL}
    if not known_types:
        return SqlType.NULL
    if len(known_types) == 1:
        return known_types.pop()
    if SqlType.STRING in known_types:
        return SqlType.STRING
    if SqlType.UNKNOWN in known_types:
        return SqlType.UNKNOWN
    if known_types <= NUMERIC_TYPES:
        return SqlType.INTEGER if SqlType.NUMBER not in known_types else SqlType.NUMBER
    return SqlType.TIMESTAMP if known_types <= TEMPORAL_TYPES else SqlType.STRING
