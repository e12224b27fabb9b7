"""The graph of a request: the order of its nodes, the cycles, and the nodes that cannot run.

Every fault belongs to one node. Nodes that do not depend on a faulty node run.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter

from dashwright.common.errors import BadRequest, DashwrightError
from dashwright.expressions.engine.assertions import Assertion
from dashwright.expressions.engine.expression import Expression, TableExpression
from dashwright.expressions.engine.suggestion import suggestion

Graph = Mapping[str, Sequence[str]]  #: The inputs of each node.

#: The maximum number of refIds of a cycle that an error lists.
_MAX_PATH_STEPS = 20
#: A character that shows that a reference is a calculation and not a refId.
_CALCULATION = re.compile(r"[-+*/%()<>=!&|$]")


@dataclass(frozen=True, slots=True)
class Node:
    """A query of the request: an expression, a data source query (no expression), or an invalid query (``error``)."""

    ref_id: str
    expression: Expression | TableExpression | None = None
    error: DashwrightError | None = None
    assertion: Assertion | None = None
    inputs: tuple[str, ...] = field(init=False)  #: RefIds that the expression reads.

    def __post_init__(self) -> None:
        # Stored, because some expressions walk their tree to find their inputs.
        object.__setattr__(self, "inputs", self.expression.inputs if self.expression else ())


@dataclass(frozen=True, slots=True)
class Plan:
    """The order of a request's nodes, and their faults."""

    order: tuple[str, ...]  #: Every refId once: data source queries first, then each expression after its inputs.
    faults: dict[str, DashwrightError] = field(default_factory=dict)


def plan_nodes(nodes: Sequence[Node]) -> Plan:
    """Return the plan of nodes with distinct refIds, in request order."""
    by_ref_id = {node.ref_id: node for node in nodes}
    faults = {node.ref_id: fault for node in nodes if (fault := node.error or _input_fault(node, by_ref_id))}
    graph = {node.ref_id: _existing_inputs(node, by_ref_id) for node in nodes}
    for ref_id, path in cycles(graph).items():
        # Without inputs, the nodes of a cycle do not prevent the order of the others.
        graph[ref_id] = []
        cycle_error = BadRequest(
            f"expression '{ref_id}' is part of cyclic components: {_format_path(path)}; take one of the references out",
            message_id="sse.cycle",
        )
        # A fault of an input has priority, because it would remain if the user removed the cycle.
        faults.setdefault(ref_id, cycle_error)
    query_ref_ids = [node.ref_id for node in nodes if node.expression is None and node.error is None]
    return Plan(tuple(dict.fromkeys([*query_ref_ids, *_topological_order(graph)])), faults)


def _format_path(path: Sequence[str]) -> str:
    if len(path) <= _MAX_PATH_STEPS:
        return " -> ".join(path)
    return f"{' -> '.join(path[: _MAX_PATH_STEPS - 1])} -> ... {len(path) - _MAX_PATH_STEPS} more ... -> {path[-1]}"


def _input_fault(node: Node, nodes: dict[str, Node]) -> BadRequest | None:
    """Return the error of the first input that is missing or of an unsuitable type, or None."""
    for ref_id in node.inputs:
        if ref_id not in nodes and isinstance(node.expression, TableExpression):
            return _missing_table_error(ref_id, node, nodes)
        if ref_id not in nodes:
            return BadRequest(
                f"unable to find dependent node '{ref_id}' that expression '{node.ref_id}' reads{_advice(ref_id, nodes)}",
                message_id="sse.dependencyNotFound",
            )
        if ref_id == node.ref_id:
            return BadRequest(
                f"expression '{ref_id}' cannot reference itself. Must be query or another expression", message_id="sse.selfReference"
            )
        if fault := _type_fault(node, nodes[ref_id]):
            return fault
    return None


def _advice(ref_id: str, ref_ids: Iterable[str]) -> str:
    """Return advice about the input ``ref_id``, which is not among the request's ``ref_ids``."""
    is_calculation = not ref_id.replace(" ", "").isidentifier() and _CALCULATION.search(ref_id)
    if is_calculation:
        return "; it takes one reference such as $A: calculate in a math expression first, and read that"
    # The folded refIds are synonyms, because a short reference without ``$`` does not resemble a name with ``$``.
    references_by_folded = {name.casefold(): f"${name}" for name in ref_ids}
    return suggestion(ref_id, references_by_folded.values(), references_by_folded) or "; add it or correct the reference"


def _missing_table_error(ref_id: str, node: Node, ref_ids: Iterable[str]) -> BadRequest:
    similar = [name for name in ref_ids if name.casefold() == ref_id.casefold() and name != node.ref_id]
    advice = f"write it [{similar[0]}]: upper and lower case count" if similar else "add the query or correct the name"
    return BadRequest(
        f"failed to run sql expression [{node.ref_id}] because it selects from table (refId/query) [{ref_id}] and that table was not "
        f"found; {advice}",
        message_id="sse.sql.table_not_found",
    )


