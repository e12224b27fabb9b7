"""YAML: reads untrusted YAML and writes YAML that every reader understands.

Reading uses ryaml: YAML 1.2 types, no merge keys, no duplicate keys, one document. ryaml takes quadratic time for open
brackets and ``%TAG`` lines, and copies what an alias names; ``_check_structure`` bounds all three first. The output
means the same to readers of YAML 1.1, for which ``no`` is false and ``12:30`` a number.
"""

import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import orjson
import ryaml
from yaml import AliasEvent, CollectionEndEvent, CollectionStartEvent, MarkedYAMLError, ScalarEvent, YAMLError
from yaml.cyaml import CParser

from dashwright.common.errors import Invalid

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
#: Line breaks, and characters that readers do not accept as text.
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")

_ITEM: Final = r"""(?:"[^"\\\[\]{}\n]*+"[ ]*+|'[^'\[\]{}\n]*+'[ ]*+|[\w.:/$+-][\w.:/$+ -]*+)?+"""
#: Matches each bracket that may open a list or map and does not close on its own, and some brackets within texts.
_OPENING: Final = re.compile(
    r"""(?:^|(?<=[\s\x85\ufeff\[{,:?-]))[\[{]
    (?![ ]*+ITEM(?:,[ ]*+ITEM)*+[\]}])""".replace("ITEM", _ITEM),
    re.VERBOSE,
)

#: Number of open brackets that cannot nest too deeply, so the structure need not be checked.
_UNCHECKED_OPENINGS: Final = 128

_ALIAS: Final = re.compile(r"(?:^|(?<=[\s\x85\ufeff\[{,:?-]))\*[^\s*]")
_DIRECTIVE: Final = re.compile("^%", re.MULTILINE)

_MAX_DEPTH: Final = 128
_MAX_DIRECTIVES: Final = 16
#: Values and ends of lists and maps, checked in less than a second. 5 MB of dashboards have fewer.
_MAX_EVENTS: Final = 500_000

#: Size of all that aliases copy: one for each value, and one for each character of a text.
_MAX_COPIED: Final = 1_000_000

#: Characters of a key without an explicit mark. Readers look for the colon in the first 1024 characters only.
_LONGEST_KEY: Final = 1000


def read_yaml(text: str) -> Any:
    """Return ``text`` as plain JSON data: texts as keys, finite numbers, integers of 64 bits.

    Takes time linear in the length of ``text``, whatever it holds. Raises Invalid with the line of the fault.
    """
    _check_cost(text)
    try:
        tree = ryaml.loads(text)  # type: ignore[attr-defined]  # its stub re-exports nothing
    except ValueError as fault:
        raise Invalid(f"not valid YAML: {fault}") from fault
    for reason in _faults(tree):
        raise Invalid(f"not usable as JSON: {reason}")
    return tree


def read_documents(text: str) -> list[Any]:
    """Return all documents of a text, including those with other key types, tags and merge keys. Raises Invalid."""
    _check_cost(text)
    try:
        return ryaml.loads_all(text) or []  # type: ignore[attr-defined]  # as above
    except ValueError as fault:
        raise Invalid(f"not valid YAML: {fault}") from fault


def _check_cost(text: str) -> None:
    """Raise Invalid for a text that would take too long to read."""
    if len(list(islice(_DIRECTIVE.finditer(text), _MAX_DIRECTIVES + 1))) > _MAX_DIRECTIVES:
        raise Invalid(f"not usable as JSON: more than {_MAX_DIRECTIVES} lines begin with %: remove the directives")
    if _ALIAS.search(text) or next(islice(_OPENING.finditer(text), _UNCHECKED_OPENINGS, None), None):
        _check_structure(text)


def _check_structure(text: str) -> None:
    """Raise Invalid if ``text`` nests too deeply, has too many values, or its aliases copy too much.

    PyYAML's parser reports one event after another and does nothing else, so that reading can stop at any of them.
    """
    # The size of each open list or map, so far, with its anchor; the first one is the text itself.
    opened: list[tuple[str | None, int]] = [(None, 0)]
    sizes: dict[str, int] = {}
    copied = 0
    for count, event in enumerate(_events(text)):
        if count >= _MAX_EVENTS:
            raise Invalid(f"not usable as JSON: more than {_MAX_EVENTS} values: split the file")
        if isinstance(event, CollectionStartEvent):
            opened.append((event.anchor, 1))
            if len(opened) > _MAX_DEPTH + 1:
                line = event.start_mark.line + 1
                raise Invalid(f"not valid YAML: nested deeper than {_MAX_DEPTH} levels at line {line}")
            continue
        if isinstance(event, CollectionEndEvent):
            anchor, size = opened.pop()
        elif isinstance(event, ScalarEvent):
            anchor, size = event.anchor, 1 + len(event.value)
        elif isinstance(event, AliasEvent):
            anchor, size = None, sizes.get(event.anchor, 1)
            copied += size
            if copied > _MAX_COPIED:
                line = event.start_mark.line + 1
                raise Invalid(f"not usable as JSON: aliases copy too much (*{event.anchor} at line {line}): write fewer of them")
        else:
            continue
        if anchor is not None:
            sizes[anchor] = size
        outer, before = opened[-1]
        opened[-1] = (outer, before + size)


def _events(text: str) -> Iterator[Any]:
    """Yield the parser's events. Raises Invalid with the line of the fault."""
    try:
        parser = CParser(text)
        while (event := parser.get_event()) is not None:
            yield event
    except MarkedYAMLError as fault:
        mark = fault.problem_mark
        place = f" at line {mark.line + 1} column {mark.column + 1}" if mark else ""
        raise Invalid(f"not valid YAML: {fault.problem}{place}") from fault
    except (YAMLError, UnicodeEncodeError) as fault:
        raise Invalid(f"not valid YAML: {fault}") from fault


def _faults(tree: Any) -> Iterator[str]:
    """Yield what JSON cannot represent. The recursion is bounded, since ryaml limits the depth to 128."""
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
    """Yield a block that begins on the line of a two-character mark."""
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
    """Return a number that readers of YAML 1.1 recognize: with a point before the exponent, and a sign in it."""
    mantissa, mark, power = text.lower().partition("e")
    if not mark:
        return text
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{power if power[0] in '+-' else '+' + power}"
