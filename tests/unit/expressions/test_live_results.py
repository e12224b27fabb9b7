"""The results of one request share one budget, and are held no longer than an expression needs them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dashwright.common.errors import TooLarge
from dashwright.expressions.engine.evaluate import evaluate
from dashwright.expressions.engine.expression import Outcome
from dashwright.expressions.engine.graph import Node
from dashwright.expressions.engine.labels import NONE
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.values import Cells, Numbers, Values

SIZE = 10 * 33
"""What ten numbers count as: themselves, and 32 points more for each."""


@dataclass(frozen=True)
class Ten:
    """Ten numbers, whatever it reads."""

    stands_alone: ClassVar[bool] = False
    inputs: tuple[str, ...] = ()

    def evaluate(self, inputs: Mapping[str, Values], limits: Limits) -> Outcome:
        return Outcome(Numbers((NONE,) * 10, Cells(np.ones(10))))


def node(ref_id: str, *inputs: str) -> Node:
    return Node(ref_id, Ten(inputs))


def test_results_that_are_there_at_once_share_a_budget() -> None:
    """The first that finds no room is an error of its refId that names the setting; what follows may fit again."""
    results = evaluate([node("A"), node("B"), node("C")], {}, Limits(request_points=2 * SIZE))
    assert isinstance(results["A"], Outcome)
    assert isinstance(results["B"], Outcome)
    refused = results["C"]
    assert isinstance(refused, TooLarge)
    assert f"hold {3 * SIZE} points at the same time" in refused.message
    assert f"more than the {2 * SIZE} allowed (setting DASHWRIGHT_REQUEST_POINTS)" in refused.message


def test_a_result_goes_with_its_last_reader_unless_it_is_kept() -> None:
    """A chain needs room for two of its links at a time, however long it is; all of it where every link is shown."""
    chain = [node("0"), *(node(str(number), str(number - 1)) for number in range(1, 20))]
    limits = Limits(request_points=2 * SIZE)
    assert evaluate(chain, {}, limits, kept={"19"}).keys() == {"19"}
    assert isinstance(evaluate(chain, {}, limits, kept={"19"})["19"], Outcome)
    assert not isinstance(evaluate(chain, {}, limits)["19"], Outcome)


def test_a_hidden_result_that_nobody_reads_takes_no_room() -> None:
    """It ran for its error only."""
    unread = [node(str(number)) for number in range(20)]
    assert evaluate(unread, {}, Limits(request_points=SIZE), kept=()) == {}


def test_what_queries_gave_counts() -> None:
    """It is held to the end."""
    given = {"A": Numbers((NONE,) * 10, Cells(np.ones(10)))}
    nodes = [Node("A"), node("B", "A")]
    assert isinstance(evaluate(nodes, given, Limits(request_points=2 * SIZE - 1))["B"], TooLarge)
    assert isinstance(evaluate(nodes, given, Limits(request_points=2 * SIZE))["B"], Outcome)