def _type_fault(node: Node, source: Node) -> BadRequest | None:
    """Return the error if the node may not read ``source`` because of the types of their expressions, or None."""
    if source.expression is None:
        return None
    if node.expression and not node.expression.is_chainable:
        return BadRequest(
            f"only data source queries may be inputs to a classic condition, {source.ref_id} is a Expression; "
            f"let '{node.ref_id}' read the query itself, or use a threshold",
            message_id="sse.classicInput",
        )
    if not source.expression.is_chainable:
        return BadRequest(
            f"classic conditions may not be the input for other expressions, but {source.ref_id} is the input for {node.ref_id}; "
            "use a threshold there",
            message_id="sse.classicOutput",
        )
    return None


def _existing_inputs(node: Node, nodes: dict[str, Node]) -> list[str]:
    return [ref_id for ref_id in node.inputs if ref_id in nodes and ref_id != node.ref_id]


def _topological_order(graph: dict[str, list[str]]) -> list[str]:
    """Return the nodes after their inputs; nodes that are ready together are in request order. Raises CycleError."""
    positions = {ref_id: position for position, ref_id in enumerate(graph)}
    sorter = TopologicalSorter(graph)
    sorter.prepare()
    order: list[str] = []
    while sorter.is_active():
        ready_nodes = sorter.get_ready()
        order.extend(sorted(ready_nodes, key=positions.__getitem__))
        sorter.done(*ready_nodes)
    return order


def cycles(graph: Graph) -> dict[str, list[str]]:
    """Return each node on a cycle, with a path from the node back to itself that visits no other node twice.

    The search takes linear time, so that no request can make it slow.
    """
    paths = {}
    reversed_graph = _reversed(graph)
    for component in _components(graph, reversed_graph):
        if len(component) > 1:
            root = next(iter(component))
            previous_nodes = _predecessors(root, graph, component)
            # A path from the root in the reversed graph is a path to the root in the graph.
            next_nodes = _predecessors(root, reversed_graph, component)
            first_step = next(node for node in graph[root] if node in component)
            paths[root] = [root, *_path_to_root(first_step, root, next_nodes)]
            paths |= {node: _cycle_of(node, root, previous_nodes, next_nodes) for node in component if node != root}
    return paths


def _reversed(graph: Graph) -> dict[str, list[str]]:
    """Return the graph in which each node has its readers instead of its inputs."""
    readers: dict[str, list[str]] = {node: [] for node in graph}
    for node, inputs in graph.items():
        for name in inputs:
            readers[name].append(node)
    return readers


def _components(graph: Graph, reversed_graph: Graph) -> Iterator[dict[str, None]]:
    """Yield the strongly connected components (Kosaraju's algorithm), each as an ordered set of nodes."""
    visited: set[str] = set()
    for start in reversed(_post_order(graph)):
        if start not in visited:
            component, queue = {start: None}, [start]
            for node in queue:
                for neighbour in reversed_graph[node]:
                    if neighbour not in visited and neighbour not in component:
                        component[neighbour] = None
                        queue.append(neighbour)
            visited |= component.keys()
            yield component


def _post_order(graph: Graph) -> list[str]:
    """Return the nodes in the order in which a depth-first search finishes them."""
    # Without recursion, because a chain of expressions may be longer than Python's stack.
    order: list[str] = []
    visited: set[str] = set()
    for start in graph:
        if start in visited:
            continue
        visited.add(start)
        stack = [(start, iter(graph[start]))]
        while stack:
            node, neighbours = stack[-1]
            unvisited = next((neighbour for neighbour in neighbours if neighbour not in visited), None)
            if unvisited is None:
                order.append(node)
                stack.pop()
            else:
                visited.add(unvisited)
                stack.append((unvisited, iter(graph[unvisited])))
    return order


def _predecessors(root: str, graph: Graph, component: Mapping[str, None]) -> dict[str, str]:
    """Return, for each node of the component but the root, the node before it on a shortest path from the root."""
    predecessors: dict[str, str] = {}
    queue = [root]
    for node in queue:
        for neighbour in graph[node]:
            if neighbour in component and neighbour not in predecessors and neighbour != root:
                predecessors[neighbour] = node
                queue.append(neighbour)
    return predecessors


def _cycle_of(node: str, root: str, previous_nodes: Mapping[str, str], next_nodes: Mapping[str, str]) -> list[str]:
    """Return a cycle through the node.

    The cycle follows the path from the node to the root, until it meets a node of the path from the root to the node. From
    there, it follows the second path to its end.
    """
    outward = _path_to_root(node, root, next_nodes)
    # The path from the root to the node, in reverse.
    reversed_return = _path_to_root(node, root, previous_nodes)
    return_positions = {path_node: position for position, path_node in enumerate(reversed_return)}
    # Position 0 is the node itself, which is on both paths.
    meeting_position = next(position for position, path_node in enumerate(outward) if position > 0 and path_node in return_positions)
    remainder = reversed_return[: return_positions[outward[meeting_position]]]
    return outward[: meeting_position + 1] + remainder[::-1]


def _path_to_root(node: str, root: str, next_nodes: Mapping[str, str]) -> list[str]:
    """Return the nodes from the node to the root, by a mapping of each node to the next one."""
    path = [node]
    while path[-1] != root:
        path.append(next_nodes[path[-1]])
    return path
