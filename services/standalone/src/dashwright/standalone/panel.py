"""The panel in a file: a panel alone, or one of a dashboard, in any stored form."""

from collections.abc import Iterator
from typing import Any

from dashwright.common.errors import BadRequest
from dashwright.expressions.requests.tolerance import is_expression

#: The data source of a saved query that names none.
_DEFAULT_SOURCE = {"uid": "default"}


def panel_of(document: Any, wanted: str | None = None) -> dict[str, Any]:
    """Return the panel with the id or title ``wanted``, with the data sources and time range of its dashboard.

    Raises BadRequest if there is no such panel, or several match.
    """
    if not isinstance(document, dict):
        raise BadRequest("the file must contain an object: a panel with targets, a query with queries, or a dashboard with panels")
    for wrapped in ("spec", "dashboard"):
        if isinstance(document.get(wrapped), dict):
            document = document[wrapped]
    if "elements" in document:
        raise BadRequest("dashboards with elements are not supported; give the panel alone, as an object with targets")
    if not isinstance(document.get("panels"), list):
        return _sourced(document)
    time = document.get("time")
    span = {key: time[key] for key in ("from", "to") if key in time} if isinstance(time, dict) else {}
    return _sourced({**span, **_chosen(list(_panels(document["panels"])), wanted)})


def _panels(panels: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield the panels with targets, including those in rows."""
    for panel in panels:
        if isinstance(panel, dict):
            if panel.get("targets"):
                yield panel
            if isinstance(panel.get("panels"), list):
                yield from _panels(panel["panels"])


def _chosen(panels: list[dict[str, Any]], wanted: str | None) -> dict[str, Any]:
    found = [panel for panel in panels if wanted in (None, str(panel.get("id")), panel.get("title"))]
    if len(found) == 1:
        return found[0]
    asked = "the dashboard has" if wanted is None else f"for {wanted!r} there are"
    listed = "".join(f"\n  {panel.get('id')}  {panel.get('title', '')}" for panel in panels)
    raise BadRequest(f"{asked} {len(found) or 'no'} panels with targets; choose one with --panel, by its id or title:{listed}")


def _sourced(panel: dict[str, Any]) -> dict[str, Any]:
    source = panel.get("datasource") or _DEFAULT_SOURCE
    lists = {name: [_with_source(query, source) for query in panel[name]] for name in ("queries", "targets") if _is_list(panel.get(name))}
    if not lists:
        raise BadRequest("the file contains no panel: give an object with targets, or with queries")
    return {**panel, **lists}


def _with_source(query: Any, source: Any) -> Any:
    if not isinstance(query, dict) or query.get("datasource") or query.get("datasourceId") is not None or is_expression(query):
        return query
    return {**query, "datasource": source}


def _is_list(value: Any) -> bool:
    return isinstance(value, list)
