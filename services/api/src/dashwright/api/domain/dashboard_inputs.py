"""Inputs of exported dashboards: placeholders such as ``${DS_PROMETHEUS}``, which an import replaces by values."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashwright.common.errors import BadRequest, TooLarge
from dashwright.common.json_shapes import object_at, object_of, objects_of
from dashwright.common.kinds.registry import DASHBOARD

MAX_LIBRARY_PANELS: Final = 1000
"""Limit on the library panels that one import creates, each in a transaction of its own."""

_ANY_NAME: Final = "*"
_CONSTANT: Final = "constant"
"""The type of inputs that have a value in the export."""
_EXPRESSIONS: Final = "__expr__"
"""The type and the uid of the data source of expressions, which every server has."""
_PLACEHOLDER: Final = re.compile(r"\$\{([^{}]*)\}")
_MAX_QUOTED_CHARACTERS: Final = 100
"""Largest number of characters of a name that an error quotes."""
_EXPORT_MEMBERS: Final = frozenset({"__inputs", "__elements", "__requires"})
"""Members of an export that a stored dashboard does not have."""
#: Members that name the object on the server that exported it.
_IDENTITY_MEMBERS: Final = frozenset({"id", "version"})


class InputValue(NamedTuple):
    """The value of an input, as the client sent it."""

    #: The name of the input; ``*`` for every input of the type.
    name: str
    #: The type of the input, such as ``datasource``.
    type: str
    value: str


class ExportedPanel(NamedTuple):
    """A library panel that an exported dashboard contains."""

    uid: str
    name: str
    model: Mapping[str, Any]


class ResolvedDashboard(NamedTuple):
    """A dashboard with the values of its inputs, and without the members that only an export has."""

    spec: Mapping[str, Any]
    #: The library panels in the export that the dashboard shows.
    panels: Sequence[ExportedPanel]


def resolve(dashboard: Mapping[str, Any], inputs: Sequence[InputValue], *, max_characters: int) -> ResolvedDashboard:
    """Return the dashboard with the values of its inputs.

    A constant for which the client sent no value has the value in the export. An input for expressions always has the data source of
    expressions. Raises BadRequest for any other input without a value, for too many library panels, and for two with the same name.
    Raises TooLarge if the values add more than ``max_characters``.
    """
    declared_inputs = objects_of(dashboard.get("__inputs"))
    # A placeholder cannot refer to an input without a name.
    values = {name: _value_of(declared, name, inputs) for declared in declared_inputs if (name := _name_of(declared))}
    resolved = _Resolver(values, max_characters).resolve(dashboard)
    spec = {key: value for key, value in resolved.items() if key not in _EXPORT_MEMBERS | _IDENTITY_MEMBERS}
    panels = _shown_panels(spec, _elements(resolved.get("__elements")))
    if len(panels) > MAX_LIBRARY_PANELS:
        raise BadRequest(f"the dashboard contains {len(panels)} library panels; an import creates at most {MAX_LIBRARY_PANELS}")
    names = [panel.name for panel in panels]
    if len(set(names)) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        raise BadRequest(f"two library panels have the name {duplicate[:_MAX_QUOTED_CHARACTERS]!r}; give each its own name")
    return ResolvedDashboard(spec, panels)


def _name_of(declared: Mapping[str, Any]) -> str:
    """Return the name of an input or a library panel, or an empty string if it has none."""
    name = declared.get("name")
    return name if isinstance(name, str) else ""


def _value_of(declared: Mapping[str, Any], name: str, inputs: Sequence[InputValue]) -> str:
    """Return the value of a declared input. Raises BadRequest if it has none."""
    input_type = declared.get("type")
    if declared.get("pluginId") == _EXPRESSIONS:
        return _EXPRESSIONS
    for input_value in inputs:
        if input_value.type == input_type and input_value.name in (name, _ANY_NAME):
            return input_value.value
    default = declared.get("value")
    if input_type == _CONSTANT and isinstance(default, str):
        return default
    quoted_name, quoted_type = name[:_MAX_QUOTED_CHARACTERS], str(input_type)[:_MAX_QUOTED_CHARACTERS]
    raise BadRequest(f"Dashboard input missing: send a value for the input {quoted_name!r} of type {quoted_type!r} in inputs")


class _Resolver:
    """A replacement of placeholders in all strings of a tree, with a limit on the characters that it adds."""

    def __init__(self, values: Mapping[str, str], max_characters: int) -> None:
        self._values = values
        self._max_characters = max_characters
        self._added_characters = 0

    def resolve(self, node: Any) -> Any:
        """Return a tree with the values. Keys of objects, and placeholders of other names, are unchanged. Raises TooLarge."""
        if isinstance(node, str):
            return _PLACEHOLDER.sub(self._replacement, node) if "${" in node else node
        if isinstance(node, dict):
            return {key: self.resolve(value) for key, value in node.items()}
        return [self.resolve(item) for item in node] if isinstance(node, list) else node

    def _replacement(self, match: re.Match[str]) -> str:
        """Return the value for a placeholder, or the placeholder itself if its name is unknown."""
        value = self._values.get(match[1])
        if value is None:
            return match[0]
        self._added_characters += len(value)
        if self._added_characters > self._max_characters:
            raise TooLarge(f"the values of the inputs add more than {self._max_characters} characters; send shorter values")
        return value


def _elements(exported: Any) -> Mapping[str, Any]:
    """Return the library panels of an export by uid. Exports of Grafana 8 have a list of them."""
    if isinstance(exported, list):
        return {element["uid"]: element for element in objects_of(exported) if isinstance(element.get("uid"), str)}
    return object_of(exported)


def _shown_panels(spec: Mapping[str, Any], elements: Mapping[str, Any]) -> list[ExportedPanel]:
    """Return the library panels in an export that the dashboard shows. A panel that the export does not contain may be stored already."""
    panels = []
    for uid in DASHBOARD.extract(spec).refs:
        element = object_at(elements, uid)
        model = object_at(element, "model")
        if model:
            panels.append(ExportedPanel(uid, _name_of(element) or uid, model))
    return panels
