"""A scanner for PromQL: it finds selectors and ranges by words and brackets, without parsing the query.

Variables of dashboards, such as ``$job``, count as names. In a text that is not PromQL the scanner finds few selectors and ranges.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""(?P<skip>\s+|\#[^\n]*)
    |(?P<text>"(?:\\.|[^"\\])*+"?|'(?:\\.|[^'\\])*+'?|`[^`]*+`?)
    |(?P<number>\d[\w.]*)
    |(?P<name>(?:[A-Za-z_:]|\$\w|\$\{[^}]*+\}?|\[\[\w++\]\])(?:[\w:]|\$\{[^}]*+\}?|\$\w)*+)
    |(?P<sign>=~|!~|!=|.)""",
    re.VERBOSE | re.DOTALL,
)
"""An unclosed string extends to the end of the query: searching for its end from each position could take hours."""

# Both limits are far above those of queries that users write by hand.
_MAX_CHARACTERS: Final = 50_000
_MAX_DEPTH: Final = 100
"""Limit on nested parentheses."""

_AGGREGATION_CLAUSES: Final = frozenset({"by", "without"})
_LABEL_LIST_WORDS: Final = _AGGREGATION_CLAUSES | {"on", "ignoring", "group_left", "group_right"}
"""Words that are followed by label names in parentheses."""

_KEYWORDS: Final = _LABEL_LIST_WORDS | {"and", "or", "unless", "bool", "offset", "atan2", "inf", "nan"}
"""Names that are not metrics."""


class Matcher(NamedTuple):
    """A condition on a label."""

    label: str
    operator: str
    #: Value without quotes.
    value: str


@dataclass(frozen=True, slots=True)
class Selector:
    """A selector of series."""

    #: Name of the metric, empty for a selector by labels alone.
    metric: str
    matchers: tuple[Matcher, ...]
    #: Names of the functions around it, the outermost first.
    functions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """A range in brackets."""

    #: Content of the brackets.
    text: str
    #: Name of the nearest function around it, or empty.
    function: str


def selectors_and_ranges(query: str) -> list[Selector | Range]:
    """Return the selectors and ranges of a query in the order in which they end.

    The scan ends where parentheses are nested too deeply. The list is empty for a query that is too long.
    """
    return list(_Scanner(query).scan()) if len(query) <= _MAX_CHARACTERS else []


class _Scanner:
    """A scanner over the tokens of one query."""

    def __init__(self, query: str) -> None:
        # The category and text of each token.
        self._tokens = [(match.lastgroup or "", match[0]) for match in _TOKEN.finditer(query) if match.lastgroup != "skip"]
        self._position = 0

    def scan(self) -> Iterator[Selector | Range]:
        """Yield the selectors and ranges in the order in which they end."""
        # Names before the open parentheses, empty for parentheses that only group.
        functions: list[str] = []
        previous_name = name_before_labels = ""
        while self._position < len(self._tokens):
            category, word = self._tokens[self._position]
            self._position += 1
            if word == "(" and previous_name.lower() in _LABEL_LIST_WORDS:
                self._take_until(")")
                # In ``sum by (job) (x)`` the parentheses after the labels are those of ``sum``.
                previous_name, name_before_labels = name_before_labels, ""
                continue
            if word == "(":
                if len(functions) == _MAX_DEPTH:
                    return
                functions.append(previous_name)
            elif word == ")":
                # Unlike ``pop``, this ignores a parenthesis that was never opened.
                del functions[-1:]
            elif word == "[":
                yield Range(self._take_until("]"), next((name for name in reversed(functions) if name), ""))
            elif word == "{":
                yield Selector("", self._matchers(), tuple(functions))
            elif category == "name" and self._is_metric(word, previous_name):
                yield Selector(word, self._matchers() if self._skip("{") else (), tuple(functions))
            name_before_labels = previous_name if word.lower() in _AGGREGATION_CLAUSES else ""
            previous_name = word if category == "name" else ""

    def _is_metric(self, word: str, previous_name: str) -> bool:
        """Return whether a name is that of a metric, not of a function, keyword or duration. The position is after the name."""
        next_word = self._tokens[self._position][1].lower() if self._position < len(self._tokens) else ""
        if next_word == "(" or next_word in _AGGREGATION_CLAUSES or word.lower() in _KEYWORDS or previous_name.lower() == "offset":
            return False
        # A variable may be a metric or a number: only the braces of a selector show that it is a metric.
        return next_word == "{" or not word.startswith(("$", "[["))

    def _skip(self, sign: str) -> bool:
        """Skip the next token if it is ``sign``. Return whether it was skipped."""
        is_next = self._position < len(self._tokens) and self._tokens[self._position][1] == sign
        self._position += is_next
        return is_next

    def _take_until(self, sign: str) -> str:
        """Skip the tokens up to and including the next ``sign``, and return the joined text of the tokens before it."""
        words = []
        while self._position < len(self._tokens) and not self._skip(sign):
            words.append(self._tokens[self._position][1])
            self._position += 1
        return "".join(words)

    def _matchers(self) -> tuple[Matcher, ...]:
        """Skip the tokens up to the closing brace, and return the matchers among them."""
        tokens = []
        while self._position < len(self._tokens) and not self._skip("}"):
            tokens.append(self._tokens[self._position])
            self._position += 1
        matchers = []
        # A matcher is three consecutive tokens: label, operator and quoted value.
        for (_, label), (_, operator), (value_kind, value) in zip(tokens, tokens[1:], tokens[2:], strict=False):
            if value_kind == "text" and operator in ("=", "=~", "!=", "!~"):
                matchers.append(Matcher(label, operator, value[1:-1]))
        return tuple(matchers)
