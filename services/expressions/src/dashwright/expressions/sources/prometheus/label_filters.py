"""Label filters of a dashboard (ad hoc filters), which are added to every selector of a query, as Grafana does."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)|(?P<comment>\#[^\n]*)|(?P<window>\[[^\]]*\])|(?P<number>\d[\w.]*)"""
    r"""|(?P<macro>\$\{[^}]*\}|\$\w+)|(?P<name>[a-zA-Z_:][\w:]*)|(?P<open>\{)|(?P<space>\s+)|(?P<other>.)""",
    re.DOTALL,
)
#: Words before a list of labels in parentheses.
_GROUPINGS: Final = frozenset({"by", "without", "on", "ignoring", "group_left", "group_right"})
_KEYWORDS: Final = frozenset({"and", "or", "unless", "bool", "offset", "atan2", "inf", "nan"})
_PLAIN_NAME: Final = re.compile(r"[a-zA-Z_]\w*", re.ASCII)
#: The operator of PromQL for each operator of filters.
_OPERATORS: Final = {"=": "=", "!=": "!=", "=~": "=~", "!~": "!~", "=|": "=~", "!=|": "!~"}


#: The maximum number of spaces and comments that are skipped to find the next token, so that the search takes linear time.
_MAX_GAP: Final = 100


@dataclass(frozen=True, slots=True)
class LabelFilter:
    """A condition on a label."""

    label: str
    operator: str  #: One of ``=``, ``!=``, ``=~``, ``!~``, ``=|`` (one of several values) and ``!=|``.
    values: Sequence[str]  #: One value, unless the operator compares with several.

    @property
    def matcher(self) -> str:
        """The condition as a matcher of PromQL; empty if Prometheus has no such operator."""
        operator = _OPERATORS.get(self.operator)
        if operator is None or not self.label or not self.values:
            return ""
        is_one_of = self.operator.endswith("|")
        value = "|".join(map(re.escape, self.values)) if is_one_of else self.values[0]
        label = self.label if _PLAIN_NAME.fullmatch(self.label) else _quoted(self.label)
        return f"{label}{operator}{_quoted(value)}"


def with_filters(expr: str, filters: Sequence[LabelFilter]) -> str:
    """Return a query in PromQL with filters in each of its selectors. Filters with an operator that PromQL lacks are left out."""
    matchers = ",".join(filter_.matcher for filter_ in filters if filter_.matcher)
    return "".join(_filtered(expr, matchers)) if matchers else expr


def _filtered(expr: str, matchers: str) -> Iterator[str]:
    """Yield the parts of a query, with matchers in its selectors."""
    tokens = [(match.lastgroup, match[0]) for match in _TOKEN.finditer(expr)]
    index = 0
    while index < len(tokens):
        kind, text = tokens[index]
        index += 1
        if kind == "name" and text.lower() in _GROUPINGS:
            yield text
            if _next(tokens, index) == "(":
                # The labels in parentheses are unchanged, because they look like metrics.
                labels, index = _through_parenthesis(tokens, index)
                yield labels
        elif kind == "open":
            content, index = _braces(tokens, index)
            separator = "" if not content.strip() or content.rstrip().endswith(",") else ","
            yield f"{{{content}{separator}{matchers}}}"
        elif kind == "name" and _is_metric(text, _next(tokens, index)):
            yield text
            if _next(tokens, index) != "{":
                yield f"{{{matchers}}}"
        else:
            yield text


def _is_metric(name: str, following: str) -> bool:
    """Return whether a name is a metric.

    The token ``following`` it decides: a function is followed by ``(``, and an aggregation by ``(``, ``by`` or ``without``.
    """
    return name.lower() not in _KEYWORDS and following != "(" and following.lower() not in ("by", "without")


def _next(tokens: Sequence[tuple[str | None, str]], index: int) -> str:
    """Return the next token that is neither space nor comment, or an empty string."""
    return next((text for kind, text in islice(tokens, index, index + _MAX_GAP) if kind not in ("space", "comment")), "")


def _through_parenthesis(tokens: Sequence[tuple[str | None, str]], index: int) -> tuple[str, int]:
    """Return the text through the next closing parenthesis, or to the end without one, and the index after it."""
    last = next((position for position in range(index, len(tokens)) if tokens[position][1] == ")"), len(tokens) - 1)
    return "".join(text for _, text in tokens[index : last + 1]), last + 1


def _braces(tokens: Sequence[tuple[str | None, str]], index: int) -> tuple[str, int]:
    """Return the text up to the closing brace, and the index after it."""
    parts = []
    while index < len(tokens) and tokens[index][1] != "}":
        parts.append(tokens[index][1])
        index += 1
    return "".join(parts), index + 1


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
