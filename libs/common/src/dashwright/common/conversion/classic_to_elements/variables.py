"""Variables of a dashboard."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dashwright.common.conversion.choices import VARIABLE_HIDES, VARIABLE_REFRESHES, VARIABLE_SORTS
from dashwright.common.conversion.classic_to_elements.data_sources import default_type, variable_source
from dashwright.common.conversion.classic_to_elements.filter_variables import ad_hoc_variable, group_by_variable
from dashwright.common.conversion.classic_to_elements.members import (
    Members,
    child,
    children,
    filled_texts,
    flag,
    text,
    truncated,
    whole_number,
)
from dashwright.common.conversion.classic_to_elements.variable_options import LEGACY_STRING, current_option, option_list
from dashwright.common.conversion.context import DataSourceIndex
from dashwright.common.conversion.elements_form import ElementsForm

#: Grafana 12.4 reads only the first five orders as classic numbers. It reads the further ones by name only.
_SORTS, _NAMED_SORTS = VARIABLE_SORTS[:5], VARIABLE_SORTS[5:]

_FILTER_KINDS: Final = ("AdhocVariable", "GroupByVariable")
_VALUE_FORMATS: Final = ("csv", "json")
_STATIC_OPTION_ORDERS: Final = ("before", "after", "sorted")


def dashboard_variables(dashboard: Members, index: DataSourceIndex, form: ElementsForm) -> list[Mapping[str, Any]]:
    """Return the variables of a dashboard. Variables of unknown types are left out, as in Grafana."""
    converted: list[Mapping[str, Any]] = []
    for variable in children(child(dashboard, "templating") or {}, "list"):
        kind_and_converter = _CONVERTERS.get(text(variable, "type"))
        if kind_and_converter:
            kind, convert = kind_and_converter
            new_variable = {"kind": kind, "spec": {**_common_members(variable), **convert(variable, index, form)}}
            converted.append(form.filter_variable(new_variable) if kind in _FILTER_KINDS else new_variable)
    return converted


def _common_members(variable: Members) -> dict[str, Any]:
    """Return the members that variables of all kinds have."""
    return {
        "name": text(variable, "name"),
        "hide": _choice(variable, "hide", VARIABLE_HIDES),
        "skipUrlSync": flag(variable, "skipUrlSync"),
        **filled_texts(variable, "label", "description"),
    }


def _choice(variable: Members, name: str, choices: Sequence[str], further: Sequence[str] = ()) -> str:
    """Return a choice that is given by its number or by its name; ``further`` ones only by name. An unknown choice counts as the first."""
    value = variable.get(name)
    if isinstance(value, str):
        return value if value in choices or value in further else choices[0]
    number = truncated(value) or 0
    return choices[number] if 0 <= number < len(choices) else choices[0]


def _query(variable: Members, index: DataSourceIndex, form: ElementsForm) -> dict[str, Any]:
    """Return the members of a query variable."""
    members: dict[str, Any] = {
        "current": current_option(variable),
        "refresh": _choice(variable, "refresh", VARIABLE_REFRESHES),
        "regex": text(variable, "regex"),
        "sort": _choice(variable, "sort", _SORTS, _NAMED_SORTS),
        "options": option_list(variable, "options"),
        **_selection(variable),
        **filled_texts(variable, "regexApplyTo"),
    }
    form.put_query(members, *variable_source(variable, index), _query_spec(variable.get("query")))
    if isinstance(definition := variable.get("definition"), str):
        members["definition"] = definition
    if static_options := option_list(variable, "staticOptions"):
        members["staticOptions"] = static_options
    if (order := text(variable, "staticOptionsOrder")) in _STATIC_OPTION_ORDERS:
        members["staticOptionsOrder"] = order
    return members


def _query_spec(query: Any) -> dict[str, Any]:
    """Return the members of a query that is an object or a string."""
    if isinstance(query, str) and query:
        return {LEGACY_STRING: query}
    return query if isinstance(query, dict) else {}


def _selection(variable: Members) -> dict[str, Any]:
    """Return which options a user may select."""
    return {
        "multi": flag(variable, "multi"),
        "includeAll": flag(variable, "includeAll"),
        "allowCustomValue": flag(variable, "allowCustomValue", default=True),
        **filled_texts(variable, "allValue"),
    }


def _data_source(variable: Members, index: DataSourceIndex, _: ElementsForm) -> dict[str, Any]:
    return {
        "pluginId": text(variable, "query", default_type(index)),
        "refresh": _choice(variable, "refresh", VARIABLE_REFRESHES),
        "regex": text(variable, "regex"),
        "current": current_option(variable),
        "options": option_list(variable, "options"),
        **_selection(variable),
    }


def _custom(variable: Members, *_: object) -> dict[str, Any]:
    members = {
        "query": text(variable, "query"),
        "current": current_option(variable),
        "options": option_list(variable, "options"),
        **_selection(variable),
    }
    if (values_format := text(variable, "valuesFormat")) in _VALUE_FORMATS:
        members["valuesFormat"] = values_format
    return members


def _constant(variable: Members, *_: object) -> dict[str, Any]:
    # A dashboard may have the value of a constant as its query only.
    query = text(variable, "query")
    current = {"text": query, "value": query} if variable.get("current") is None else current_option(variable)
    return {"query": query, "current": current}


def _interval(variable: Members, *_: object) -> dict[str, Any]:
    return {
        "query": text(variable, "query") or ",".join(_intervals(variable)),
        "current": current_option(variable),
        "options": option_list(variable, "options"),
        "auto": flag(variable, "auto"),
        "auto_min": text(variable, "auto_min"),
        "auto_count": whole_number(variable, "auto_count"),
        "refresh": "onTimeRangeChanged",
    }


def _intervals(variable: Members) -> list[str]:
    """Return the intervals of the options, which replace a missing query."""
    intervals = [text(option, "value" if "value" in option else "text") for option in children(variable, "options")]
    return [interval for interval in intervals if interval]


def _text_box(variable: Members, *_: object) -> dict[str, Any]:
    return {"current": current_option(variable), "query": text(variable, "query")}


def _switch(variable: Members, *_: object) -> dict[str, Any]:
    """Return the members of a switch. Its first option is the enabled value, and its second one the disabled value."""
    options = variable.get("options")
    values = [_switch_value(option) for option in options[:2]] if isinstance(options, list) else []
    enabled_value, disabled_value = [*values, "", ""][:2]
    enabled, disabled = enabled_value or "true", disabled_value or "false"
    return {"current": _switch_value(variable.get("current")) or disabled, "enabledValue": enabled, "disabledValue": disabled}


def _switch_value(option: Any) -> str:
    return (text(option, "value") or text(option, "text")) if isinstance(option, dict) else ""


#: Kind and conversion of the variables of each classic type.
_CONVERTERS: Final[Mapping[str, tuple[str, Callable[[Members, DataSourceIndex, ElementsForm], dict[str, Any]]]]] = {
    "query": ("QueryVariable", _query),
    "datasource": ("DatasourceVariable", _data_source),
    "custom": ("CustomVariable", _custom),
    "adhoc": ("AdhocVariable", ad_hoc_variable),
    "constant": ("ConstantVariable", _constant),
    "interval": ("IntervalVariable", _interval),
    "textbox": ("TextVariable", _text_box),
    "switch": ("SwitchVariable", _switch),
    "groupby": ("GroupByVariable", group_by_variable),
}
