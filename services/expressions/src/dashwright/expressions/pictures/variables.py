"""The variables of a dashboard by their saved values, put as plain text where ``$name``, ``${name}`` and ``[[name]]`` stand."""

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
    values: Mapping[str, str]

    @staticmethod
    def of(spec: Mapping[str, Any]) -> "Variables":
        """Several values become ``a|b``, all of them the variable's own word for that, or ``.*``."""
        templating = spec.get("templating")
        listed = templating.get("list") if isinstance(templating, dict) else spec.get("variables")
        values = {}
        for item in listed if isinstance(listed, list) else ():
            told = item.get("spec", item) if isinstance(item, dict) else None
            if isinstance(told, dict) and isinstance(told.get("name"), str):
                values[told["name"]] = _value(told)
        return Variables(values)

    def put_in(self, text: str) -> str:
        """What names no variable stays as it is, such as ``$__interval``."""
        if len(text) > _LONGEST or not ("$" in text or "[[" in text):
            return text
        return _REFERENCE.sub(lambda found: self.values.get(found[1] or found[2] or found[3], found[0]), text)

    def put_into(self, tree: Any, depth: int = 0) -> Any:
        """Into every text of a tree; its keys stay."""
        if isinstance(tree, str):
            return self.put_in(tree)
        if depth > _DEEPEST:
            return tree
        if isinstance(tree, dict):
            return {key: self.put_into(value, depth + 1) for key, value in tree.items()}
        return [self.put_into(value, depth + 1) for value in tree] if isinstance(tree, list) else tree


def _value(told: Mapping[str, Any]) -> str:
    current = told.get("current")
    value = current.get("value") if isinstance(current, dict) else None
    if value is None:
        value = told.get("query") if told.get("type") in ("constant", "textbox") else ""
    values = [str(each) for each in value[:_MOST_VALUES]] if isinstance(value, list) else [str(value)]
    if _ALL in values:
        return told["allValue"] if isinstance(told.get("allValue"), str) and told["allValue"] else _EVERYTHING
    return "|".join(values)
