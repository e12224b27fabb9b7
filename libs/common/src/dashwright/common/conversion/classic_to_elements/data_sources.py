"""References to data sources: type and uid, with the type looked up if only the uid is known."""

from typing import Any, Final

from dashwright.common.conversion.classic_to_elements.members import Members
from dashwright.common.conversion.context import DataSourceIndex

#: Type and uid of a data source. An empty string is an unknown type or uid.
SourceReference = tuple[str, str]

_UNKNOWN: Final[SourceReference] = ("", "")

#: Grafana's own data source. Dashboards may name it by its type only.
_BUILT_IN: Final[SourceReference] = ("datasource", "grafana")

#: Type of a query without a data source if the organization has no default data source.
_FALLBACK_TYPE: Final = "grafana"

#: The uid in panels whose queries have data sources of their own.
_MIXED_UID: Final = "-- Mixed --"


def reference_members(source: SourceReference) -> dict[str, Any]:
    """Return the member ``datasource`` of a variable, or an empty dict for a reference without a uid."""
    source_type, uid = source
    return {"datasource": {"type": source_type, "uid": uid}} if uid else {}


def default_type(index: DataSourceIndex) -> str:
    """Return the type of the default data source."""
    return index.default.type if index.default else _FALLBACK_TYPE


def panel_source(panel: Members, index: DataSourceIndex) -> SourceReference:
    """Return the data source of a panel, which its queries inherit."""
    return _with_built_in_uid(_named_source(panel, index))


def query_source(target: Members, inherited: SourceReference, index: DataSourceIndex) -> SourceReference:
    """Return the data source of a query: its own or, unless the panel mixes data sources, that of its panel."""
    named_source = _named_source(target, index)
    if named_source != _UNKNOWN:
        return _with_built_in_uid(named_source)
    panel_type, panel_uid = inherited
    if panel_uid != _MIXED_UID:
        return inherited
    # As in Grafana, the type of a mixed panel counts only if it is that of the built-in data source.
    return _BUILT_IN if panel_type == _BUILT_IN[0] else _UNKNOWN


def variable_source(variable: Members, index: DataSourceIndex) -> SourceReference:
    """Return the data source of a variable. A variable that names none has the type of the default data source."""
    source = _named_source(variable, index)
    return (default_type(index), "") if source == _UNKNOWN else source


def group_by_source(variable: Members, index: DataSourceIndex) -> SourceReference:
    """Return the data source of a group-by variable. Unlike other variables, it names Grafana's own data source by its uid, too."""
    return _with_built_in_uid(variable_source(variable, index))


def _named_source(owner: Members, index: DataSourceIndex) -> SourceReference:
    """Return the data source that an object names. A string counts only if it refers to a variable of the dashboard."""
    source = owner.get("datasource")
    if not isinstance(source, dict):
        return ("", source) if isinstance(source, str) and source.startswith("$") else _UNKNOWN
    source_type, uid = source.get("type"), source.get("uid")
    if not isinstance(source_type, str):
        source_type = ""
    if not isinstance(uid, str):
        uid = ""
    if uid and not source_type and not uid.startswith("$"):
        data_source = index.with_uid(uid)
        source_type = data_source.type if data_source else default_type(index)
    return source_type, uid


def _with_built_in_uid(source: SourceReference) -> SourceReference:
    """Return Grafana's own data source with its uid, and any other data source unchanged."""
    source_type, uid = source
    return _BUILT_IN if not uid and source_type == _BUILT_IN[0] else source
