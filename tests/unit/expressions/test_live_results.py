"""The results of one request share a memory budget and are released once no expression needs them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dashwright.common.errors import TooLarge
from dashwright.expressions.engine.evaluate import evaluate
from dashwright.expressions.engine.expression import Outcome
from dashwright.expressions.engine.graph import Node
from dashwright.expressions.engine.labels import NO_LABELS, LabelSets
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.values import Cells, Numbers, Values

#: Cost of the result of ``TenNumbers`` in points: for each number, 1 for its value and 32 for its labels.
RESULT_POINTS = 10 * 33


@dataclass(frozen=True)
class TenNumbers:
    """An expression that returns ten numbers and reads any inputs."""

    is_chainable: ClassVar[bool] = True
    inputs: tuple[str, ...] = ()

    def evaluate(self, inputs: Mapping[str, Values], limits: Limits) -> Outcome:
        """Return ten numbers without labels."""
        return Outcome(Numbers(LabelSets.of((NO_LABELS,) * 10), Cells(np.ones(10))))


def node(ref_id: str, *inputs: str) -> Node:
    """Return a node whose result is ten numbers."""
    return Node(ref_id, TenNumbers(inputs))


def test_live_results_share_a_budget() -> None:
    """The first result above the budget is an error of its refId, which names the setting."""
    results = evaluate([node("A"), node("B"), node("C")], {}, Limits(request_points=2 * RESULT_POINTS))
    assert isinstance(results["A"], Outcome)
    assert isinstance(results["B"], Outcome)
    error = results["C"]
    assert isinstance(error, TooLarge)
    assert f"hold {3 * RESULT_POINTS} points at the same time" in error.message
    assert f"more than the {2 * RESULT_POINTS} allowed (setting DASHWRIGHT_REQUEST_POINTS)" in error.message


def test_a_result_is_released_after_its_last_reader() -> None:
    """A result is released after its last reader, so that a chain needs memory for two results only.

    Results that the request asks for are kept: by default, those of all nodes.
    """
    chain = [node("0"), *(node(str(index), str(index - 1)) for index in range(1, 20))]
    limits = Limits(request_points=2 * RESULT_POINTS)
    assert evaluate(chain, {}, limits, requested={"19"}).keys() == {"19"}
    assert isinstance(evaluate(chain, {}, limits, requested={"19"})["19"], Outcome)
    assert not isinstance(evaluate(chain, {}, limits)["19"], Outcome)


def test_an_unread_hidden_result_needs_no_memory() -> None:
    """The result of a hidden target that no expression reads is released immediately."""
    unread = [node(str(index)) for index in range(20)]
    assert evaluate(unread, {}, Limits(request_points=RESULT_POINTS), requested=()) == {}


def test_results_of_queries_count() -> None:
    """The results of queries count towards the budget until the end of the request."""
    results_of_queries = {"A": Numbers(LabelSets.of((NO_LABELS,) * 10), Cells(np.ones(10)))}
    nodes = [Node("A"), node("B", "A")]
    assert isinstance(evaluate(nodes, results_of_queries, Limits(request_points=2 * RESULT_POINTS - 1))["B"], TooLarge)
    assert isinstance(evaluate(nodes, results_of_queries, Limits(request_points=2 * RESULT_POINTS))["B"], Outcome)
