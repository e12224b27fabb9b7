"""Schema of variables."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.conversion.choices import VARIABLE_HIDES, VARIABLE_REFRESHES, VARIABLE_SORTS
from dashwright.common.conversion.elements_schema.checks import (
    Check,
    Findings,
    Path,
    any_of,
    anything,
    flag,
    integer,
    kinded,
    list_of,
    map_of,
    one_of,
    one_of_or_empty,
    record,
    text,
    texts,
    tree,
)

_OPTION: Final = record({}, {"selected": flag, "text": texts, "value": texts, "properties": map_of(text)})
_OPTIONS: Final = list_of(_OPTION)
_REFRESH: Final = one_of_or_empty(*VARIABLE_REFRESHES)
_FILTER: Final = record(
    {"key": text, "operator": text, "value": text},
    {
        "values": list_of(text),
        "keyLabel": text,
        "valueLabels": list_of(text),
        "forceEdit": flag,
        "origin": one_of("dashboard"),
        "condition": text,
    },
)
_KEY: Final = record({"text": text}, {"value": anything, "group": text, "expandable": flag})

_COMMON: Final[Mapping[str, Check]] = {
    "name": text,
    "label": text,
    "hide": one_of_or_empty(*VARIABLE_HIDES, "inControlsMenu"),
    "skipUrlSync": flag,
    "description": text,
    "origin": tree,
}
#: Members of variables with a current value.
_CURRENT: Final[Mapping[str, Check]] = {**_COMMON, "current": _OPTION}
#: Members of variables whose values users choose from a list.
_CHOICE: Final[Mapping[str, Check]] = {
    **_CURRENT,
    "options": _OPTIONS,
    "multi": flag,
    "includeAll": flag,
    "allValue": text,
    "allowCustomValue": flag,
}


def variables_check(*, query: Check, query_members: Mapping[str, Check], source: Check | None) -> Check:
    """Return the check of a list of variables with different names.

    ``query_members`` are the members of a query variable next to its query. ``source`` is the check of the data
    source in the spec of an ad hoc or group-by variable. It is None for versions that have the data source next to the spec.
    """
    source_member: Mapping[str, Check] = {"datasource": source} if source else {}
    outer_members: Mapping[str, Check] = {} if source else {"labels": map_of(text), "datasource": record({}, {"name": text})}
    specs: Mapping[str, Check] = {
        "QueryVariable": record(
            {},
            {
                **_CHOICE,
                "query": query,
                "refresh": _REFRESH,
                "regex": text,
                "regexApplyTo": one_of("value", "text"),
                "sort": one_of_or_empty(*VARIABLE_SORTS),
                "definition": text,
                "placeholder": text,
                "staticOptions": _OPTIONS,
                "staticOptionsOrder": one_of("before", "after", "sorted"),
                **query_members,
            },
        ),
        "TextVariable": record({}, {**_CURRENT, "query": text}),
        "ConstantVariable": record({}, {**_CURRENT, "query": text}),
        "DatasourceVariable": record({}, {**_CHOICE, "pluginId": text, "refresh": _REFRESH, "regex": text}),
        "IntervalVariable": record(
            {},
            {
                **_CURRENT,
                "query": text,
                "options": _OPTIONS,
                "auto": flag,
                "auto_min": text,
                "auto_count": integer,
                # Grafana reads any value here, and writes one that its schema does not have.
                "refresh": text,
            },
        ),
        "CustomVariable": record({}, {**_CHOICE, "query": text, "valuesFormat": one_of("csv", "json")}),
        "SwitchVariable": record({}, {**_COMMON, "current": text, "enabledValue": text, "disabledValue": text}),
    }
    filter_specs: Mapping[str, Check] = {
        "GroupByVariable": record({}, {**_CURRENT, **source_member, "defaultValue": _OPTION, "options": _OPTIONS, "multi": flag}),
        "AdhocVariable": record(
            {},
            {
                **_COMMON,
                **source_member,
                "baseFilters": list_of(_FILTER),
                "filters": list_of(_FILTER),
                "defaultKeys": list_of(_KEY),
                "allowCustomValue": flag,
                "enableGroupBy": flag,
            },
        ),
    }
    group: Mapping[str, Check] = {} if source else {"group": text}
    checks = {kind: kinded(spec) for kind, spec in specs.items()} | {
        kind: record({"kind": text, "spec": spec, **group}, outer_members) for kind, spec in filter_specs.items()
    }
    return _different_names(list_of(any_of("kind", checks)))


def _different_names(variables: Check) -> Check:
    """Return a check of a list of variables that also adds a fault for each repeated name."""

    def check(value: Any, path: Path, findings: Findings) -> None:
        variables(value, path, findings)
        names = set[str]()
        for index, variable in enumerate(value if isinstance(value, list) else ()):
            spec = variable.get("spec") if isinstance(variable, dict) else None
            name = spec.get("name") if isinstance(spec, dict) else None
            if isinstance(name, str) and name:
                if name in names:
                    findings.duplicate((((path, index), "spec"), "name"), name)
                names.add(name)

    return check
