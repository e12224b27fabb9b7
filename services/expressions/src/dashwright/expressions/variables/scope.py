"""Interpolation: references to variables, such as ``$name``, in text are replaced by their values."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import Any, Final

from dashwright.expressions.variables.formats import DEFAULT, format_value
from dashwright.expressions.variables.values import Value

_REFERENCE: Final = re.compile(r"\$(\w+)|\[\[(\w+?)(?::(\w+))?\]\]|\$\{(\w+)(?:\.([^:^}]+))?(?::([^}]+))?\}")
#: Text that is nested deeper, or is longer, is not interpolated. A result stops to grow at the maximum length.
_MAX_DEPTH: Final = 20
_MAX_LENGTH: Final = 200_000
#: The name that stands for all variables as parameters of a URL.
_ALL_VARIABLES: Final = "__all_variables"


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables that text may refer to."""

    values: Mapping[str, Value] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)  #: Why a variable has no certain value, by name.
    zone: tzinfo = UTC

    def with_values(self, values: Mapping[str, Value]) -> "Scope":
        """Return the scope with further values, which hide those with the same names."""
        return replace(self, values={**self.values, **values})

    def interpolate(self, template: str, default_format: str = DEFAULT) -> str:
        """Return the text with references replaced by values in their formats. Unknown names are unchanged."""
        if len(template) > _MAX_LENGTH or not ("$" in template or "[[" in template):
            return template
        parts, position, length = [], 0, 0
        for match in _REFERENCE.finditer(template):
            text = self._replacement(match, default_format)
            parts += [template[position : match.start()], text]
            position = match.end()
            length += len(text)
            if length > _MAX_LENGTH:
                break
        return "".join([*parts, template[position:]])

    def interpolate_tree(self, value: Any, default_format: str = DEFAULT, depth: int = 0) -> Any:
        """Return the JSON value with references replaced in every string. Keys are unchanged. ``depth`` is that of the value."""
        if isinstance(value, str):
            return self.interpolate(value, default_format)
        if depth > _MAX_DEPTH:
            return value
        if isinstance(value, dict):
            return {key: self.interpolate_tree(item, default_format, depth + 1) for key, item in value.items()}
        return [self.interpolate_tree(item, default_format, depth + 1) for item in value] if isinstance(value, list) else value

    def _replacement(self, match: re.Match[str], default_format: str) -> str:
        name = match[1] or match[2] or match[4]
        if name == _ALL_VARIABLES:
            shown = {key: value for key, value in self.values.items() if value.in_url and (value.values or value.is_all)}
            return "&".join(format_value(value, key, "queryparam") for key, value in shown.items())
        value = self.values.get(name)
        if value is None:
            return match[0]
        if match[5]:
            value = value.at(match[5])
        format_name, *arguments = (match[3] or match[6] or default_format).removeprefix(":").split(":")
        if default_format.startswith(":") and not (match[3] or match[6]):
            format_name = default_format
        return format_value(value, name, format_name, arguments, self.zone)


def names_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the names of variables that a JSON value refers to, in any string, some more than once."""
    if isinstance(value, str):
        if len(value) <= _MAX_LENGTH and ("$" in value or "[[" in value):
            yield from (match[1] or match[2] or match[4] for match in _REFERENCE.finditer(value))
    elif depth <= _MAX_DEPTH:
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for item in items:
            yield from names_in(item, depth + 1)
