"""Changes of the case and length of text."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dashwright.common.json_shapes import string_of
from dashwright.expressions.javascript.values import UNDEFINED, is_nan, is_number, number_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames
from dashwright.expressions.transformations.matchers.fields import MatchedColumn, named
from dashwright.expressions.transformations.names import DisplayNames


def format_string(frames: Frames, options: Mapping[str, Any], _context: Context) -> Frames:
    """Return the frames with the column ``stringField`` in the format ``outputFormat``. Other values than text are unchanged.

    As in Grafana, the cells are undefined in an unknown format.
    """
    names, matches = DisplayNames(frames), named(string_of(options.get("stringField")))
    output = string_of(options.get("outputFormat"))

    def formatted(column: Column, frame: DataFrame) -> Column:
        if not matches(MatchedColumn(column, frame, names)):
            return column
        return column.with_values([_formatted(value, output, options) for value in column.values], CellType.STRING)

    return [frame.with_columns([formatted(column, frame) for column in frame.columns]) for frame in frames]


def _formatted(value: Any, output: str, options: Mapping[str, Any]) -> Any:
    if output != _SUBSTRING and output not in _FORMATS:
        return UNDEFINED
    if not isinstance(value, str):
        return value
    if output == _SUBSTRING:
        return _substring(value, options.get("substringStart"), options.get("substringEnd"))
    return _FORMATS[output](value)


def _capital_words(text: str) -> list[str]:
    return [word[:1].upper() + word[1:].lower() for word in text.split(" ")]


def _camel_case(text: str) -> str:
    joined = "".join(_capital_words(text))
    return joined[:1].lower() + joined[1:]


def _substring(text: str, start: Any, end: Any) -> str:
    """Return the text between two positions in any order, as JavaScript's ``substring`` does."""
    first, last = (_position(position, text, default) for position, default in ((start, 0), (end, len(text))))
    return text[min(first, last) : max(first, last)]


def _position(position: Any, text: str, default: int) -> int:
    """Return a position within the text: the default for null, and 0 for NaN."""
    if position is None:
        return default
    number = position if is_number(position) else number_of(position)
    return 0 if is_nan(number) else int(min(max(number, 0), len(text)))


_SUBSTRING: Final = "Substring"
#: A function for each other format.
_FORMATS: Final[Mapping[str, Callable[[str], str]]] = {
    "Upper Case": str.upper,
    "Lower Case": str.lower,
    "Sentence Case": lambda text: text[:1].upper() + text[1:],
    "Title Case": lambda text: " ".join(_capital_words(text)),
    "Pascal Case": lambda text: "".join(_capital_words(text)),
    "Camel Case": _camel_case,
    "Snake Case": lambda text: text.lower().replace(" ", "_"),
    "Kebab Case": lambda text: text.lower().replace(" ", "-"),
    "Trim": str.strip,
}
