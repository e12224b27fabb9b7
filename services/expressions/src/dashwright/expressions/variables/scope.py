"""Interpolation: references to variables, such as ``$name``, in text are replaced by their values."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import Any, Final

from dashwright.expressions.sources.prometheus.label_filters import LabelFilter
from dashwright.expressions.variables.formats import DEFAULT, format_value
from dashwright.expressions.variables.values import Value

_REFERENCE: Final = re.compile(r"\$(\w+)|\[\[(\w+?)(?::(\w+))?\]\]|\$\{(\w+)(?:\.([^:^}]+))?(?::([^}]+))?\}")
#: Text that is nested deeper, or is longer, is not interpolated.
_MAX_DEPTH: Final = 20
_MAX_LENGTH: Final = 100_000
#: The number of characters that are inserted into one JSON value.
_MAX_TREE_LENGTH: Final = 500_000
#: The name of the built-in variable whose value is all variables as parameters of a URL.
_ALL_VARIABLES: Final = "__all_variables"


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables that text may refer to."""

    values: Mapping[str, Value] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)  #: Why a variable has no certain value, by name.
    zone: tzinfo = UTC
    filters: Mapping[str, Sequence[LabelFilter]] = field(default_factory=dict)  #: The filters of queries, by the uid of the data source.

    def with_values(self, values: Mapping[str, Value]) -> "Scope":
        """Return the scope with further values, which hide those with the same names."""
        return replace(self, values={**self.values, **values})

    def interpolate(self, template: str, default_format: str = DEFAULT) -> str:
        """Return the text with references replaced by values in their formats. Unknown names are unchanged."""
        return _Interpolation(self, _MAX_LENGTH).text(template, default_format)

    def interpolate_tree(self, value: Any, default_format: str = DEFAULT) -> Any:
        """Return the JSON value with references replaced in every string. Keys are unchanged."""
        return _Interpolation(self, _MAX_TREE_LENGTH).tree(value, default_format, 0)

    def replacement(self, match: re.Match[str], default_format: str) -> str:
        """Return the text that replaces a reference."""
        name = match[1] or match[2] or match[4]
        if name == _ALL_VARIABLES:
            url_values = {key: value for key, value in self.values.items() if value.in_url and (value.values or value.is_all)}
            return "&".join(format_value(value, key, "queryparam") for key, value in url_values.items())
        value = self.values.get(name)
        if value is None:
            return match[0]
        if match[5]:
            value = value.at(match[5])
        format_name, *arguments = (match[3] or match[6] or default_format).removeprefix(":").split(":")
        if default_format.startswith(":") and not (match[3] or match[6]):
            format_name = default_format
        return format_value(value, name, format_name, arguments, self.zone)


class _Interpolation:
    """Interpolation of one JSON value. After ``budget`` characters are inserted, further references are unchanged."""

    def __init__(self, scope: Scope, budget: int) -> None:
        self._scope = scope
        self._budget = budget

    def text(self, template: str, default_format: str) -> str:
        """Return the text with references replaced."""
        if len(template) > _MAX_LENGTH or not ("$" in template or "[[" in template):
            return template
        return _REFERENCE.sub(lambda match: self._replacement(match, default_format), template)

    def tree(self, value: Any, default_format: str, depth: int) -> Any:
        """Return the JSON value with references replaced in every string."""
        if isinstance(value, str):
            return self.text(value, default_format)
        if depth > _MAX_DEPTH:
            return value
        if isinstance(value, dict):
            return {key: self.tree(item, default_format, depth + 1) for key, item in value.items()}
        return [self.tree(item, default_format, depth + 1) for item in value] if isinstance(value, list) else value

    def _replacement(self, match: re.Match[str], default_format: str) -> str:
        if self._budget <= 0:
            return match[0]
        text = self._scope.replacement(match, default_format)
        self._budget -= len(text)
        return text


def names_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the names of variables that a JSON value refers to, in any string, some more than once."""
    if isinstance(value, str):
        if len(value) <= _MAX_LENGTH and ("$" in value or "[[" in value):
            yield from (match[1] or match[2] or match[4] for match in _REFERENCE.finditer(value))
    elif depth <= _MAX_DEPTH:
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for item in items:
            yield from names_in(item, depth + 1)
