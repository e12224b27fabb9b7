"""Extractors of fields from text: JSON, pairs of keys and values, delimited values and regular expressions."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import orjson

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import string_of
from dashwright.expressions.javascript.patterns import TextPattern

#: Returns the value that text contains; None without one. Raises ValueError if the text cannot be read.
Extractor = Callable[[str], Any]

_SEPARATORS: Final = frozenset(",;&{} \t\r\n\"'")
#: Separators after which a word that has no key yet is a key without a value.
_BLANKS: Final = frozenset(" \t\r\n\"'")
_PATH_STEP: Final = re.compile(r"""[^.\[\]]+|\[(?:(-?\d+)|["']([^"']*)["'])\]""")
_MAX_STEPS: Final = 50


def _json(_options: Mapping[str, Any]) -> Extractor:
    return orjson.loads


def _pattern(options: Mapping[str, Any]) -> Extractor:
    """Return the extractor of the named groups of a regular expression between slashes."""
    source = string_of(options.get("regExp"))
    # Grafana's default, which also replaces an invalid pattern.
    pattern = TextPattern("(?<NewField>.*)")
    if source.startswith("/"):
        with suppress(BadRequest):
            pattern = TextPattern.of(source)
    return pattern.named_groups


def _delimited(options: Mapping[str, Any]) -> Extractor:
    """Return the extractor of delimited values, each of which is a field with the value 1."""
    delimiter = options.get("delimiter", ",")
    pattern = TextPattern(rf"\s*{re.escape(string_of(delimiter))}\s*")
    return lambda text: dict.fromkeys(pattern.split(text.strip()), 1)


def _pairs(_options: Mapping[str, Any]) -> Extractor:
    return pairs_of


def pairs_of(text: str) -> dict[str, str]:
    """Return the pairs in text such as ``a=1 b: "x y"``. Keys and values may be in quotes; a word alone is a key without a value."""
    pairs: dict[str, str] = {}
    key, word = "", ""
    for character, is_plain, is_last in _characters(text):
        if not is_plain:
            word += character
        elif character in ":=":
            if word:
                if key:
                    pairs[key] = ""
                key, word = word, ""
        elif character in _SEPARATORS:
            if word and not key and character in _BLANKS:
                pairs[word] = ""
            elif word and key:
                pairs[key] = word
                key = ""
            elif word:
                # After any other separator, such as a comma, the next word is the value.
                key = word
            word = ""
        else:
            word += character
            if is_last and not key:
                pairs[word] = ""
                word = ""
    if key:
        pairs[key] = word
    return pairs


def _characters(text: str) -> Iterator[tuple[str, bool, bool]]:
    """Yield each character, whether it may be a separator, and whether it is the last one. Quoted and escaped characters may not."""
    quote, position, end = "", 0, len(text)
    while position < end:
        character = text[position]
        if character == quote:
            quote, position = "", position + 1
            character = text[position : position + 1]
        is_escaped = character == "\\"
        if is_escaped:
            position += 1
            character = text[position : position + 1]
        is_plain = not is_escaped and not quote and character != ""
        if is_plain and character in "\"'":
            quote = character
        yield character, is_plain, position == end - 1
        position += 1


def _automatic(options: Mapping[str, Any]) -> Extractor:
    """Return the extractor that tries all others in order."""
    extractors = [create(options) for create in _FORMATS.values()]

    def extract(text: str) -> Any:
        for extractor in extractors:
            try:
                value = extractor(text)
            except ValueError:
                continue
            if value is not None:
                return value
        return None

    return extract


_FORMATS: Final[Mapping[str, Callable[[Mapping[str, Any]], Extractor]]] = {
    "json": _json,
    "kvp": _pairs,
    "delimiter": _delimited,
    "regexp": _pattern,
}


def extractor_of(options: Mapping[str, Any]) -> Extractor:
    """Return the extractor of the option ``format``, by default automatic. Raises BadRequest for an unknown format."""
    name = string_of(options.get("format")) or "auto"
    create = _automatic if name == "auto" else _FORMATS.get(name)
    if create is None:
        raise BadRequest(f"unknown format {name[:40]!r} of extracted fields; use auto, {', '.join(_FORMATS)}")
    return create(options)


def value_at(document: Any, path: str) -> Any:
    """Return the value at a path such as ``a.b[0]`` in a document; None without one."""
    for step in list(_PATH_STEP.finditer(path))[:_MAX_STEPS]:
        name = step[2] or step[1] or step[0]
        if isinstance(document, list):
            document = document[int(name)] if name.isdecimal() and len(name) < 10 and int(name) < len(document) else None
        else:
            document = document.get(name) if isinstance(document, dict) else None
    return document
