"""The engine compared with ``tests/reference_engine`` on random requests: graphs of all types of expressions, and of one type."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import example, given, note, settings
from tests.reference_engine.agreement import differences
from tests.reference_engine.random_requests import (
    EXPRESSION_TYPES,
    operator_pairs,
    request_text,
    requests,
    special_values_request,
    word_sequences,
)
from tests.reference_engine.requests import outcomes_of

from dashwright.expressions.queries import respond

pytestmark = pytest.mark.exhaustive

Json = Any

#: A request in which both engines report an unsuitable input before the cycle.
_CLASSIC_IN_A_CYCLE: Json = {
    "queries": [
        {
            "refId": "B",
            "type": "classic_conditions",
            "conditions": [
                {
                    "operator": {"type": "and"},
                    "query": {"params": ["C"]},
                    "reducer": {"type": "avg"},
                    "evaluator": {"type": "gt", "params": [0]},
                }
            ],
        },
        {"refId": "C", "type": "reduce", "expression": "B", "reducer": "sum"},
    ],
    "from": "1600000000000",
    "to": "1600000010000",
}

#: Factor of the number of examples, for longer runs by hand.
_EXAMPLES_FACTOR = int(os.environ.get("RANDOM_GRAPHS", "1"))


async def send_request(request: Json) -> tuple[int, Json]:
    """Return the status and body of the engine's response."""
    response = await respond(orjson.dumps(request))
    pieces = [response.body] if isinstance(response.body, bytes) else [piece async for piece in response.body]
    return int(response.headers["status"]), orjson.loads(b"".join(pieces))


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """Share one event loop among all examples."""
    with asyncio.Runner() as created:
        yield created


def compare(runner: asyncio.Runner, request: Json) -> None:
    """Raise AssertionError if the engine's response to a request differs from the reference."""
    outcomes = outcomes_of(request)
    note(request_text(request))
    status, body = runner.run(send_request(request))
    assert "results" in body, body
    assert not list(differences(request, outcomes, status, body))


@settings(max_examples=160 * _EXAMPLES_FACTOR)
@given(request=requests())
def test_a_graph_equals_the_reference(runner: asyncio.Runner, request: Json) -> None:
    """The response to a random request has the items, matches, warnings, kinds of errors and visible refIds of the reference."""
    compare(runner, request)


@example(request=_CLASSIC_IN_A_CYCLE)
@settings(max_examples=80 * _EXAMPLES_FACTOR)
@given(request=requests(stray_one_in=3))
def test_an_invalid_graph_equals_the_reference(runner: asyncio.Runner, request: Json) -> None:
    """The response equals the reference if many references are invalid: to missing refIds, in cycles, and to or from classic conditions."""
    compare(runner, request)


@pytest.mark.parametrize("type_", EXPRESSION_TYPES)
def test_each_type_equals_the_reference(runner: asyncio.Runner, type_: str) -> None:
    """The response equals the reference if all expressions of a request have the same type."""

    @settings(max_examples=50 * _EXAMPLES_FACTOR)
    @given(request=requests([type_]))
    def compare_type(request: Json) -> None:
        compare(runner, request)

    compare_type()


def test_operators_equal_the_reference(runner: asyncio.Runner) -> None:
    """For all pairs of special values, every pair of operators, with signs and functions, has the result of the reference."""
    for texts in operator_pairs():
        request = special_values_request(texts)
        status, body = runner.run(send_request(request))
        assert not list(differences(request, outcomes_of(request), status, body))


@settings(max_examples=200 * _EXAMPLES_FACTOR)
@given(request=word_sequences())
def test_math_texts_equal_the_reference(runner: asyncio.Runner, request: Json) -> None:
    """The engine rejects the same texts as the reference. For valid texts, it has the same results for all pairs of special values."""
    compare(runner, request)
