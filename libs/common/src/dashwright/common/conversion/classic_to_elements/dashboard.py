"""Conversion of the spec of a classic dashboard to a spec with elements and a layout."""

from collections.abc import Mapping
from typing import Any

from dashwright.common.conversion import v2alpha1
from dashwright.common.conversion.classic_to_elements.annotations import annotation_queries
from dashwright.common.conversion.classic_to_elements.layout import elements_and_layout
from dashwright.common.conversion.classic_to_elements.settings import dashboard_settings
from dashwright.common.conversion.classic_to_elements.variables import dashboard_variables
from dashwright.common.conversion.context import ConversionContext
from dashwright.common.conversion.elements_form import ElementsForm
from dashwright.common.conversion.failures import ConversionFailed


def classic_to_elements(spec: Mapping[str, Any], context: ConversionContext, form: ElementsForm = v2alpha1.FORM) -> dict[str, Any]:
    """Return the spec with elements of a classic dashboard with the schema version 42, as Grafana 12.4 converts it.

    The result may share parts with ``spec``, which is not changed. Raises ConversionFailed if the member ``dashboard``, which
    may contain the spec, is not an object, or if the spec is nested too deeply.
    """
    dashboard = spec.get("dashboard", spec)
    if not isinstance(dashboard, Mapping):
        raise ConversionFailed("the member 'dashboard' is not an object; remove it, or put the dashboard into it")
    try:
        elements, layout = elements_and_layout(dashboard, context, form)
    except RecursionError as fault:
        raise ConversionFailed("the dashboard is nested too deeply") from fault
    return {
        **dashboard_settings(dashboard),
        "annotations": annotation_queries(dashboard, form),
        "variables": dashboard_variables(dashboard, context.data_sources, form),
        "elements": elements,
        "layout": layout,
    }
