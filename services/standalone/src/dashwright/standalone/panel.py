"""Extraction of one panel from a file, which contains a panel, the body of a query or a dashboard."""

from collections.abc import Iterator
from typing import Any

from dashwright.common.errors import BadRequest
from dashwright.expressions.requests.binding import is_expression

#: The data source of a saved query without a data source.
_DEFAULT_SOURCE = {"uid": "default"}


def panel_of(document: Any, selector: str | None = None) -> dict[str, Any]:
    """Return the panel whose id or title is ``selector``, with data sources in its queries and the time range of its dashboard.

    ``document`` is the JSON tree of the file. Without ``selector``, it must contain a single panel with targets. Raises BadRequest if
    no panel or several panels match.
    """
    if not isinstance(document, dict):
        raise BadRequest("the file must contain an object: a panel with targets, a query with queries, or a dashboard with panels")
    for member in ("spec", "dashboard"):
        if isinstance(document.get(member), dict):
            document = document[member]
    if "elements" in document:
        raise BadRequest("dashboards with elements are not supported; give the panel alone, as an object with targets")
    if not isinstance(document.get("panels"), list):
        return _with_data_sources(document)
    time = document.get("time")
    time_range = {key: time[key] for key in ("from", "to") if key in time} if isinstance(time, dict) else {}
    return _with_data_sources({**time_range, **_select_panel(list(_panels_with_targets(document["panels"])), selector)})


def _panels_with_targets(panels: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield the panels with targets, including those in rows."""
    for panel in panels:
        if isinstance(panel, dict):
            if panel.get("targets"):
                yield panel
            if isinstance(panel.get("panels"), list):
                yield from _panels_with_targets(panel["panels"])


def _select_panel(panels: list[dict[str, Any]], selector: str | None) -> dict[str, Any]:
    """Return the panel whose id or title is ``selector``. Raises BadRequest unless exactly one panel matches."""
    # Without a selector, every panel matches.
    matches = [panel for panel in panels if selector in (None, str(panel.get("id")), panel.get("title"))]
    if len(matches) == 1:
        return matches[0]
    subject = "the dashboard has" if selector is None else f"for {selector!r} there are"
    choices = "".join(f"\n  {panel.get('id')}  {panel.get('title', '')}" for panel in panels)
    raise BadRequest(f"{subject} {len(matches) or 'no'} panels with targets; choose one with --panel, by its id or title:{choices}")


def _with_data_sources(panel: dict[str, Any]) -> dict[str, Any]:
    """Return the panel with a data source in each of its queries. Raises BadRequest if it has neither queries nor targets."""
    default_source = panel.get("datasource") or _DEFAULT_SOURCE
    query_lists = {
        name: [_with_data_source(query, default_source) for query in panel[name]]
        for name in ("queries", "targets")
        if isinstance(panel.get(name), list)
    }
    if not query_lists:
        raise BadRequest("the file contains no panel: give an object with targets, or with queries")
    return {**panel, **query_lists}


def _with_data_source(query: Any, default_source: Any) -> Any:
    """Return the query with the default data source, unless it has a data source or is an expression."""
    if not isinstance(query, dict) or query.get("datasource") or query.get("datasourceId") is not None or is_expression(query):
        return query
    return {**query, "datasource": default_source}
