"""Expressions that depend on themselves: each is found, with a way that shows it, and no request makes the search slow."""

import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dashwright.expressions.engine.cycles import cycles
from dashwright.expressions.engine.graph import Node, plan
from dashwright.expressions.engine.math.evaluate import Math

Graph = dict[str, list[str]]

_GRAPHS = st.integers(1, 9).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, size - 1), max_size=4), min_size=size, max_size=size).map(
        lambda edges: {f"N{number}": [f"N{other}" for other in others if other != number] for number, others in enumerate(edges)}
    )
)


def reached(graph: Graph, start: str) -> set[str]:
    seen: list[str] = list(graph[start])
    for node in seen:
        seen += [other for other in graph[node] if other not in seen]
    return set(seen)


@given(_GRAPHS)
def test_what_reaches_itself_is_on_a_cycle_and_nothing_else(graph: Graph) -> None:
    """The way begins and ends at the node, follows the references, and meets no other node twice."""
    found = cycles(graph)
    assert found.keys() == {node for node in graph if node in reached(graph, node)}
    for node, way in found.items():
        assert (way[0], way[-1]) == (node, node)
        assert len(set(way[1:])) == len(way) - 1
        assert all(other in graph[one] for one, other in pairwise(way))


def test_a_thousand_nodes_are_no_work() -> None:
    """A ring, and a graph where every node reads all that follow and the last reads the first; long paths are shortened."""
    size = 1000
    ring = [Node(f"N{number}", Math.parsed(f"$N{(number + 1) % size}")) for number in range(size)]
    dense = {f"N{number}": [f"N{other}" for other in range(number + 1, size // 2)] for number in range(size // 2)}
    dense[f"N{size // 2 - 1}"] = ["N0"]
    started = time.process_time()
    faults = plan(ring).faults
    assert len(cycles(dense)) == size // 2
    assert time.process_time() - started < 2
    assert len(faults) == size
    assert "N0 -> N1 -> N2" in faults["N0"].message
    assert "981 more" in faults["N0"].message
    assert len(faults["N0"].message) < 400
