"""JSON text to a tree and back, so that what was sent is what is stored.

orjson reads integers beyond 64 bits as floats, ``1.10`` as ``1.1``, lets the last of two equal keys win, and nobody notices. Here every
number that is not a plain integer stays the text it was, and what cannot be kept is refused with the reason.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Self

import orjson

from dashwright.common.errors import Invalid

DEEPEST_TREE = 128
_EXACT_DIGITS = 15
_DEEPER = b"\n" + b"  " * DEEPEST_TREE
"""How a line begins in indented JSON that is a level too deep: breaks within texts are written as escapes."""

_SPACE = b" \t\n\r"
_ANY_DIGIT = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * (_EXACT_DIGITS + 1)
_GO_ESCAPES = ((b"\\u003c", b"<"), (b"\\u003e", b">"), (b"\\u0026", b"&"))
"""What programs in Go write for characters that mean something in HTML."""
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class ExactNumber(float):
    """A number that is written as it was sent; to whoever reckons it is the nearest float, beyond the range of floats an infinity."""

    __slots__ = ("text",)

    text: str

    def __new__(cls, text: str) -> Self:
        number = float.__new__(cls, text)
        number.text = text
        return number

    def __repr__(self) -> str:
        return self.text

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self.text,)


def read_json(text: str) -> Any:
    """The tree of a JSON document, objects in the order of their keys; numbers that are no plain integers are Exact.

    Raises Invalid with the line of the fault.
    """
    return _read(text)[0]


def read_shallow(text: str) -> Any:
    """As ``read_json``, and raises Invalid also where objects and lists are nested deeper than 128 levels."""
    tree, written = _read(text)
    is_indented = written[1:2] == b"\n"
    if not is_indented or _DEEPER in written:
        check_depth(tree)
    return tree


def _read(text: str) -> tuple[Any, bytes]:
    """The tree and how it was written again, which is empty where more than that was needed to read it."""
    try:
        tree = orjson.loads(text)
        # Mostly not even space differs: a file is indented by two, a body not at all.
        written = orjson.dumps(tree, option=orjson.OPT_INDENT_2 if text[1:2] == "\n" else None)
        sent = _without_go_escapes(text.encode().rstrip(_SPACE))
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return _read_exactly(text), b""
    # What orjson makes of it in half the time is all of it where it differs by space at most: a key that is lost, a number in other digits
    # or a text with other escapes shows in what is written.
    is_all = written == sent or written.translate(None, _SPACE) == sent.translate(None, _SPACE)
    return (tree, written) if is_all else (_read_exactly(text), b"")


def _without_go_escapes(sent: bytes) -> bytes:
    if b"\\u00" in sent:
        for escape, character in _GO_ESCAPES:
            sent = sent.replace(escape, character)
    return sent


def _read_exactly(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=_integer, parse_float=ExactNumber, parse_constant=_refuse_constant)
    except json.JSONDecodeError as fault:
        raise Invalid(f"not valid JSON: {fault.msg} at line {fault.lineno} column {fault.colno}") from fault
    except RecursionError as fault:
        raise Invalid(f"nested too deeply: at most {DEEPEST_TREE} levels") from fault


def write_json(tree: Any) -> bytes:
    """Compact JSON. Raises Invalid for what JSON cannot hold."""
    try:
        return orjson.dumps(tree, default=_as_sent)
    except orjson.JSONEncodeError as fault:
        raise Invalid(f"cannot be kept as JSON: {fault}") from fault


def print_json(tree: Any) -> bytes:
    """JSON to be read by people: an indent of two spaces, a break at the end. Raises Invalid for what JSON cannot hold."""
    try:
        return orjson.dumps(tree, default=_as_sent, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError as fault:
        raise Invalid(f"cannot be kept as JSON: {fault}") from fault


def json_equal(one: Any, other: Any) -> bool:
    """Whether two trees are equal, numbers by value: ``1.10`` is ``1.1``, and true is not ``1``."""
    if one is other:
        return True
    if one != other:
        # A long integer is not equal to the same number with an exponent, which is a float to Python.
        return (_holds_long_number(one) or _holds_long_number(other)) and canonical(one) == canonical(other)
    # What is written alike is equal, and writing is quick; else numbers are reckoned with.
    return _in_order(one) == _in_order(other) or canonical(one) == canonical(other)


def canonical(tree: Any) -> bytes:
    """The same bytes for trees that are equal: keys in order, numbers by value. Raises Invalid for a number beyond all reason."""
    try:
        return orjson.dumps(_by_value(tree), option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as fault:
        raise Invalid(f"cannot be kept as JSON: {fault}") from fault


def check_depth(tree: Any) -> None:
    """Raises Invalid where objects and lists are nested deeper than 128 levels."""
    try:
        is_deep = _DEEPER in orjson.dumps(tree, default=_as_sent, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:
        # It is nested far deeper than that, or holds what JSON cannot.
        is_deep = _is_deep(tree)
    if is_deep:
        raise Invalid(f"nested too deeply: at most {DEEPEST_TREE} levels")


def _is_deep(tree: Any) -> bool:
    level = [tree]
    for _ in range(DEEPEST_TREE):
        level = [item for node in level for item in _children(node)]
    return bool(level)


def check_texts(tree: Any) -> None:
    """Raises Invalid for a text that the database cannot hold: one with a NUL character, or with half of a surrogate pair."""
    level = [tree]
    while level:
        for node in level:
            for text in (node, *(node if isinstance(node, dict) else ())):
                if isinstance(text, str):
                    check_text(text)
        level = [item for node in level for item in _children(node)]


def check_text(text: str) -> None:
    if _UNSTORABLE.search(text):
        raise Invalid(f"the text {text[:40]!r} holds a character that cannot be stored: NUL, or half of a surrogate pair")


def _holds_long_number(tree: Any) -> bool:
    """Or a text with as many digits."""
    return _LONG_NUMBER in _in_order(tree).translate(_ANY_DIGIT)


def _in_order(tree: Any) -> bytes:
    try:
        return orjson.dumps(tree, default=_as_sent, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as fault:
        raise Invalid(f"cannot be kept as JSON: {fault}") from fault


def _by_value(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _by_value(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_by_value(value) for value in node]
    if isinstance(node, bool) or not isinstance(node, int | float):
        return node
    return orjson.Fragment(_digits(str(node)))


def _digits(text: str) -> str:
    """A number as digits times a power of ten, without zeros at the end: ``1.10`` is ``11e-1``."""
    mantissa, _, power = text.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("+-").partition(".")
    digits = (whole + fraction).lstrip("0")
    kept = digits.rstrip("0")
    if not kept:
        return "0"
    try:
        shift = int(power or 0)
    except ValueError as fault:
        raise Invalid(f"the exponent of the number {text[:20]}… has too many digits") from fault
    return f"{'-' if text[0] == '-' else ''}{kept}e{shift - len(fraction) + len(digits) - len(kept)}"


def _children(node: Any) -> Sequence[Any]:
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Invalid(f"duplicate key {twice!r}: an object may hold each key once")
    return tree


def _integer(text: str) -> int | ExactNumber:
    return int(text) if len(text) <= _EXACT_DIGITS and text != "-0" else ExactNumber(text)


def _as_sent(value: Any) -> orjson.Fragment:
    if isinstance(value, ExactNumber):
        return orjson.Fragment(value.text)
    raise TypeError(f"{type(value).__name__} is no JSON")


def _refuse_constant(name: str) -> Any:
    raise Invalid(f"not valid JSON: {name} is not a JSON number; leave the field out or write null")
