"""Rules on references between the queries of a panel: the queries that an expression names exist, are unique, and form no cycle.

The tables of a ``sql`` expression are not checked: that needs its grammar.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from dashwright.common.json_shapes import list_of, object_at, objects_of
from dashwright.common.models.data_source_types import SUPPORTED_TYPES
from dashwright.jobs_worker.domain.lint.board import EXPRESSION, Board, Target
from dashwright.jobs_worker.domain.lint.finding import Finding, panel_finding, query_finding

_REFERENCE: Final = re.compile(r"\$(?:\{([^}]+)\}|([A-Za-z_]\w*))")
"""A reference to a query in a ``math`` expression: ``${name}`` or ``$name``."""

_MAX_QUOTED_CHARACTERS: Final = 80
"""Limit on the characters of a type that a message quotes."""

# Types that the server can query, and pseudo-types that Grafana's browser code resolves itself.
_KNOWN_TYPES: Final = frozenset(
    {
        *(name for supported_type in SUPPORTED_TYPES for name in supported_type.names),
        "grafana",
        "dashboard",
        "datasource",
        "mixed",
        EXPRESSION,
    }
)


def references_exist(board: Board) -> Iterator[Finding]:
    """Yield a finding for each reference to a query that the panel does not have."""
    variable_names = {variable.name for variable in board.variables}
    for panel in board.panels:
        ref_ids = {target.ref_id for target in panel.targets}
        for target in panel.targets:
            for name in sorted(set(_references(target, variable_names)) - ref_ids):
                yield query_finding(panel, target, f"query {target.ref_id}: refers to {name}, which the panel does not have")


def references_have_no_cycle(board: Board) -> Iterator[Finding]:
    """Yield a finding for each panel whose queries refer to each other in a cycle."""
    variable_names = {variable.name for variable in board.variables}
    for panel in board.panels:
        graph = {target.ref_id: _references(target, variable_names) for target in panel.targets}
        if cycle := _cycle(graph):
            yield panel_finding(panel, f"its queries refer to each other in a cycle: {' → '.join(cycle)}")


def ref_ids_are_unique(board: Board) -> Iterator[Finding]:
    """Yield a finding for each refId that several queries of a panel share."""
    for panel in board.panels:
        for ref_id, count in Counter(target.ref_id for target in panel.targets).items():
            if ref_id and count > 1:
                yield panel_finding(panel, f"{count} queries have the refId {ref_id}: give each its own")


def types_are_known(board: Board) -> Iterator[Finding]:
    """Yield a finding for each unknown type of data source that a panel queries."""
    for panel in board.panels:
        # From the last to the first: of the targets with one type, a dictionary keeps the one that it gets last.
        first_targets = {target.type: target for target in reversed(panel.targets)}
        for source_type in dict.fromkeys(target.type for target in panel.targets):
            if source_type and source_type not in _KNOWN_TYPES and not source_type.startswith("$"):
                message = (
                    f"data sources of type {source_type[:_MAX_QUOTED_CHARACTERS]} are not supported here: its queries will have no data"
                )
                yield query_finding(panel, first_targets[source_type], message)


def _references(target: Target, variable_names: set[str]) -> Sequence[str]:
    """Return the refIds that an expression names, without the names of variables, which are replaced before the evaluation."""
    if target.type != EXPRESSION:
        return []
    expression = target.string("expression").strip()
    match target.query.get("type"):
        case "math":
            names = [braced or plain for braced, plain in _REFERENCE.findall(expression)]
        case "reduce" | "resample" | "threshold":
            # The name may be written as A, $A or ${A}.
            names = [expression.removeprefix("$").removeprefix("{").removesuffix("}")]
        case "classic_conditions":
            names = list(_condition_ref_ids(target.query))
        case _:
            names = []
    return [name for name in names if name and name not in variable_names and not name.startswith("__")]


def _condition_ref_ids(query: Mapping[str, Any]) -> Iterator[str]:
    """Yield the refIds in classic conditions: the first parameter of the query of each condition."""
    for condition in objects_of(query.get("conditions")):
        params = list_of(object_at(condition, "query").get("params"))
        if params and isinstance(params[0], str):
            yield params[0]


def _cycle(graph: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the refIds of a cycle, each before the one that it refers to and the first again at the end; empty without a cycle.

    ``graph`` has the refIds that each query refers to, by its own refId.
    """
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        # graphlib lists each node before the node that refers to it.
        cycle: Sequence[str] = error.args[1]
        return cycle[::-1]
    return ()
