"""DuckDB's errors in the words of this language: the fault and what to write instead, without values of the data."""

import re
from typing import Final

_UNGROUPED: Final = re.compile(r'column "(?P<name>[^"]{1,80})" must appear in the GROUP BY')
_NEAR: Final = re.compile(r'syntax error at or near "(?P<word>[^"]{1,40})"')
_CALL: Final = re.compile(r"No function matches the given name and argument types '(?P<call>[^']{1,80})'")
_AMBIGUOUS: Final = re.compile(r'Ambiguous reference to column name "(?P<name>[^"]{1,80})"')

_KINDS: Final = {
    "ConversionException": "a value cannot be converted to the type that is needed there; compare values of one type, or convert by CAST",
    "OutOfRangeException": "a number is beyond the range of its type; calculate with decimals, such as 1.0 * v",
    "ParserException": "its syntax is wrong",
    "BinderException": "its names and types do not fit together",
    "InvalidInputException": "a function does not take such a value",
}
_OTHER: Final = "it cannot be run"


def explained(kind: str, text: str) -> str:
    """Return the fault, by the class of the engine's error and its text."""
    if "STRUCT(" in text:
        return "a table is used as a value; write a text in single quotes, such as host = 'a', or name a column"
    if found := _UNGROUPED.search(text):
        name = found["name"]
        return f"the column {name} is neither in GROUP BY nor in an aggregate; add it to GROUP BY, or write max({name})"
    if "WHERE clause cannot contain aggregates" in text:
        return "WHERE cannot contain aggregates such as sum; move the condition to HAVING"
    if found := _AMBIGUOUS.search(text):
        return f"more than one table has the column {found['name']}; write the table before it, such as A.{found['name']}"
    if found := _CALL.search(text):
        return f"no function takes these types: {found['call']}; convert the arguments by CAST"
    if found := _NEAR.search(text):
        return f"{_KINDS['ParserException']} near {found['word']}"
    return _KINDS.get(kind, _OTHER)
