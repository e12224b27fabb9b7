"""Reader of untrusted YAML, and writer of YAML that parsers of versions 1.1 and 1.2 read alike.

The reader is ryaml: YAML 1.2 types, no merge keys, no duplicate keys, one document. ryaml takes quadratic time for open
brackets and ``%TAG`` lines, and copies the value of each alias; ``_check_limits`` therefore bounds all three first. The
writer puts strings in quotes if YAML 1.1 reads them as another type, such as ``no`` (false) and ``12:30`` (a number).
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

_PLAIN_SCALAR: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
_RESERVED_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
#: Line breaks, and characters that parsers refuse in a string.
_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")

#: An item of a list or map that contains no brackets: a string in quotes, a plain scalar, or nothing.
_ITEM: Final = r"""(?:"[^"\\\[\]{}\n]*+"[ ]*+|'[^'\[\]{}\n]*+'[ ]*+|[\w.:/$+-][\w.:/$+ -]*+)?+"""
#: Matches each opening bracket of a list or map that contains other brackets, and some brackets within strings.
_OPEN_BRACKET: Final = re.compile(
    r"""(?:^|(?<=[\s\x85\ufeff\[{,:?-]))[\[{]
    (?![ ]*+ITEM(?:,[ ]*+ITEM)*+[\]}])""".replace("ITEM", _ITEM),
    re.VERBOSE,
)

#: A text with at most this number of open brackets cannot nest too deeply, so its structure is not checked.
_MAX_UNCHECKED_BRACKETS: Final = 128

_ALIAS: Final = re.compile(r"(?:^|(?<=[\s\x85\ufeff\[{,:?-]))\*[^\s*]")
_DIRECTIVE: Final = re.compile("^%", re.MULTILINE)

_MAX_DEPTH: Final = 128
#: Maximum number of lines that begin with ``%``. It takes ryaml too long to read many of them.
_MAX_DIRECTIVES: Final = 16
#: Maximum number of parser events, which are checked in less than a second. 5 MB of dashboards have fewer.
_MAX_EVENTS: Final = 500_000

#: Maximum size of the values that aliases copy: one for each value, and one for each character of a string.
_MAX_COPIED_SIZE: Final = 1_000_000

#: Maximum length of a key without ``?`` before it. Parsers look for the colon in the first 1024 characters only.
_MAX_KEY_LENGTH: Final = 1000


def read_yaml(text: str) -> Any:
    """Return the document in ``text`` as JSON data: keys are strings, numbers are finite, integers have 64 bits.

    Takes time linear in the length of any ``text``. Raises Invalid with the line of the error.
    """
    _check_limits(text)
    try:
        tree = ryaml.loads(text)  # type: ignore[attr-defined]  # its stub re-exports nothing
    except ValueError as error:
        raise Invalid(f"not valid YAML: {error}") from error
    for reason in _json_faults(tree):  # the first fault is enough
        raise Invalid(f"not usable as JSON: {reason}")
    return tree


def read_documents(text: str) -> list[Any]:
    """Return all documents of a text. They may have keys of any type, tags and merge keys. Raises Invalid if it is not YAML."""
    _check_limits(text)
    try:
        return ryaml.loads_all(text) or []  # type: ignore[attr-defined]  # as above
    except ValueError as error:
        raise Invalid(f"not valid YAML: {error}") from error


def read_json_documents(text: str) -> list[Any]:
    """Return all documents of a text as JSON data, like ``read_yaml``; None for an empty document. Raises Invalid for other data."""
    trees = read_documents(text)
    for number, tree in enumerate(trees, 1):
        for reason in _json_faults(tree):
            raise Invalid(f"document {number} is not usable as JSON: {reason}")
    return trees


def _check_limits(text: str) -> None:
    """Raise Invalid for a text that would take ryaml too long to read."""
    if len(list(islice(_DIRECTIVE.finditer(text), _MAX_DIRECTIVES + 1))) > _MAX_DIRECTIVES:
        raise Invalid(f"not usable as JSON: more than {_MAX_DIRECTIVES} lines begin with %: remove the directives")
    if _ALIAS.search(text) or next(islice(_OPEN_BRACKET.finditer(text), _MAX_UNCHECKED_BRACKETS, None), None):
        _check_structure(text)


