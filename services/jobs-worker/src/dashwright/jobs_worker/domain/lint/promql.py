"""A scanner for PromQL: it finds selectors and ranges by words and brackets, without parsing the query.

Variables count as names. In a text that is not PromQL it finds little, so few findings are wrong.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_WORDS: Final = re.compile(
    r"""(?P<skip>\s+|\#[^\n]*)
    |(?P<text>"(?:\\.|[^"\\])*+"?|'(?:\\.|[^'\\])*+'?|`[^`]*+`?)
    |(?P<number>\d[\w.]*)
    |(?P<name>(?:[A-Za-z_:]|\$\w|\$\{[^}]*+\}?|\[\[\w++\]\])(?:[\w:]|\$\{[^}]*+\}?|\$\w)*+)
    |(?P<sign>=~|!~|!=|.)""",
    re.VERBOSE | re.DOTALL,
)
"""An unclosed string runs to the end: searching again from each position for a missing end would take hours."""

_LONGEST: Final = 50_000
_DEEPEST: Final = 100
"""Limits on characters and on nested parentheses: no user writes longer or deeper queries by hand."""

_GROUPING: Final = frozenset({"by", "without"})
_LISTS: Final = _GROUPING | {"on", "ignoring", "group_left", "group_right"}
"""Words before label names in parentheses."""

_OPERATORS: Final = _LISTS | {"and", "or", "unless", "bool", "offset", "atan2", "inf", "nan"}


@dataclass(frozen=True, slots=True)
class Selector:
    """A selector of series."""

    metric: str
    #: Label, operator and value (without quotes) of each matcher.
    matchers: tuple[tuple[str, str, str], ...]
    #: Names of the functions around it, the outermost first.
    within: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """A range in brackets."""

    text: str
    #: Name of the nearest function around it, or empty.
    function: str


def read(query: str) -> list[Selector | Range]:
    """Return the selectors and ranges of a query in the order in which they end.

    Text beyond the limit of nesting is skipped.
    """
    return list(_Scanner(query).found()) if len(query) <= _LONGEST else []


class _Scanner:
    def __init__(self, query: str) -> None:
        self._words = [(found.lastgroup or "", found[0]) for found in _WORDS.finditer(query) if found.lastgroup != "skip"]
        self._at = 0

    def found(self) -> Iterator[Selector | Range]:
        functions: list[str] = []
        before = aggregation = ""
        while self._at < len(self._words):
            kind, word = self._words[self._at]
            self._at += 1
            if word == "(" and before.lower() in _LISTS:
                self._until(")")
                before, aggregation = aggregation, ""
                continue
            if word == "(":
                if len(functions) == _DEEPEST:
                    return
                functions.append(before)
            elif word == ")":
                del functions[-1:]
            elif word == "[":
                yield Range(self._until("]"), next((name for name in reversed(functions) if name), ""))
            elif word == "{":
                yield Selector("", self._matchers(), tuple(functions))
            elif kind == "name" and self._is_metric(word, before):
                yield Selector(word, self._matchers() if self._next("{") else (), tuple(functions))
            aggregation = before if word.lower() in _GROUPING else ""
            before = word if kind == "name" else ""

    def _is_metric(self, word: str, before: str) -> bool:
        following = self._words[self._at][1].lower() if self._at < len(self._words) else ""
        if following == "(" or following in _GROUPING or word.lower() in _OPERATORS or before.lower() == "offset":
            return False
        # A variable alone may stand for a number.
        return following == "{" or not word.startswith(("$", "[["))

    def _next(self, sign: str) -> bool:
        is_there = self._at < len(self._words) and self._words[self._at][1] == sign
        self._at += is_there
        return is_there

    def _until(self, sign: str) -> str:
        words = []
        while self._at < len(self._words) and not self._next(sign):
            words.append(self._words[self._at][1])
            self._at += 1
        return "".join(words)

    def _matchers(self) -> tuple[tuple[str, str, str], ...]:
        words = []
        while self._at < len(self._words) and not self._next("}"):
            words.append(self._words[self._at])
            self._at += 1
        found = []
        for (_, label), (_, sign), (kind, value) in zip(words, words[1:], words[2:], strict=False):
            if kind == "text" and sign in ("=", "=~", "!=", "!~"):
                found.append((label, sign, value[1:-1]))
        return tuple(found)
