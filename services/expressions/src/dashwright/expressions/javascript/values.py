"""Values of JavaScript as Python values: null and undefined, conversions to text and numbers, and keys of sets and maps.

Null is ``None``, undefined is ``UNDEFINED``, numbers are ``int`` or ``float``, arrays and objects are lists and dictionaries.
"""

import json
import math
import re
from enum import Enum
from typing import Any, Final, TypeGuard

from dashwright.expressions.javascript.number_text import shortest_text

_NUMBER: Final = re.compile(r"[+-]?(?:Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_PREFIXED: Final = {"0x": 16, "0o": 8, "0b": 2}
#: Longer text is not a number, because reading it takes too long.
_MAX_NUMBER_LENGTH: Final = 400


class Undefined(Enum):
    """The type of ``UNDEFINED``."""

    UNDEFINED = "undefined"

    def __repr__(self) -> str:
        return "UNDEFINED"

    def __bool__(self) -> bool:
        return False


#: A value that does not exist, such as the cell of a row that only other frames have. It differs from a null in charts.
UNDEFINED: Final = Undefined.UNDEFINED


def is_missing(value: Any) -> bool:
    """Return whether a value is null or undefined."""
    return value is None or value is UNDEFINED


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether a value is a number, which a boolean is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_nan(value: Any) -> bool:
    """Return whether a value is the number NaN."""
    return isinstance(value, float) and value != value


def is_true(value: Any) -> bool:
    """Return whether a value counts as true: all but null, undefined, false, 0, NaN and the empty string."""
    if isinstance(value, list | dict):
        return True
    return bool(value) and not is_nan(value)


def text_of(value: Any) -> str:
    """Return a value as ``String`` converts it."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return shortest_text(float_of(value))
    if isinstance(value, list):
        return ",".join("" if is_missing(item) else text_of(item) for item in value)
    return "undefined" if value is UNDEFINED else "[object Object]"


def number_of(value: Any) -> float:
    """Return a value as ``Number`` converts it; NaN if it is not a number."""
    if isinstance(value, bool) or value is None:
        return 1 if value else 0
    if isinstance(value, int | float):
        return value
    if isinstance(value, list):
        return number_of(text_of(value))
    if not isinstance(value, str):
        return math.nan
    text = value.strip()
    if not text:
        return 0
    if len(text) > _MAX_NUMBER_LENGTH:
        return math.nan
    if base := _PREFIXED.get(text[:2].lower()):
        # Python, but not JavaScript, accepts a sign after the prefix, and underscores.
        try:
            return int(text[2:], base) if text[2:3].isalnum() and "_" not in text else math.nan
        except ValueError:
            return math.nan
    return _read_number(text) if _NUMBER.fullmatch(text) else math.nan


def float_of(value: Any) -> float:
    """Return a value as ``number_of`` converts it; NaN for null and undefined, and infinity for an integer that is too large."""
    if is_missing(value):
        return math.nan
    try:
        return float(number_of(value))
    except OverflowError:
        return math.inf


def leading_number(value: Any) -> float:
    """Return the number with which a text begins, as ``parseFloat`` does; NaN without one."""
    match = _NUMBER.match(text_of(value)[:_MAX_NUMBER_LENGTH].strip())
    return _read_number(match[0]) if match else math.nan


def leading_integer(value: Any) -> float:
    """Return the decimal integer with which a text begins, as ``parseInt`` does; NaN without one."""
    match = _INTEGER.match(text_of(value)[:_MAX_NUMBER_LENGTH].strip())
    return int(match[0]) if match else math.nan


def _read_number(text: str) -> float:
    return float(text.replace("Infinity", "inf"))


def json_text(value: Any) -> str | Undefined:
    """Return a value as ``JSON.stringify`` writes it, which is undefined for undefined."""
    return UNDEFINED if value is UNDEFINED else _json_text(value)


def _json_text(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{_json_text(text_of(key))}:{_json_text(item)}" for key, item in value.items() if item is not UNDEFINED)
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_json_text, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    is_null = value is None or value is UNDEFINED or (isinstance(value, float) and not math.isfinite(value))
    return "null" if is_null else text_of(value)


def key_of(value: Any) -> tuple[str, Any]:
    """Return a key that is equal for the values that a ``Set`` or ``Map`` treats as the same: 1 and true are different."""
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, int | float):
        return ("nan", None) if is_nan(value) else ("number", value)
    if isinstance(value, str):
        return "string", value
    return ("object", id(value)) if isinstance(value, list | dict) else ("missing", value)
