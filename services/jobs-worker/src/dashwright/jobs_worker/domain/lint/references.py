"""Rules on the queries of a panel among each other: the queries that an expression names exist, are unique, and form no cycle.

The tables of a ``sql`` expression are not checked: that needs its grammar.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from dashwright.common.json_shapes import list_of, object_at, objects_of
from dashwright.common.models.data_source_types import SERVED
from dashwright.jobs_worker.domain.lint.board import EXPRESSION, Board, Target
from dashwright.jobs_worker.domain.lint.finding import Finding, in_panel, in_query

_REFERENCE: Final = re.compile(r"\$(?:\{([^}]+)\}|([A-Za-z_]\w*))")
#: Types that queries are served for, and pseudo-types that Grafana's browser code resolves itself.
_KNOWN_TYPES: Final = frozenset(
    {*(name for served in SERVED for name in served.names), "grafana", "dashboard", "datasource", "mixed", EXPRESSION}
)


def references_exist(board: Board) -> Iterator[Finding]:
    """Yield references to queries that the panel does not have."""
    variables = {variable.name for variable in board.variables}
    for panel in board.panels:
        there = {target.ref_id for target in panel.targets}
        for target in panel.targets:
            for name in sorted(set(_references(target, variables)) - there):
                yield in_query(panel, target, f"query {target.ref_id}: refers to {name}, which the panel does not have")


def references_end(board: Board) -> Iterator[Finding]:
    """Yield panels whose queries refer to each other in a cycle."""
    variables = {variable.name for variable in board.variables}
    for panel in board.panels:
        graph = {target.ref_id: _references(target, variables) for target in panel.targets}
        if cycle := _cycle(graph):
            yield in_panel(panel, f"its queries refer to each other in a cycle: {' → '.join(cycle)}")


def ref_ids_are_unique(board: Board) -> Iterator[Finding]:
    """Yield refIds that several queries of a panel share."""
    for panel in board.panels:
        for ref_id, times in Counter(target.ref_id for target in panel.targets).items():
            if ref_id and times > 1:
                yield in_panel(panel, f"{times} queries have the refId {ref_id}: give each its own")


def types_are_known(board: Board) -> Iterator[Finding]:
    """Yield queries to data sources of unknown types."""
    for panel in board.panels:
        first = {target.type: target for target in reversed(panel.targets)}
        for kind in dict.fromkeys(target.type for target in panel.targets):
            if kind and kind not in _KNOWN_TYPES and not kind.startswith("$"):
                message = f"data sources of type {kind[:80]} are not supported here: its queries will have no data"
                yield in_query(panel, first[kind], message)


def _references(target: Target, variables: set[str]) -> Sequence[str]:
    """Return the refIds that an expression names, without variables of the dashboard: those are replaced before it is evaluated."""
    if target.type != EXPRESSION:
        return []
    text = target.text("expression").strip()
    match target.query.get("type"):
        case "math":
            names = [braced or plain for braced, plain in _REFERENCE.findall(text)]
        case "reduce" | "resample" | "threshold":
            names = [text.removeprefix("$").removeprefix("{").removesuffix("}")]
        case "classic_conditions":
            names = list(_conditions(target.query))
        case _:
            names = []
    return [name for name in names if name and name not in variables and not name.startswith("__")]


def _conditions(query: Mapping[str, Any]) -> Iterator[str]:
    for condition in objects_of(query.get("conditions")):
        params = list_of(object_at(condition, "query").get("params"))
        if params and isinstance(params[0], str):
            yield params[0]


def _cycle(graph: Mapping[str, Sequence[str]]) -> Sequence[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: Sequence[str] = error.args[1]
        return found[::-1]
    return ()
