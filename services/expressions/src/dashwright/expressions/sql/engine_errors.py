"""Translation of DuckDB's errors: what is wrong in the statement and how to correct it, without values of the data."""

import re
from typing import Final

_UNGROUPED: Final = re.compile(r'column "(?P<name>[^"]{1,80})" must appear in the GROUP BY')
_SYNTAX_ERROR: Final = re.compile(r'syntax error at or near "(?P<word>[^"]{1,40})"')
_CALL: Final = re.compile(r"No function matches the given name and argument types '(?P<call>[^']{1,80})'")
_AMBIGUOUS: Final = re.compile(r'Ambiguous reference to column name "(?P<name>[^"]{1,80})"')

_EXPLANATIONS: Final = {
    "ConversionException": "a value cannot be converted to the type that is needed there; compare values of one type, or convert by CAST",
    "OutOfRangeException": "a number is beyond the range of its type; calculate with decimals, such as 1.0 * v",
    "ParserException": "its syntax is wrong",
    "BinderException": "its names and types do not fit together",
    "InvalidInputException": "a function does not take such a value",
    # The child's own class. Its message is not shown, because the child is not trusted.
    "_StatementError": (
        "its result has a time outside the years 1678 to 2262, or more bytes than allowed (setting DASHWRIGHT_SQL_BYTES); "
        "leave such times out, or select less"
    ),
}
_DEFAULT_EXPLANATION: Final = "it cannot be run"


def explain(error_class: str, message: str) -> str:
    """Return an explanation of DuckDB's error, from its class name and message."""
    if "STRUCT(" in message:
        return "a table is used as a value; write a string in single quotes, such as host = 'a', or name a column"
    if match := _UNGROUPED.search(message):
        name = match["name"]
        return f"the column {name} is neither in GROUP BY nor in an aggregate; add it to GROUP BY, or write max({name})"
    if "WHERE clause cannot contain aggregates" in message:
        return "WHERE cannot contain aggregates such as sum; move the condition to HAVING"
    if match := _AMBIGUOUS.search(message):
        return f"more than one table has the column {match['name']}; write the table before it, such as A.{match['name']}"
    if match := _CALL.search(message):
        return f"no function takes these types: {match['call']}; convert the arguments by CAST"
    if match := _SYNTAX_ERROR.search(message):
        return f"{_EXPLANATIONS['ParserException']} near {match['word']}"
    return _EXPLANATIONS.get(error_class, _DEFAULT_EXPLANATION)
