"""Conversion of JSON documents to trees and back without loss.

orjson reads integers beyond 64 bits as floats, ``1.10`` as ``1.1``, and silently lets the last of two equal keys win.
Here every number that is not a plain integer keeps its notation, and a document with duplicate keys is refused.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Self

import orjson

from dashwright.common.errors import Invalid

MAX_TREE_DEPTH = 128
#: An integer of this many digits is exact as a float.
_EXACT_DIGITS = 15
#: Beginning of a line in indented JSON that is one level too deep. JSON escapes line breaks within strings.
_TOO_DEEP_LINE = b"\n" + b"  " * MAX_TREE_DEPTH

_WHITE_SPACE = b" \t\n\r"
#: Translation of every digit to 0, by which a long number becomes a row of zeros.
_ANY_DIGIT = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * (_EXACT_DIGITS + 1)
#: Escapes that programs in Go write for characters with a meaning in HTML.
_GO_ESCAPES = ((b"\\u003c", b"<"), (b"\\u003e", b">"), (b"\\u0026", b"&"))
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
#: Maximum numbers of characters of an invalid string, and of an invalid number, in error messages.
_MAX_STRING_EXCERPT, _MAX_NUMBER_EXCERPT = 40, 20


class ExactNumber(float):
    """Number that is written in the notation in which it was read.

    In calculations it is the nearest float: infinity beyond the range of floats.
    """

    __slots__ = ("literal",)

    literal: str  #: The number in the notation in which it was read.

    def __new__(cls, literal: str) -> Self:
        """Create the number from its JSON literal."""
        number = float.__new__(cls, literal)
        number.literal = literal
        return number

    def __repr__(self) -> str:
        return self.literal

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self.literal,)


def read_json(source: str) -> Any:
    """Return the tree of a JSON document, with objects in the order of their keys.

    Numbers that are not plain integers are ExactNumber. Raises Invalid with the line of the fault.
    """
    return _read(source)[0]


def read_shallow_json(source: str) -> Any:
    """Return the tree of a JSON document, as ``read_json`` does.

    Raises Invalid also for objects and lists nested deeper than 128 levels.
    """
    tree, serialized = _read(source)
    # The indentation of the lines shows their depth, so most files need no further check.
    is_indented = serialized[1:2] == b"\n"
    if not is_indented or _TOO_DEEP_LINE in serialized:
        check_depth(tree)
    return tree


def _read(source: str) -> tuple[Any, bytes]:
    """Return the tree and its serialization, which is empty if the slow parser was needed."""
    try:
        tree = orjson.loads(source)
        # Usually not even white space differs: a file is indented by two, a body not at all.
        serialized = orjson.dumps(tree, option=orjson.OPT_INDENT_2 if source[1:2] == "\n" else None)
        original = source.encode().rstrip(_WHITE_SPACE)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return _read_exactly(source), b""
    # The fast parser lost nothing if its output differs from the source in white space only. A lost key, a number in other digits or
    # a string with other escapes would be a difference.
    is_lossless = serialized == original or _is_equal_without_white_space(serialized, _without_go_escapes(original))
    return (tree, serialized) if is_lossless else (_read_exactly(source), b"")


def _is_equal_without_white_space(document: bytes, other_document: bytes) -> bool:
    return document == other_document or document.translate(None, _WHITE_SPACE) == other_document.translate(None, _WHITE_SPACE)


def _without_go_escapes(document: bytes) -> bytes:
    """Return a document as orjson would write it, if it was written by a program in Go."""
    if b"\\u00" in document:
        for escape, character in _GO_ESCAPES:
            document = document.replace(escape, character)
    return document


def _read_exactly(source: str) -> Any:
    """Return the tree of a document by the slow parser, which loses nothing. Raises Invalid with the line of the fault."""
    try:
        return json.loads(
            source, object_pairs_hook=_unique_members, parse_int=_parse_integer, parse_float=ExactNumber, parse_constant=_refuse_constant
        )
    except json.JSONDecodeError as fault:
        raise Invalid(f"not valid JSON: {fault.msg} at line {fault.lineno} column {fault.colno}") from fault
    except RecursionError as fault:
        raise Invalid(f"nested too deeply: at most {MAX_TREE_DEPTH} levels") from fault


def write_json(tree: Any) -> bytes:
    """Return a tree as compact JSON. Raises Invalid for a value that JSON cannot represent."""
    try:
        return orjson.dumps(tree, default=_write_exact_number)
    except orjson.JSONEncodeError as fault:
        raise Invalid(f"cannot be kept as JSON: {fault}") from fault


def format_json(tree: Any) -> bytes:
    """Return a tree as JSON with an indent of two spaces and a final line break.

    Raises Invalid for a value that JSON cannot represent.
    """
    try:
        return orjson.dumps(tree, default=_write_exact_number, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError as fault:
        raise Invalid(f"cannot be kept as JSON: {fault}") from fault


def json_equal(tree: Any, other_tree: Any) -> bool:
    """Return whether two trees are equal. Numbers are compared by value: ``1.10`` equals ``1.1``, but true does not equal ``1``."""
    if tree is other_tree:
        return True
    if tree != other_tree:
        # To Python a long integer differs from the same number with an exponent, which is a float.
        return (_has_long_number(tree) or _has_long_number(other_tree)) and canonical_json(tree) == canonical_json(other_tree)
    # Trees with equal serializations are equal, which is quick to check. Otherwise numbers are compared by value.
    return _with_sorted_keys(tree) == _with_sorted_keys(other_tree) or canonical_json(tree) == canonical_json(other_tree)


def canonical_json(tree: Any) -> bytes:
    """Return the canonical JSON of a tree, which is the same for all equal trees: keys are sorted, and numbers are normalized.

    Raises Invalid for a number with an exponent of too many digits.
    """
    try:
        return orjson.dumps(_with_normal_numbers(tree), option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as fault:
        raise Invalid(f"cannot be kept as JSON: {fault}") from fault


def check_depth(tree: Any) -> None:
    """Raise Invalid for objects and lists nested deeper than 128 levels."""
    try:
        is_deep = _TOO_DEEP_LINE in orjson.dumps(tree, default=_write_exact_number, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:
        # The tree is nested far deeper than that, or contains something that JSON cannot represent.
        is_deep = _is_deep(tree)
    if is_deep:
        raise Invalid(f"nested too deeply: at most {MAX_TREE_DEPTH} levels")


def _is_deep(tree: Any) -> bool:
    """Return whether a tree has more than ``MAX_TREE_DEPTH`` levels, without recursion."""
    level = [tree]
    for _ in range(MAX_TREE_DEPTH):
        level = [item for node in level for item in _children(node)]
    return bool(level)


def check_strings(tree: Any) -> None:
    """Raise Invalid if a string of a tree cannot be stored, because it contains NUL or half of a surrogate pair."""
    level = [tree]
    while level:
        for node in level:
            for value in (node, *(node if isinstance(node, dict) else ())):
                if isinstance(value, str):
                    check_string(value)
        level = [item for node in level for item in _children(node)]


def check_string(value: str) -> None:
    """Raise Invalid if a string contains NUL or half of a surrogate pair."""
    if _UNSTORABLE.search(value):
        excerpt = value[:_MAX_STRING_EXCERPT]
        raise Invalid(f"the string {excerpt!r} contains a character that cannot be stored: NUL, or half of a surrogate pair")


def _has_long_number(tree: Any) -> bool:
    """Return whether the tree contains a long number, or a string with as many digits."""
    return _LONG_NUMBER in _with_sorted_keys(tree).translate(_ANY_DIGIT)


def _with_sorted_keys(tree: Any) -> bytes:
    """Return a tree as JSON with sorted keys, in which numbers keep their notation."""
    try:
        return orjson.dumps(tree, default=_write_exact_number, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as fault:
        raise Invalid(f"cannot be kept as JSON: {fault}") from fault


def _with_normal_numbers(node: Any) -> Any:
    """Return a tree in which orjson writes equal numbers alike."""
    if isinstance(node, dict):
        return {key: _with_normal_numbers(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_with_normal_numbers(value) for value in node]
    if isinstance(node, bool) or not isinstance(node, int | float):
        return node
    return orjson.Fragment(_normal_number(str(node)))


def _normal_number(literal: str) -> str:
    """Return a number as an integer without trailing zeros times a power of ten: ``1.10`` as ``11e-1``."""
    mantissa, _, exponent = literal.lower().partition("e")
    integer_part, _, fraction = mantissa.lstrip("+-").partition(".")
    digits = (integer_part + fraction).lstrip("0")
    significant_digits = digits.rstrip("0")
    if not significant_digits:
        return "0"
    try:
        power = int(exponent or 0)
    except ValueError as fault:
        raise Invalid(f"the exponent of the number {literal[:_MAX_NUMBER_EXCERPT]}… has too many digits") from fault
    sign = "-" if literal[0] == "-" else ""
    return f"{sign}{significant_digits}e{power - len(fraction) + len(digits) - len(significant_digits)}"


def _children(node: Any) -> Sequence[Any]:
    """Return the values of an object or the items of a list."""
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else ()


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object. Raises Invalid for a duplicate key."""
    tree = dict(pairs)
    if len(tree) != len(pairs):
        earlier_keys: set[str] = set()
        for key, _ in pairs:
            if key in earlier_keys:
                raise Invalid(f"duplicate key {key!r}: an object may hold each key once")
            earlier_keys.add(key)
    return tree


def _parse_integer(literal: str) -> int | ExactNumber:
    """Return an integer. A long one keeps its notation, and so does ``-0``, which int cannot represent."""
    return int(literal) if len(literal) <= _EXACT_DIGITS and literal != "-0" else ExactNumber(literal)


def _write_exact_number(value: Any) -> orjson.Fragment:
    """Return an ExactNumber for orjson. Raises TypeError for any other value that orjson cannot write."""
    if isinstance(value, ExactNumber):
        return orjson.Fragment(value.literal)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _refuse_constant(name: str) -> Any:
    raise Invalid(f"not valid JSON: {name} is not a JSON number; leave the field out or write null")
