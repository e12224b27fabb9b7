"""Queries of a panel with their transformations and options."""

from collections.abc import Iterator, Sequence
from itertools import count, product
from string import ascii_uppercase
from typing import Any, Final

from dashwright.common.conversion.classic_to_elements.data_sources import panel_source, query_source
from dashwright.common.conversion.classic_to_elements.matchers import matcher
from dashwright.common.conversion.classic_to_elements.members import (
    Members,
    child,
    children,
    filled_texts,
    flag,
    parsed_number,
    text,
    whole_number,
)
from dashwright.common.conversion.context import DataSourceIndex
from dashwright.common.conversion.elements_form import ElementsForm

#: Options of the queries of a panel: those that are strings, and all.
_TEXT_OPTIONS: Final = ("timeFrom", "timeShift", "interval", "cacheTimeout")
_OPTIONS: Final = frozenset({*_TEXT_OPTIONS, "maxDataPoints", "hideTimeOverride", "queryCachingTTL"})


def query_group(panel: Members, index: DataSourceIndex, form: ElementsForm) -> dict[str, Any]:
    """Return the member ``data`` of a panel."""
    queries = _queries(panel, index, form)
    transformations = [_transformation(entry, form) for entry in children(panel, "transformations")] if "transformations" in panel else []
    return {
        "kind": "QueryGroup",
        "spec": {"queries": queries, "transformations": transformations, "queryOptions": _query_options(panel)},
    }


def _queries(panel: Members, index: DataSourceIndex, form: ElementsForm) -> list[dict[str, Any]]:
    """Return the queries of a panel in their order."""
    targets = children(panel, "targets")
    if not targets:
        return []
    panel_reference = panel.get("datasource")
    inherited = panel_source(panel, index)
    converted = []
    for target, ref_id in zip(targets, _ref_ids(targets), strict=True):
        members = target.copy()
        members.pop("refId", None)
        spec: dict[str, Any] = {"refId": ref_id, "hidden": members.pop("hide", None) is True}
        # Most queries name the data source of their panel, which is already known.
        is_inherited = members.pop("datasource", None) == panel_reference
        source_type, uid = inherited if is_inherited else query_source(target, inherited, index)
        form.put_query(spec, source_type, uid, members)
        converted.append({"kind": "PanelQuery", "spec": spec})
    return converted


def _ref_ids(targets: Sequence[Members]) -> list[str]:
    """Return the refId of each query. A query without one gets the first of A … Z, AA, AB … that no other query has."""
    ref_ids = [text(target, "refId") for target in targets]
    if all(ref_ids):
        return ref_ids
    used = set(ref_ids)
    free = (letters for letters in _letters() if letters not in used)
    return [ref_id or next(free) for ref_id in ref_ids]


def _letters() -> Iterator[str]:
    """Yield A … Z, AA, AB … without end."""
    for length in count(1):
        for letters in product(ascii_uppercase, repeat=length):
            yield "".join(letters)


def _transformation(entry: Members, form: ElementsForm) -> dict[str, Any]:
    spec: dict[str, Any] = {"options": entry.get("options")}
    if flag(entry, "disabled"):
        spec["disabled"] = True
    if (frames := child(entry, "filter")) is not None:
        spec["filter"] = matcher(frames)
    return form.transformation(text(entry, "id"), spec)


def _query_options(panel: Members) -> dict[str, Any]:
    """Return the valid options of the queries of a panel."""
    if _OPTIONS.isdisjoint(panel):
        return {}
    options: dict[str, Any] = filled_texts(panel, *_TEXT_OPTIONS)
    if (points := whole_number(panel, "maxDataPoints")) > 0:
        options["maxDataPoints"] = points
    if flag(panel, "hideTimeOverride"):
        options["hideTimeOverride"] = True
    if (milliseconds := parsed_number(panel.get("queryCachingTTL"))) is not None:
        options["queryCachingTTL"] = milliseconds
    return options
