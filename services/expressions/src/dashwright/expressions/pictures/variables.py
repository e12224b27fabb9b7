"""Variables of a dashboard by their saved values, inserted as plain text for ``$name``, ``${name}`` and ``[[name]]``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_REFERENCE: Final = re.compile(r"\$\{(\w+)(?:\.\w+)?(?::\w+)?\}|\$(\w+)|\[\[(\w+)(?::\w+)?\]\]")
_ALL: Final = "$__all"
_EVERYTHING: Final = ".*"
_MOST_VALUES: Final = 100
_DEEPEST: Final = 20
_LONGEST: Final = 100_000


@dataclass(frozen=True, slots=True)
class Variables:
    """The values of variables by name."""

    values: Mapping[str, str]

    @staticmethod
    def of(spec: Mapping[str, Any]) -> "Variables":
        """Return the variables of a spec. Several values become ``a|b``; all values become ``allValue`` or ``.*``."""
        templating = spec.get("templating")
        listed = templating.get("list") if isinstance(templating, dict) else spec.get("variables")
        values = {}
        for item in listed if isinstance(listed, list) else ():
            variable = item.get("spec", item) if isinstance(item, dict) else None
            if isinstance(variable, dict) and isinstance(variable.get("name"), str):
                values[variable["name"]] = _value(variable)
        return Variables(values)

    def put_in(self, text: str) -> str:
        """Return the text with variables replaced. Unknown names are unchanged, such as ``$__interval``."""
        if len(text) > _LONGEST or not ("$" in text or "[[" in text):
            return text
        return _REFERENCE.sub(lambda found: self.values.get(found[1] or found[2] or found[3], found[0]), text)

    def put_into(self, tree: Any, depth: int = 0) -> Any:
        """Return the tree with variables replaced in every text; keys are unchanged."""
        if isinstance(tree, str):
            return self.put_in(tree)
        if depth > _DEEPEST:
            return tree
        if isinstance(tree, dict):
            return {key: self.put_into(value, depth + 1) for key, value in tree.items()}
        return [self.put_into(value, depth + 1) for value in tree] if isinstance(tree, list) else tree


def _value(variable: Mapping[str, Any]) -> str:
    current = variable.get("current")
    value = current.get("value") if isinstance(current, dict) else None
    if value is None:
        value = variable.get("query") if variable.get("type") in ("constant", "textbox") else ""
    values = [str(each) for each in value[:_MOST_VALUES]] if isinstance(value, list) else [str(value)]
    if _ALL in values:
        return variable["allValue"] if isinstance(variable.get("allValue"), str) and variable["allValue"] else _EVERYTHING
    return "|".join(values)
