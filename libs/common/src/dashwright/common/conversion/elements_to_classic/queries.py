"""Classic form of queries and of references to data sources."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashwright.common.conversion.parts import object_in, text_in

#: Member of a query that was only a string in a classic dashboard.
_STRING_QUERY: Final = "__legacyStringValue"

#: The uid in queries that use the results of another panel of the dashboard.
_DASHBOARD_UID: Final = "-- Dashboard --"
_MIXED: Final = {"type": "mixed", "uid": "-- Mixed --"}


class SourceReference(NamedTuple):
    """Data source that a query uses."""

    uid: str  #: Empty if the query names no data source.
    type: str | None  #: None if it is not known.


def source_of(holder: Mapping[str, Any]) -> SourceReference:
    """Return the data source of the spec of a query, variable or annotation. Its type may come from the kind of the query."""
    kind = text_in(object_in(holder, "query"), "kind") or None
    source = holder.get("datasource")
    if source is None:
        return SourceReference("", kind)
    source = object_in(holder, "datasource")
    uid = text_in(source, "uid")
    if not uid or source.get("type") is None:
        return SourceReference(uid, kind)
    return SourceReference(uid, text_in(source, "type"))


def classic_source(source: SourceReference) -> dict[str, str] | None:
    """Return the classic reference to a data source, or None if neither its uid nor its type is known."""
    reference = {"uid": source.uid} if source.uid else {}
    if source.type is not None:
        reference["type"] = source.type
    return reference or None


def panel_source(sources: Sequence[SourceReference]) -> dict[str, str] | None:
    """Return the classic data source of a panel: that of all its queries, or ``mixed`` if they have different ones.

    Several queries that use results of other panels count as mixed, because these panels may have different data sources.
    """
    if not sources:
        return None
    first = sources[0]
    if len(sources) > 1 and (first.uid == _DASHBOARD_UID or any(source != first for source in sources)):
        return _MIXED
    return {"type": "datasource", "uid": _DASHBOARD_UID} if first.uid == _DASHBOARD_UID else classic_source(first)


def classic_target(spec: Mapping[str, Any], source: SourceReference) -> dict[str, Any]:
    """Return the classic form of the spec of a panel query."""
    target = {**object_in(object_in(spec, "query"), "spec"), "refId": ""}
    if _STRING_QUERY in target:
        string = target.pop(_STRING_QUERY)
        if isinstance(string, str):
            target["query"] = string
    if (reference := spec.get("refId")) is not None:
        target["refId"] = reference
    if spec.get("hidden") is True:
        target["hide"] = True
    if classic := classic_source(source):
        target["datasource"] = classic
    return target


def classic_variable_query(spec: Mapping[str, Any]) -> Any:
    """Return the classic query of the spec of a query variable: a string or an object."""
    query = object_in(object_in(spec, "query"), "spec")
    string = query.get(_STRING_QUERY)
    return string if isinstance(string, str) else query
