"""Variables that add filters and groupings to the queries of a data source."""

from typing import Any

from dashwright.common.conversion.classic_to_elements.data_sources import group_by_source, reference_members, variable_source
from dashwright.common.conversion.classic_to_elements.members import Members, children, filled_texts, flag, text, texts
from dashwright.common.conversion.classic_to_elements.variable_options import current_option, option_list
from dashwright.common.conversion.context import DataSourceIndex
from dashwright.common.conversion.elements_form import ElementsForm


def ad_hoc_variable(variable: Members, index: DataSourceIndex, _: ElementsForm) -> dict[str, Any]:
    """Return the members of a variable with ad hoc filters."""
    return {
        **reference_members(variable_source(variable, index)),
        "baseFilters": _filters(variable, "baseFilters"),
        "filters": _filters(variable, "filters"),
        "defaultKeys": _default_keys(variable),
        "allowCustomValue": flag(variable, "allowCustomValue", default=True),
    }


def group_by_variable(variable: Members, index: DataSourceIndex, _: ElementsForm) -> dict[str, Any]:
    """Return the members of a variable that groups by labels."""
    return {
        **reference_members(group_by_source(variable, index)),
        "current": current_option(variable),
        "options": option_list(variable, "options"),
        "multi": flag(variable, "multi", default=True),
    }


def _filters(variable: Members, name: str) -> list[dict[str, Any]]:
    """Return the filters of the dashboard itself. Those of another origin, such as a scope, are left out."""
    return [_filter(entry) for entry in children(variable, name) if text(entry, "origin", "dashboard") in {"", "dashboard"}]


def _filter(entry: Members) -> dict[str, Any]:
    lists = {name: values for name in ("values", "valueLabels") if (values := texts(entry, name))}
    return {
        "key": text(entry, "key"),
        "operator": text(entry, "operator", "="),
        "value": text(entry, "value"),
        **filled_texts(entry, "keyLabel", "condition"),
        **lists,
    }


def _default_keys(variable: Members) -> list[dict[str, str]]:
    """Return the keys that are offered for filters, each with its text as value."""
    default_keys = variable.get("defaultKeys")
    keys = []
    for key in default_keys if isinstance(default_keys, list) else ():
        if isinstance(key, str):
            keys.append({"text": key, "value": key})
        elif isinstance(key, dict) and (label := text(key, "text")):
            keys.append({"text": label, "value": label})
    return keys
