"""Interpolation: references to variables, such as ``$name``, in text are replaced by their values."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import Any, Final

from dashwright.common.json_shapes import list_of
from dashwright.expressions.sources.prometheus.label_filters import LabelFilter
from dashwright.expressions.variables.formats import DEFAULT, format_value
from dashwright.expressions.variables.values import Value

#: The groups are: 1, 2 and 4 the name; 3 and 6 the format with its arguments; 5 the path of a part of the value.
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
        name = _name_in(match)
        if name == _ALL_VARIABLES:
            url_values = {key: value for key, value in self.values.items() if value.in_url and (value.values or value.is_all)}
            return "&".join(format_value(value, key, "queryparam") for key, value in url_values.items())
        value = self.values.get(name)
        if value is None:
            return match[0]
        path = match[5]
        if path:
            value = value.at(path)
        written_format = match[3] or match[6]
        if not written_format:
            return format_value(value, name, default_format, zone=self.zone)
        # A reference cannot name a format of data sources, which begins with a colon.
        format_name, *arguments = written_format.removeprefix(":").split(":")
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


def _name_in(reference: re.Match[str]) -> str:
    """Return the name in a reference, which has one of the forms ``$name``, ``[[name]]`` and ``${name}``."""
    return reference[1] or reference[2] or reference[4]


def names_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the names of variables that a JSON value refers to, in any string, some more than once."""
    if isinstance(value, str):
        if len(value) <= _MAX_LENGTH and ("$" in value or "[[" in value):
            yield from map(_name_in, _REFERENCE.finditer(value))
    elif depth <= _MAX_DEPTH:
        items = value.values() if isinstance(value, dict) else list_of(value)
        for item in items:
            yield from names_in(item, depth + 1)
