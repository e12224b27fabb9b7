"""Differences of version ``v2`` from ``v2beta1``, as in Grafana 13."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.conversion import v2beta1
from dashwright.common.conversion.differences import Difference, unchanged
from dashwright.common.conversion.parts import object_in, text_in


def _transformation(group: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "Transformation", "group": group, "spec": spec}


FORM: Final = v2beta1.FORM._replace(transformation=_transformation)


def _with_group(transformation: Mapping[str, Any]) -> dict[str, Any]:
    """Return a transformation with its id as the group rather than as the kind."""
    spec = dict(object_in(transformation, "spec"))
    identifier = spec.pop("id", None)
    return {**transformation, **_transformation(text_in(transformation, "kind") or identifier or "", spec)}


def _without_group(transformation: Mapping[str, Any]) -> dict[str, Any]:
    """Return a transformation with its id as the kind and in its spec."""
    group = text_in(transformation, "group")
    changed = {**transformation, "kind": group, "spec": {"id": group, **object_in(transformation, "spec")}}
    changed.pop("group", None)
    return changed


def _with_description(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the spec of a panel with a description, which v2beta1 requires."""
    return spec if spec.get("description") is not None else {**spec, "description": ""}


#: Everything that differs from ``v2beta1``.
DIFFERENCES: Final = (
    Difference("elements{Panel}.spec.data.spec.transformations[]", _with_group, _without_group),
    Difference("elements{Panel}.spec", unchanged, _with_description),
)
