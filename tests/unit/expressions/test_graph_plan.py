"""The order in which the nodes of a request run, and the nodes that cannot run."""

import pytest

from dashwright.common.errors import BadRequest, SourceFailed
from dashwright.expressions.engine.evaluate import evaluate
from dashwright.expressions.engine.expression import Outcome
from dashwright.expressions.engine.graph import Node, plan_nodes
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.math.evaluate import Math
from dashwright.expressions.engine.reduce import Reduce
from dashwright.expressions.engine.values import Scalar


def math(ref_id: str, text: str) -> Node:
    return Node(ref_id, Math.parse(text))


def faults(*nodes: Node) -> dict[str, str]:
    return {ref_id: error.message for ref_id, error in plan_nodes(nodes).faults.items()}


@pytest.mark.parametrize(
    ("nodes", "order"),
    [
        ([Node("A", Reduce.of("B", "mean")), Node("B")], "BA"),
        ([math("C", "$B"), Node("B", Reduce.of("A", "last")), Node("A")], "ABC"),
        ([Node("B"), Node("A"), math("C", "$A + $B")], "BAC"),
        ([math("X", "1"), Node("B"), math("C", "$B"), Node("A")], "BAXC"),
        ([math("Z", "1"), math("Y", "2"), math("X", "$Y + $Z")], "ZYX"),
    ],
)
def test_nodes_run_after_their_inputs(nodes: list[Node], order: str) -> None:
    """Queries run first and expressions after their inputs; ties keep the request's order."""
    planned = plan_nodes(nodes)
    assert "".join(planned.order) == order
    assert not planned.faults


def test_a_cycle_is_named_with_its_path_on_each_of_its_nodes() -> None:
    """A node that only reads a cycle is not part of it, and the order contains every node."""
    nodes = [math("Z", "$Y"), math("Y", "$A"), math("A", "$B"), math("B", "$C + $D"), math("C", "$A"), math("D", "$D2"), Node("D2")]
    assert {ref_id: text.split(": ")[1].split(";")[0] for ref_id, text in faults(*nodes).items()} == {
        "A": "A -> B -> C -> A",
        "B": "B -> C -> A -> B",
        "C": "C -> A -> B -> C",
    }
    order = plan_nodes(nodes).order
    assert sorted(order) == sorted(node.ref_id for node in nodes)
    assert order.index("Y") < order.index("Z")


def test_missing_nodes_and_self_references_are_faults_of_the_reader() -> None:
    """A missing node, or a self reference, is a fault of the node that refers to it. The fault names the wrong refId."""
    assert "'B'" in faults(math("A", "$B"))["A"]
    assert "cannot reference itself" in faults(math("A", "$A + 1"))["A"]
    assert faults(Node("A")) == {}


def test_a_large_cycle_is_found_in_time_and_without_recursion() -> None:
    """A ring of hundreds of nodes is an error like any other."""
    size = 400
    ring = [math(f"N{index}", f"$N{(index + 1) % size}") for index in range(size)]
    assert len(plan_nodes(ring).faults) == size


def test_dependents_have_the_status_of_the_failed_node() -> None:
    """A failed source is an error of the source for all dependents; an unreadable target is one of the caller."""
    nodes = [Node("A"), math("B", "$A"), math("C", "$B"), Node("F", error=BadRequest("unreadable")), math("G", "$F"), math("H", "2")]
    results = evaluate(nodes, {"A": SourceFailed("gone")}, Limits())
    statuses = {ref_id: getattr(result, "status", 200) for ref_id, result in results.items()}
    assert statuses == {
        "B": 502,
        "C": 502,
        "F": 400,
        "G": 400,
        "H": 200,
    }
    assert isinstance(results["H"], Outcome)
    assert isinstance(results["H"].values, Scalar)
