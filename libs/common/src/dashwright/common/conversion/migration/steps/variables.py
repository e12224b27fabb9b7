"""Migrations of variables."""

from typing import Any

from dashwright.common.conversion.migration.document import Object, is_true, is_truthy, number

#: Values of ``refresh``.
_ON_LOAD, _ON_TIME_RANGE = 1, 2
#: Values of ``hide``.
_WITHOUT_LABEL, _HIDDEN = 1, 2


def number_refresh(variable: Object) -> None:
    """Replace the booleans of refresh and visibility by numbers (version 12)."""
    if "refresh" in variable:
        variable["refresh"] = _ON_LOAD if is_true(variable, "refresh") else 0
    if is_true(variable, "hideVariable"):
        variable["hide"] = _HIDDEN
    elif is_true(variable, "hideLabel"):
        variable["hide"] = _WITHOUT_LABEL


def align_current(variable: Object) -> None:
    """Make the selection a list if several values may be selected, else a single value (version 23)."""
    multi, current = variable.get("multi"), variable.get("current")
    if not isinstance(multi, bool) or not isinstance(current, dict) or not current:
        return
    if multi and "value" in current and not isinstance(current["value"], list):
        variable["current"] = {name: _as_list(value) if name in {"value", "text"} else value for name, value in current.items()}
    elif not multi:
        variable["current"] = {name: _as_single(value) if name in {"value", "text"} else value for name, value in current.items()}


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _as_single(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return value[0] if value else ""


def convert_constant(variable: Object) -> None:
    """Select the value of a constant. A constant that users see becomes a text box (version 27)."""
    if variable.get("type") != "constant":
        return
    query = variable.get("query")
    variable["query"] = query = query if isinstance(query, str) else ""
    variable["current"] = {"selected": True, "text": query, "value": query}
    variable["options"] = [{"selected": True, "text": query, "value": query}]
    if number(variable.get("hide")) in {0, _WITHOUT_LABEL}:
        variable["type"] = "textbox"


def drop_tags(variable: Object) -> None:
    """Remove the tags of values, which variables no longer have (version 28)."""
    for name in ("tags", "tagsQuery", "tagValuesQuery", "useTags"):
        # As in Grafana, empty values are kept.
        if is_truthy(variable.get(name)):
            del variable[name]


def refresh_queries(variable: Object) -> None:
    """Let a query variable refresh its options at least on load, and remove stored options (version 29)."""
    if variable.get("type") == "query":
        refresh = number(variable.get("refresh"))
        if refresh is None or int(refresh) not in {_ON_LOAD, _ON_TIME_RANGE}:
            variable["refresh"] = _ON_LOAD
        if isinstance(variable.get("options"), list):
            variable["options"] = []
