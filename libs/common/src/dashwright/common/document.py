"""JSON text to a tree and back, without changing what was sent.

orjson reads integers beyond 64 bits as floats, ``1.10`` as ``1.1``, and silently lets the last of two equal keys win.
Here every number that is not a plain integer keeps its text, and what cannot be kept is refused with the reason.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Self

import orjson

from dashwright.common.errors import Invalid

DEEPEST_TREE = 128
_EXACT_DIGITS = 15
#: Beginning of a line in indented JSON that is one level too deep. Line breaks within texts are escaped there.
_DEEPER = b"\n" + b"  " * DEEPEST_TREE

#: White space of JSON.
_SPACE = b" \t\n\r"
_ANY_DIGIT = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * (_EXACT_DIGITS + 1)
#: Escapes that programs in Go write for characters with a meaning in HTML.
_GO_ESCAPES = ((b"\\u003c", b"<"), (b"\\u003e", b">"), (b"\\u0026", b"&"))
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class ExactNumber(float):
    """Number that is written as it was sent. In calculations it is the nearest float, infinity beyond the range of floats."""

    __slots__ = ("text",)

    text: str

    def __new__(cls, text: str) -> Self:
        """Create the number from its text."""
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
    """Return the tree of a JSON document, with objects in the order of their keys.

    Numbers that are not plain integers are ExactNumber. Raises Invalid with the line of the fault.
    """
    return _read(text)[0]


def read_shallow(text: str) -> Any:
    """Return the tree of a JSON document, as ``read_json`` does.

    Raises Invalid also for objects and lists nested deeper than 128 levels.
    """
    tree, written = _read(text)
    is_indented = written[1:2] == b"\n"
    if not is_indented or _DEEPER in written:
        check_depth(tree)
    return tree


def _read(text: str) -> tuple[Any, bytes]:
    """Return the tree and its serialization, which is empty if the slow parser was needed."""
    try:
        tree = orjson.loads(text)
        # Usually not even white space differs: a file is indented by two, a body not at all.
        written = orjson.dumps(tree, option=orjson.OPT_INDENT_2 if text[1:2] == "\n" else None)
        sent = _without_go_escapes(text.encode().rstrip(_SPACE))
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return _read_exactly(text), b""
    # The fast parser lost nothing if its output differs in white space at most: a lost key, a number in other digits or a text with
    # other escapes would show there.
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
    """Return compact JSON. Raises Invalid for what JSON cannot represent."""
    try:
        return orjson.dumps(tree, default=_as_sent)
    except orjson.JSONEncodeError as fault:
        raise Invalid(f"cannot be kept as JSON: {fault}") from fault


def print_json(tree: Any) -> bytes:
    """Return JSON for readers: an indent of two spaces, a final line break. Raises Invalid for what JSON cannot represent."""
    try:
        return orjson.dumps(tree, default=_as_sent, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError as fault:
        raise Invalid(f"cannot be kept as JSON: {fault}") from fault


def json_equal(one: Any, other: Any) -> bool:
    """Return whether two trees are equal, numbers by value: ``1.10`` is ``1.1``, and true is not ``1``."""
    if one is other:
        return True
    if one != other:
        # A long integer is not equal to the same number with an exponent, which is a float to Python.
        return (_holds_long_number(one) or _holds_long_number(other)) and canonical(one) == canonical(other)
    # Equal text means equal trees and is quick to compare; otherwise compare numbers by value.
    return _in_order(one) == _in_order(other) or canonical(one) == canonical(other)


def canonical(tree: Any) -> bytes:
    """Return equal bytes for equal trees: keys in order, numbers by value.

    Raises Invalid for a number with an exponent of too many digits.
    """
    try:
        return orjson.dumps(_by_value(tree), option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as fault:
        raise Invalid(f"cannot be kept as JSON: {fault}") from fault


def check_depth(tree: Any) -> None:
    """Raise Invalid for objects and lists nested deeper than 128 levels."""
    try:
        is_deep = _DEEPER in orjson.dumps(tree, default=_as_sent, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:
        # The tree is nested far deeper than that, or contains something that JSON cannot represent.
        is_deep = _is_deep(tree)
    if is_deep:
        raise Invalid(f"nested too deeply: at most {DEEPEST_TREE} levels")


def _is_deep(tree: Any) -> bool:
    level = [tree]
    for _ in range(DEEPEST_TREE):
        level = [item for node in level for item in _children(node)]
    return bool(level)


def check_texts(tree: Any) -> None:
    """Raise Invalid for a text that the database cannot store: one with NUL or half of a surrogate pair."""
    level = [tree]
    while level:
        for node in level:
            for text in (node, *(node if isinstance(node, dict) else ())):
                if isinstance(text, str):
                    check_text(text)
        level = [item for node in level for item in _children(node)]


def check_text(text: str) -> None:
    """Raise Invalid for a text with NUL or half of a surrogate pair."""
    if _UNSTORABLE.search(text):
        raise Invalid(f"the text {text[:40]!r} holds a character that cannot be stored: NUL, or half of a surrogate pair")


def _holds_long_number(tree: Any) -> bool:
    """Return whether the tree contains a long number, or a text with as many digits."""
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
    """Return a number as digits times a power of ten, without trailing zeros: ``1.10`` is ``11e-1``."""
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
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _refuse_constant(name: str) -> Any:
    raise Invalid(f"not valid JSON: {name} is not a JSON number; leave the field out or write null")
