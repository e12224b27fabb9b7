"""The graph of a request: the order of its nodes, and the nodes that cannot run.

A fault belongs to its node. Nothing here refuses the request as a whole.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter

from dashwright.common.errors import BadRequest, DashwrightError
from dashwright.expressions.engine.assertions import Assertion
from dashwright.expressions.engine.cycles import cycles
from dashwright.expressions.engine.expression import Expression, TableExpression
from dashwright.expressions.engine.suggestion import suggestion

_SHOWN_STEPS = 20
_CALCULATION = re.compile(r"[-+*/%()<>=!&|$]")


@dataclass(frozen=True, slots=True)
class Node:
    """A query of the request: an expression, an ordinary query (no expression), or an unreadable query (``fault``)."""

    ref_id: str
    expression: Expression | TableExpression | None = None
    fault: DashwrightError | None = None
    assertion: Assertion | None = None
    inputs: tuple[str, ...] = field(init=False)  #: RefIds that the expression reads.

    def __post_init__(self) -> None:
        # Stored, because some types of expressions walk their whole tree to find their inputs.
        object.__setattr__(self, "inputs", self.expression.inputs if self.expression else ())


@dataclass(frozen=True, slots=True)
class Plan:
    """The order of a request's nodes, and their faults."""

    order: tuple[str, ...]  #: Every refId once: ordinary queries first, then each expression after its inputs.
    faults: dict[str, DashwrightError] = field(default_factory=dict)


def plan(nodes: Sequence[Node]) -> Plan:
    """Return the plan of nodes with distinct refIds, in request order."""
    by_ref_id = {node.ref_id: node for node in nodes}
    faults = {node.ref_id: fault for node in nodes if (fault := node.fault or _wrong_input(node, by_ref_id))}
    graph = {node.ref_id: _edges(node, by_ref_id) for node in nodes}
    for ref_id, path in cycles(graph).items():
        graph[ref_id] = []
        cyclic = BadRequest(
            f"expression '{ref_id}' is part of cyclic components: {_path_text(path)}; take one of the references out",
            message_id="sse.cycle",
        )
        # An unsuitable input is the better message: it would remain without the cycle.
        faults.setdefault(ref_id, cyclic)
    sources = [node.ref_id for node in nodes if node.expression is None and node.fault is None]
    return Plan(tuple(dict.fromkeys([*sources, *_sorted(graph)])), faults)


def _path_text(path: Sequence[str]) -> str:
    if len(path) <= _SHOWN_STEPS:
        return " -> ".join(path)
    return f"{' -> '.join(path[: _SHOWN_STEPS - 1])} -> ... {len(path) - _SHOWN_STEPS} more ... -> {path[-1]}"


def _wrong_input(node: Node, known: dict[str, Node]) -> BadRequest | None:
    """Return the error of the first input that the node cannot have, or None."""
    for ref_id in node.inputs:
        if ref_id not in known and isinstance(node.expression, TableExpression):
            return _no_table(ref_id, node, known)
        if ref_id not in known:
            return BadRequest(
                f"unable to find dependent node '{ref_id}' that expression '{node.ref_id}' reads{_advice(ref_id, known)}",
                message_id="sse.dependencyNotFound",
            )
        if ref_id == node.ref_id:
            return BadRequest(
                f"expression '{ref_id}' cannot reference itself. Must be query or another expression", message_id="sse.selfReference"
            )
        if fault := _unsuited(node, known[ref_id]):
            return fault
    return None


def _advice(ref_id: str, known: Iterable[str]) -> str:
    if not ref_id.replace(" ", "").isidentifier() and _CALCULATION.search(ref_id):
        return "; it takes one reference such as $A: calculate in a math expression first, and read that"
    return suggestion(ref_id, [f"${name}" for name in known], {name.casefold(): f"${name}" for name in known}) or (
        "; add it or correct the reference"
    )


def _no_table(ref_id: str, node: Node, known: Iterable[str]) -> BadRequest:
    alike = [name for name in known if name.casefold() == ref_id.casefold() and name != node.ref_id]
    advice = f"write it [{alike[0]}]: upper and lower case count" if alike else "add the query or correct the name"
    return BadRequest(
        f"failed to run sql expression [{node.ref_id}] because it selects from table (refId/query) [{ref_id}] and that table was not "
        f"found; {advice}",
        message_id="sse.sql.table_not_found",
    )


def _unsuited(node: Node, source: Node) -> BadRequest | None:
    if source.expression is None:
        return None
    if node.expression and node.expression.stands_alone:
        return BadRequest(
            f"only data source queries may be inputs to a classic condition, {source.ref_id} is a Expression; "
            f"let '{node.ref_id}' read the query itself, or use a threshold",
            message_id="sse.classicInput",
        )
    if source.expression.stands_alone:
        return BadRequest(
            f"classic conditions may not be the input for other expressions, but {source.ref_id} is the input for {node.ref_id}; "
            "use a threshold there",
            message_id="sse.classicOutput",
        )
    return None


def _edges(node: Node, known: dict[str, Node]) -> list[str]:
    return [ref_id for ref_id in node.inputs if ref_id in known and ref_id != node.ref_id]


def _sorted(graph: dict[str, list[str]]) -> list[str]:
    """Return the topological order, ties by request order. Raises CycleError."""
    place = {ref_id: number for number, ref_id in enumerate(graph)}
    sorter = TopologicalSorter(graph)
    sorter.prepare()
    order: list[str] = []
    while sorter.is_active():
        ready = sorter.get_ready()
        order.extend(sorted(ready, key=place.__getitem__))
        sorter.done(*ready)
    return order
