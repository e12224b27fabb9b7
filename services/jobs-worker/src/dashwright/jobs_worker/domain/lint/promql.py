"""What can be told of a PromQL query by its words and brackets, without knowing what it means.

Variables stand for themselves. Of a text that is no query little is found, and so little is said.
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
"""What is not closed goes to the end: looked for again from each place, an end that is not there takes hours."""

_LONGEST: Final = 50_000
_DEEPEST: Final = 100
"""Characters of a query, and parentheses around anything in it: what has more is none that somebody wrote."""

_GROUPING: Final = frozenset({"by", "without"})
_LISTS: Final = _GROUPING | {"on", "ignoring", "group_left", "group_right"}
"""Words before names of labels in parentheses."""

_OPERATORS: Final = _LISTS | {"and", "or", "unless", "bool", "offset", "atan2", "inf", "nan"}


@dataclass(frozen=True, slots=True)
class Selector:
    """``matchers`` are label, sign and value (without quotes); ``within`` the functions around it, the outermost first."""

    metric: str
    matchers: tuple[tuple[str, str, str], ...]
    within: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """What stands in brackets, and the function that is the nearest around it, or empty."""

    text: str
    function: str


def read(query: str) -> list[Selector | Range]:
    """The selectors and ranges of a query, in the order in which they end, up to where it is nested more deeply than queries are."""
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
