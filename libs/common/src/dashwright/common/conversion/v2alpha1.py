"""Shapes of version ``v2alpha1``, as in Grafana 12.4: plugin types are kinds, and data sources are next to queries."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.conversion.differences import unchanged
from dashwright.common.conversion.elements_form import ElementsForm


def _put_query(spec: dict[str, Any], source_type: str, uid: str, members: Mapping[str, Any]) -> None:
    spec["query"] = {"kind": source_type, "spec": members}
    if uid:
        spec["datasource"] = {"type": source_type, "uid": uid}


def _visualization(plugin: str, plugin_version: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"kind": plugin, "spec": {"pluginVersion": plugin_version, **spec}}


def transformation(identifier: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return a transformation with its id as the kind and in its spec."""
    return {"kind": identifier, "spec": {"id": identifier, **spec}}


FORM: Final = ElementsForm(_put_query, _visualization, transformation, unchanged)
