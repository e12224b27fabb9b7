"""Classic form of variables."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashwright.common.conversion.choices import VARIABLE_HIDES, VARIABLE_REFRESHES, VARIABLE_SORTS, numbers
from dashwright.common.conversion.elements_to_classic.queries import SourceReference, classic_source, classic_variable_query, source_of
from dashwright.common.conversion.failures import ConversionFailed
from dashwright.common.conversion.parts import list_in, located, object_in, objects_in, text_in

_HIDES: Final = numbers(VARIABLE_HIDES)
_REFRESHES: Final = numbers(VARIABLE_REFRESHES)
_SORTS: Final = numbers(VARIABLE_SORTS)

_Members = Mapping[str, Any]


class _Form(NamedTuple):
    """Classic form of one kind of variable."""

    type: str
    #: Members that are always written, and their values if they are missing.
    defaults: _Members
    #: Members that are written if they are set. All kinds have a label and a description.
    optional: Sequence[str] = ()
    has_current: bool = True
    has_options: bool = True
    #: Returns the further members of a variable from its spec.
    special: Callable[[_Members], dict[str, Any]] = lambda spec: {}


def classic_variables(spec: _Members) -> list[dict[str, Any]]:
    """Return the classic variables of a spec. Raises ConversionFailed if a part has an unexpected type."""
    variables = []
    for index, variable in enumerate(objects_in(spec, "variables")):
        try:
            variables.append(_variable(variable))
        except ConversionFailed as failure:
            raise located(f"spec.variables[{index}]", failure) from failure
    return variables


def _variable(variable: _Members) -> dict[str, Any]:
    """Return a variable in its classic form. Raises ConversionFailed if its kind is unknown."""
    kind, spec = text_in(variable, "kind"), object_in(variable, "spec")
    if (form := _FORMS.get(kind)) is None:
        raise ConversionFailed(f"kind '{kind}' is unknown; use one of {', '.join(_FORMS)}")
    classic: dict[str, Any] = {
        "name": _or(spec.get("name"), ""),
        "type": form.type,
        "hide": _HIDES.get(text_in(spec, "hide"), 0),
        "skipUrlSync": _or(spec.get("skipUrlSync"), False),
    }
    for name, default in form.defaults.items():
        classic[name] = _or(spec.get(name), default)
    for name in ("label", "description", *form.optional):
        if (value := spec.get(name)) is not None:
            classic[name] = value
    if form.has_current:
        classic["current"] = _option(object_in(spec, "current"))
    if form.has_options:
        classic["options"] = _options(spec, "options")
    # Last, because a special member replaces the general one: a constant is hidden even if its spec does not hide it.
    return classic | form.special(spec)


def _option(option: _Members) -> dict[str, Any]:
    return {"text": option.get("text") or "", "value": option.get("value") or ""}


def _options(spec: _Members, name: str) -> list[dict[str, Any]]:
    """Return the classic form of the options in a member of a variable."""
    options = []
    for option in objects_in(spec, name):
        classic = _option(option)
        if (selected := option.get("selected")) is not None:
            classic["selected"] = selected
        options.append(classic)
    return options


def _refresh_member(spec: _Members) -> dict[str, Any]:
    return {"refresh": _REFRESHES.get(text_in(spec, "refresh"), 0)}


def _query(spec: _Members) -> dict[str, Any]:
    classic = {
        **_refresh_member(spec),
        "sort": _SORTS.get(text_in(spec, "sort"), 0),
        "query": classic_variable_query(spec),
        **_source(source_of(spec)),
    }
    if static_options := _options(spec, "staticOptions"):
        classic["staticOptions"] = static_options
    return classic


def _data_source(spec: _Members) -> dict[str, Any]:
    return {**_refresh_member(spec), "query": _or(spec.get("pluginId"), "")}


def _constant(spec: _Members) -> dict[str, Any]:
    del spec
    # A constant that is not hidden would become a text box when Grafana loads the dashboard.
    return {"hide": _HIDES["hideVariable"]}


def _switch(spec: _Members) -> dict[str, Any]:
    """Return the further members of a switch, whose two values become options."""
    current = _or(spec.get("current"), "")
    values = (_or(spec.get("enabledValue"), ""), _or(spec.get("disabledValue"), ""))
    return {
        "query": "",
        "current": {"text": current, "value": current},
        "options": [{"text": value, "value": value, "selected": value == current} for value in values],
    }


def _group_by(spec: _Members) -> dict[str, Any]:
    classic: dict[str, Any] = _own_source(spec)
    if spec.get("defaultValue") is not None:
        classic["defaultValue"] = _option(object_in(spec, "defaultValue"))
    return classic


def _filters(spec: _Members) -> dict[str, Any]:
    """Return the further members of an ad hoc variable."""
    classic: dict[str, Any] = _own_source(spec)
    for name in ("filters", "baseFilters"):
        if filters := objects_in(spec, name):
            classic[name] = [_filter(item) for item in filters]
    if keys := objects_in(spec, "defaultKeys"):
        classic["defaultKeys"] = [{name: value for name, value in key.items() if value is not None} for key in keys]
    return classic


def _filter(item: _Members) -> dict[str, Any]:
    classic = {name: _or(item.get(name), "") for name in ("key", "operator", "value")}
    for name in ("keyLabel", "condition", "origin"):
        if (value := item.get(name)) is not None:
            classic[name] = value
    for name in ("values", "valueLabels"):
        if values := list_in(item, name):
            classic[name] = values
    return classic


def _own_source(spec: _Members) -> dict[str, Any]:
    """Return the data source of a variable without a query. A data source without uid is not written."""
    return _source(source_of({"datasource": spec.get("datasource")}))


def _source(source: SourceReference) -> dict[str, Any]:
    classic = classic_source(source)
    return {} if classic is None else {"datasource": classic}


def _or(value: Any, default: Any) -> Any:
    """Return the value, or the default for null and for a missing value."""
    return default if value is None else value


#: Defaults of variables whose values users choose from a list.
_CHOICE: Final[_Members] = {"multi": False, "includeAll": False, "allowCustomValue": False}

_FORMS: Final[Mapping[str, _Form]] = {
    "QueryVariable": _Form(
        "query", {**_CHOICE, "regex": ""}, ("allValue", "definition", "regexApplyTo", "staticOptionsOrder"), special=_query
    ),
    "DatasourceVariable": _Form("datasource", {**_CHOICE, "regex": ""}, ("allValue",), special=_data_source),
    "CustomVariable": _Form("custom", {**_CHOICE, "query": ""}, ("allValue",)),
    "ConstantVariable": _Form("constant", {"query": ""}, has_options=False, special=_constant),
    "IntervalVariable": _Form("interval", {"query": "", "auto": False, "auto_min": "", "auto_count": 0}),
    "TextVariable": _Form("textbox", {"query": ""}, has_options=False),
    "GroupByVariable": _Form("groupby", {"multi": False}, special=_group_by),
    "AdhocVariable": _Form("adhoc", {"allowCustomValue": False}, has_current=False, has_options=False, special=_filters),
    "SwitchVariable": _Form("switch", {}, has_current=False, has_options=False, special=_switch),
}
