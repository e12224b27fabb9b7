"""The plan of a request has the order in which its nodes run, and the faults of nodes that cannot run."""

import pytest

from dashwright.common.errors import BadRequest, SourceFailed
from dashwright.expressions.engine.evaluate import evaluate
from dashwright.expressions.engine.expression import Outcome
from dashwright.expressions.engine.graph import Node, plan_nodes
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.math.evaluate import Math
from dashwright.expressions.engine.reduce import Reduce
from dashwright.expressions.engine.values import Scalar


def math_node(ref_id: str, text: str) -> Node:
    """Return the node of a math expression."""
    return Node(ref_id, Math.parse(text))


def faults(*nodes: Node) -> dict[str, str]:
    """Return the message of each node that cannot run, by refId."""
    return {ref_id: error.message for ref_id, error in plan_nodes(nodes).faults.items()}


@pytest.mark.parametrize(
    ("nodes", "order"),
    [
        ([Node("A", Reduce.of("B", "mean")), Node("B")], "BA"),
        ([math_node("C", "$B"), Node("B", Reduce.of("A", "last")), Node("A")], "ABC"),
        ([Node("B"), Node("A"), math_node("C", "$A + $B")], "BAC"),
        ([math_node("X", "1"), Node("B"), math_node("C", "$B"), Node("A")], "BAXC"),
        ([math_node("Z", "1"), math_node("Y", "2"), math_node("X", "$Y + $Z")], "ZYX"),
    ],
)
def test_nodes_run_after_their_inputs(nodes: list[Node], order: str) -> None:
    """Queries run before expressions, and expressions after their inputs. Otherwise, the order of the request is kept."""
    planned = plan_nodes(nodes)
    assert "".join(planned.order) == order
    assert not planned.faults


def test_each_node_of_a_cycle_has_an_error_with_its_path() -> None:
    """Each node of a cycle has an error with the path of the cycle. Nodes that only read the cycle have no error.

    The order contains every node.
    """
    nodes = [
        math_node("Z", "$Y"),
        math_node("Y", "$A"),
        math_node("A", "$B"),
        math_node("B", "$C + $D"),
        math_node("C", "$A"),
        math_node("D", "$D2"),
        Node("D2"),
    ]
    messages = faults(*nodes)
    assert messages.keys() == {"A", "B", "C"}
    assert ": A -> B -> C -> A;" in messages["A"]
    assert ": B -> C -> A -> B;" in messages["B"]
    assert ": C -> A -> B -> C;" in messages["C"]
    order = plan_nodes(nodes).order
    assert sorted(order) == sorted(node.ref_id for node in nodes)
    assert order.index("Y") < order.index("Z")


def test_missing_nodes_and_self_references_are_faults_of_the_reader() -> None:
    """A missing node, or a self reference, is a fault of the node that refers to it. The fault names the refId."""
    assert "'B'" in faults(math_node("A", "$B"))["A"]
    assert "cannot reference itself" in faults(math_node("A", "$A + 1"))["A"]
    assert faults(Node("A")) == {}


def test_a_large_cycle_is_found_without_recursion() -> None:
    """Each node of a ring of hundreds of nodes has its error, without a RecursionError."""
    size = 400
    ring = [math_node(f"N{index}", f"$N{(index + 1) % size}") for index in range(size)]
    assert len(plan_nodes(ring).faults) == size


def test_dependents_have_the_status_of_the_failed_node() -> None:
    """All dependents of a failed query have its status 502. An invalid target and its dependents have the status 400."""
    nodes = [
        Node("A"),
        math_node("B", "$A"),
        math_node("C", "$B"),
        Node("F", error=BadRequest("invalid target")),
        math_node("G", "$F"),
        math_node("H", "2"),
    ]
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