def _check_structure(text: str) -> None:
    """Raise Invalid if ``text`` nests too deeply, has too many values, or its aliases copy too much.

    PyYAML's parser yields one event at a time without building values, so that parsing stops at the first violation.
    """
    # Anchor, and size so far, of each list or map that has not ended. The first item is the document.
    open_nodes: list[tuple[str | None, int]] = [(None, 0)]
    sizes_by_anchor: dict[str, int] = {}
    copied_size = 0
    for count, event in enumerate(_events(text)):
        if count >= _MAX_EVENTS:
            raise Invalid(f"not usable as JSON: more than {_MAX_EVENTS} values: split the file")
        if isinstance(event, CollectionStartEvent):
            open_nodes.append((event.anchor, 1))
            if len(open_nodes) > _MAX_DEPTH + 1:
                line = event.start_mark.line + 1
                raise Invalid(f"not valid YAML: nested deeper than {_MAX_DEPTH} levels at line {line}")
            continue
        if isinstance(event, CollectionEndEvent):
            anchor, size = open_nodes.pop()
        elif isinstance(event, ScalarEvent):
            anchor, size = event.anchor, 1 + len(event.value)
        elif isinstance(event, AliasEvent):
            anchor, size = None, sizes_by_anchor.get(event.anchor, 1)
            copied_size += size
            if copied_size > _MAX_COPIED_SIZE:
                line = event.start_mark.line + 1
                raise Invalid(f"not usable as JSON: aliases copy too much (*{event.anchor} at line {line}): write fewer of them")
        else:
            continue
        if anchor is not None:
            sizes_by_anchor[anchor] = size
        outer_anchor, outer_size = open_nodes[-1]
        open_nodes[-1] = (outer_anchor, outer_size + size)


def _events(text: str) -> Iterator[Any]:
    """Yield the parser's events. Raises Invalid with the line of the error."""
    try:
        parser = CParser(text)
        while (event := parser.get_event()) is not None:
            yield event
    except MarkedYAMLError as error:
        mark = error.problem_mark
        position = f" at line {mark.line + 1} column {mark.column + 1}" if mark else ""
        raise Invalid(f"not valid YAML: {error.problem}{position}") from error
    except (YAMLError, UnicodeEncodeError) as error:
        raise Invalid(f"not valid YAML: {error}") from error


def _json_faults(node: Any) -> Iterator[str]:
    """Yield a message for each part that JSON cannot represent. Recursion is safe: ryaml limits the depth to 128."""
    if isinstance(node, dict):
        for key, value in node.items():
            if not isinstance(key, str):
                yield f"the key {key!r} is not a string: put it in quotes"
            elif key == "<<":
                yield "merge keys (<<) are not supported: write the fields out"
            yield from _json_faults(value)
    elif isinstance(node, list):
        for value in node:
            yield from _json_faults(value)
    elif isinstance(node, float) and not math.isfinite(node):
        yield f"{node} is not a JSON number: leave the field out or write null"


def write_yaml(tree: Any) -> str:
    """Return JSON data as YAML in block style, with each string on one line. Raises Invalid if a value is not JSON."""
    return "\n".join(_node_lines(tree)) + "\n"


def _node_lines(node: Any) -> Iterator[str]:
    """Yield the lines of a value, without indentation of its first level."""
    if isinstance(node, dict) and node:
        for key, value in node.items():
            yield from _member_lines(_string_scalar(key), value)
    elif isinstance(node, list) and node:
        for item in node:
            yield from _block_after("- ", _node_lines(item))
    else:
        yield _scalar(node)


def _member_lines(key: str, value: Any) -> Iterator[str]:
    """Yield the lines of a member of a map. ``key`` is a scalar in YAML already."""
    if len(key) > _MAX_KEY_LENGTH:
        yield f"? {key}"
        yield from _block_after(": ", _node_lines(value))
    elif value and isinstance(value, dict | list):
        yield f"{key}:"
        # The marks ``- `` of list items are an indentation already.
        indent = "  " if isinstance(value, dict) else ""
        for line in _node_lines(value):
            yield indent + line
    else:
        yield f"{key}: {_scalar(value)}"


def _block_after(marker: str, lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines of a block that begins on the line of a two-character marker, such as ``- ``."""
    yield marker + next(lines)
    for line in lines:
        yield "  " + line


def _scalar(node: Any) -> str:
    """Return a value other than a filled list or map in YAML. Raises Invalid if it is not JSON."""
    if isinstance(node, str):
        return _string_scalar(node)
    if isinstance(node, float):
        return _float_scalar(repr(node))
    try:
        return orjson.dumps(node).decode()
    except orjson.JSONEncodeError as error:
        raise Invalid(f"cannot be written as YAML: {error}") from error


def _string_scalar(value: str) -> str:
    """Return a string without quotes if all parsers read it as a string, and otherwise in quotes."""
    if _PLAIN_SCALAR.fullmatch(value) and value.lower() not in _RESERVED_WORDS:
        return value
    try:
        quoted = orjson.dumps(value).decode()
    except orjson.JSONEncodeError as error:
        raise Invalid(f"cannot be written as YAML: {error}") from error
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _float_scalar(digits: str) -> str:
    """Return a float as YAML 1.1 requires it: with a point in the mantissa and a sign in the exponent."""
    mantissa, separator, exponent = digits.lower().partition("e")
    if not separator:
        return digits
    if "." not in mantissa:
        mantissa += ".0"
    if exponent[0] not in "+-":
        exponent = f"+{exponent}"
    return f"{mantissa}e{exponent}"
