"""The search for expressions that depend on themselves returns the path of each cycle, and is fast for large graphs."""

import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dashwright.expressions.engine.graph import Node, cycles, plan_nodes
from dashwright.expressions.engine.math.evaluate import Math

Graph = dict[str, list[str]]

# Up to nine nodes, each with references to others. A node never refers to itself directly.
_GRAPHS = st.integers(1, 9).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, size - 1), max_size=4), min_size=size, max_size=size).map(
        lambda edges: {f"N{number}": [f"N{other}" for other in others if other != number] for number, others in enumerate(edges)}
    )
)


def reachable_from(graph: Graph, start: str) -> set[str]:
    """Return the nodes that a node reads, directly or not. The node itself is one of them if it is in a cycle."""
    reached: list[str] = list(graph[start])
    # The loop continues with the nodes that it appends.
    for node in reached:
        reached += [other for other in graph[node] if other not in reached]
    return set(reached)


@given(_GRAPHS)
def test_cycles_have_their_path(graph: Graph) -> None:
    """Each node in a cycle has a path from itself back to itself, which follows references and has no node twice in between."""
    paths = cycles(graph)
    assert paths.keys() == {node for node in graph if node in reachable_from(graph, node)}
    for node, path in paths.items():
        assert path[0] == node
        assert path[-1] == node
        assert len(set(path[1:])) == len(path) - 1
        assert all(other in graph[start] for start, other in pairwise(path))


def test_a_thousand_nodes_are_searched_in_time() -> None:
    """The search is fast for a ring, and for a graph whose nodes read all later nodes and whose last node reads the first.

    Long paths are shortened in messages.
    """
    size = 1000
    # The dense graph has half as many nodes as the ring, because it has many more references.
    dense_size = size // 2
    ring = [Node(f"N{index}", Math.parse(f"$N{(index + 1) % size}")) for index in range(size)]
    dense = {f"N{index}": [f"N{other}" for other in range(index + 1, dense_size)] for index in range(dense_size)}
    dense[f"N{dense_size - 1}"] = ["N0"]
    started = time.process_time()
    faults = plan_nodes(ring).faults
    # Each node is on a cycle, by the reference of the last node to the first.
    assert len(cycles(dense)) == dense_size
    assert time.process_time() - started < 2
    assert len(faults) == size
    assert "N0 -> N1 -> N2" in faults["N0"].message
    # The message names 20 nodes of the path, which has 1,001 nodes because N0 is also its end.
    assert "981 more" in faults["N0"].message
    assert len(faults["N0"].message) < 400
