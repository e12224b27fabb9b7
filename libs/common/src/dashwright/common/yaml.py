"""YAML from strangers and for them. Read over ryaml: YAML 1.2 types, no aliases that explode, no key twice, one document.

The binding is behind this door so that it can be exchanged; the tests hold one case for each hazard it is chosen for. What is written
means the same to readers of YAML 1.1, to whom ``no`` is false and ``12:30`` a number.
"""

import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import orjson
import ryaml

from dashwright.common.errors import Invalid

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Breaks of lines, and what readers take for no text."""

_ITEM: Final = r"""(?:"[^"\\\[\]{}\n]*+"[ ]*+|'[^'\[\]{}\n]*+'[ ]*+|[\w.:/$+-][\w.:/$+ -]*+)?+"""
_OPENING: Final = re.compile(
    r"""(?:^|(?<=[\s\x85\ufeff\[{,:?-]))[\[{]
    (?![ ]*+ITEM(?:,[ ]*+ITEM)*+[\]}])""".replace("ITEM", _ITEM),
    re.VERBOSE,
)
"""All that may open a list or map in brackets and is not closed at once, and some that stand in texts."""

_OPENED: Final = 250
"""How many of them are read at once: each token takes as long as brackets around it are open."""

_CUT_OFF: Final = ("did not find", "could not find", "found ", "mapping ", "block ", "while ")
"""How the faults begin that a text may have where it is cut off. Behind them nothing more is read."""

_LONGEST_KEY: Final = 1000
"""Characters of a key before the mark that says so: readers look no further than 1024 for its colon."""


def read_yaml(text: str) -> Any:
    """Plain JSON data: texts as keys, finite numbers, integers of 64 bits. Raises Invalid with the line of the fault."""
    _check_depth(text)
    try:
        tree = _parsed(text)
    except ValueError as fault:
        raise Invalid(f"not valid YAML: {fault}") from fault
    for reason in _faults(tree):
        raise Invalid(f"not usable as JSON: {reason}")
    return tree


def _check_depth(text: str) -> None:
    """Raises Invalid for what is nested too deeply, and for other faults that are found on the way.

    ryaml looks at the depth only once it has read everything, and reading what is deep takes hours, in which nothing else of this program
    runs. So it reads a beginning of the text, and a longer one, in which little more may be open than in the one before.
    """
    before = ""
    for opened in islice(_OPENING.finditer(text), _OPENED, None, _OPENED):
        try:
            _parsed(text[: opened.start()])
        except ValueError as fault:
            if not str(fault).startswith(_CUT_OFF):
                raise Invalid(f"not valid YAML: {fault}") from fault
            if str(fault) == before:
                return  # It does not lie where the text was cut off.
            before = str(fault)


def _parsed(text: str) -> Any:
    return ryaml.loads(text)  # type: ignore[attr-defined]  # its stub re-exports nothing


def _faults(tree: Any) -> Iterator[str]:
    """ryaml bounds the depth (128), so this recursion is bounded, too."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if not isinstance(key, str):
                yield f"the key {key!r} is not a text: put it in quotes"
            elif key == "<<":
                yield "merge keys (<<) are not supported: write the fields out"
            yield from _faults(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _faults(value)
    elif isinstance(tree, float) and not math.isfinite(tree):
        yield f"{tree} is not a JSON number: leave the field out or write null"


def write_yaml(tree: Any) -> str:
    """Plain JSON data in block style, each text on one line, numbers as they print. Raises Invalid for a text that is none."""
    return "\n".join(_lines(tree)) + "\n"


def _lines(node: Any) -> Iterator[str]:
    if isinstance(node, dict) and node:
        for key, value in node.items():
            yield from _member(_text(key), value)
    elif isinstance(node, list) and node:
        for item in node:
            yield from _after("- ", _lines(item))
    else:
        yield _scalar(node)


def _member(key: str, value: Any) -> Iterator[str]:
    if len(key) > _LONGEST_KEY:
        yield f"? {key}"
        yield from _after(": ", _lines(value))
    elif value and isinstance(value, dict | list):
        yield f"{key}:"
        indent = "  " if isinstance(value, dict) else ""
        for line in _lines(value):
            yield indent + line
    else:
        yield f"{key}: {_scalar(value)}"


def _after(mark: str, lines: Iterator[str]) -> Iterator[str]:
    """A block that begins on the line of a mark of two characters."""
    yield mark + next(lines)
    for line in lines:
        yield "  " + line


def _scalar(node: Any) -> str:
    if isinstance(node, str):
        return _text(node)
    if isinstance(node, float):
        return _number(repr(node))
    try:
        return orjson.dumps(node).decode()
    except orjson.JSONEncodeError as fault:
        raise Invalid(f"cannot be written as YAML: {fault}") from fault


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    try:
        quoted = orjson.dumps(text).decode()
    except orjson.JSONEncodeError as fault:
        raise Invalid(f"cannot be written as YAML: {fault}") from fault
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _number(text: str) -> str:
    """A number as readers of YAML 1.1 know it for one: before an exponent there is a point, and in it a sign."""
    mantissa, mark, power = text.lower().partition("e")
    if not mark:
        return text
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{power if power[0] in '+-' else '+' + power}"
