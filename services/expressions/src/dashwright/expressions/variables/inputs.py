"""Inputs of shared dashboards (``__inputs``), which a client fills in when it imports a dashboard."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.json_shapes import objects_of, string_of
from dashwright.expressions.sources.catalog import Catalog
from dashwright.expressions.variables.values import Value

_MAX_INPUTS: Final = 100


def input_values(spec: Mapping[str, Any], catalog: Catalog) -> dict[str, Value]:
    """Return the values of inputs by name: the default data source of a type, or a constant."""
    values = {}
    for item in objects_of(spec.get("__inputs"))[:_MAX_INPUTS]:
        name, kind = string_of(item.get("name")), string_of(item.get("type"))
        entry = catalog.default(string_of(item.get("pluginId"))) if kind == "datasource" else None
        value = entry.uid if entry else string_of(item.get("value"))
        if name and (entry or kind == "constant"):
            values[name] = Value((value,), (entry.name if entry else value,))
    return values
