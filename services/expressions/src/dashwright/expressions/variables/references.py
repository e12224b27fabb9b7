"""References of panels, targets and variables to data sources, resolved with the values of variables."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.models.data_source_types import POSTGRESQL, PROMETHEUS, TESTDATA
from dashwright.expressions.sources.catalog import PLACEHOLDER, Catalog, canonical_type, names_of
from dashwright.expressions.variables.formats import DEFAULT
from dashwright.expressions.variables.scope import Scope, names_in
from dashwright.expressions.variables.values import Value

MIXED: Final = "-- Mixed --"
DASHBOARD: Final = "-- Dashboard --"
GRAFANA: Final = "-- Grafana --"
#: The uid of the data source ``-- Grafana --`` in references that are objects.
_GRAFANA_UIDS: Final = frozenset({GRAFANA, "grafana"})

#: By type of data source: the member of a target that contains its query, and the format of variables in it.
_QUERY_MEMBERS: Final[Mapping[str, tuple[str, str]]] = {PROMETHEUS.id: ("expr", ":prometheus"), POSTGRESQL.id: ("rawSql", ":sql")}


def query_format(source_type: str) -> str:
    """Return the format of variables in queries to a type of data source."""
    return _QUERY_MEMBERS.get(canonical_type(source_type), ("", DEFAULT))[1]


def query_member(source_type: str) -> str:
    """Return the member of a target that contains its query; empty for other types of data sources."""
    return _QUERY_MEMBERS.get(canonical_type(source_type), ("", ""))[0]


def parts_of(reference: Any, scope: Scope) -> tuple[str, str]:
    """Return the uid or name, and the type, that a reference has after interpolation."""
    uid, source_type = (reference.get("uid"), reference.get("type")) if isinstance(reference, dict) else (reference, None)
    return _first(uid, scope), _first(source_type, scope)


def means_grafana(reference: Any, scope: Scope) -> bool:
    """Return whether a reference means ``-- Grafana --``, which has no stored record."""
    return parts_of(reference, scope)[0] in _GRAFANA_UIDS


def resolve_reference(reference: Any, catalog: Catalog, scope: Scope) -> dict[str, str] | str:
    """Return the type and uid of the data source that a reference means, or the problem if it means no data source."""
    uid, source_type = parts_of(reference, scope)
    if canonical_type(source_type) == TESTDATA.id and not catalog.find(uid):
        return {"type": source_type, "uid": uid}
    if uid in _GRAFANA_UIDS and not catalog.find(uid):
        return f"the data source {GRAFANA} is not supported"
    entry = catalog.resolve(uid, source_type)
    if entry is None:
        return _problem(reference, uid, source_type, catalog, scope)
    return {"type": entry.type, "uid": entry.uid}


def _first(value: Any, scope: Scope) -> str:
    """Return a string after interpolation; the first value of a variable with several."""
    if not isinstance(value, str):
        return ""
    referenced = {name: scope.values[name] for name in names_in(value) if name in scope.values}
    firsts = {name: Value.of(item.source_uid or item.first) for name, item in referenced.items() if item.is_list or item.source_uid}
    return scope.with_values(firsts).interpolate(value, "raw").strip()


def _problem(reference: Any, uid: str, source_type: str, catalog: Catalog, scope: Scope) -> str:
    """Return why a reference means no data source. It names the variables with their values, and the data sources there are."""
    written = reference.get("uid") if isinstance(reference, dict) else reference
    of_type = f" of the type {source_type!r:.60}" if source_type else ""
    existing = names_of(catalog.of_type(source_type) if source_type else catalog.entries)
    origin = ""
    if isinstance(written, str) and PLACEHOLDER.search(written):
        values = [f"${name} is {value.description}" for name in names_in(written) if (value := scope.values.get(name))]
        origin = f" ({written[:60]}; {', '.join(values) or 'the dashboard does not define it'})"
    if not uid or uid in ("default", "null"):
        return f"there is no default data source{of_type} that you may query{origin}; set isDefault, or name a data source"
    return f"there is no data source {uid!r:.60}{of_type}{origin}; there are: {existing}"
