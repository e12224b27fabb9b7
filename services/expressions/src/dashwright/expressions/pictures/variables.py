"""Interpolation of a dashboard's variables: their saved values replace ``$name``, ``${name}`` and ``[[name]]``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_REFERENCE: Final = re.compile(r"\$\{(\w+)(?:\.\w+)?(?::\w+)?\}|\$(\w+)|\[\[(\w+)(?::\w+)?\]\]")
#: The saved value if *All* is selected, and the default of what it stands for.
_ALL_VALUE: Final = "$__all"
_ALL_PATTERN: Final = ".*"
_MAX_VALUES: Final = 100
#: Strings that are nested deeper, or are longer, are not interpolated.
_MAX_DEPTH: Final = 20
_MAX_LENGTH: Final = 100_000


@dataclass(frozen=True, slots=True)
class Variables:
    """The values of variables by name."""

    values: Mapping[str, str]

    @staticmethod
    def from_spec(spec: Mapping[str, Any]) -> "Variables":
        """Return the variables of a spec. Several values become ``a|b``. If *All* is selected, the value is ``allValue`` or ``.*``."""
        templating = spec.get("templating")
        definitions = templating.get("list") if isinstance(templating, dict) else spec.get("variables")
        values = {}
        for definition in definitions if isinstance(definitions, list) else ():
            variable = definition.get("spec", definition) if isinstance(definition, dict) else None
            if isinstance(variable, dict) and isinstance(variable.get("name"), str):
                values[variable["name"]] = _value(variable)
        return Variables(values)

    def interpolate(self, template: str) -> str:
        """Return the string with variables replaced by their values. Unknown names, such as ``$__interval``, are unchanged."""
        if len(template) > _MAX_LENGTH or not ("$" in template or "[[" in template):
            return template
        return _REFERENCE.sub(lambda match: self.values.get(match[1] or match[2] or match[3], match[0]), template)

    def interpolate_tree(self, value: Any, depth: int = 0) -> Any:
        """Return the JSON value with variables replaced in every string. Keys are unchanged. ``depth`` is that of the value."""
        if isinstance(value, str):
            return self.interpolate(value)
        if depth > _MAX_DEPTH:
            return value
        if isinstance(value, dict):
            return {key: self.interpolate_tree(item, depth + 1) for key, item in value.items()}
        return [self.interpolate_tree(item, depth + 1) for item in value] if isinstance(value, list) else value


def _value(variable: Mapping[str, Any]) -> str:
    """Return the saved value of a variable; empty if it has none."""
    current = variable.get("current")
    value = current.get("value") if isinstance(current, dict) else None
    if value is None:
        value = variable.get("query") if variable.get("type") in ("constant", "textbox") else ""
    values = [str(item) for item in value[:_MAX_VALUES]] if isinstance(value, list) else [str(value)]
    if _ALL_VALUE in values:
        return variable["allValue"] if isinstance(variable.get("allValue"), str) and variable["allValue"] else _ALL_PATTERN
    return "|".join(values)
