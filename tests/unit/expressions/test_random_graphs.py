"""The engine compared with ``tests/reference_engine`` on random requests: complete graphs, and each kind alone."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import example, given, note, settings
from tests.reference_engine.agreement import differences
from tests.reference_engine.drawn_requests import KINDS, operator_pairs, readable, requests, special_values_request, word_sequences
from tests.reference_engine.requests import outcomes_of

from dashwright.expressions.queries import respond

pytestmark = pytest.mark.exhaustive

Json = Any

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
"""A request in which both engines report an unsuitable input before the cycle."""

_TIMES = int(os.environ.get("RANDOM_GRAPHS", "1"))


async def send_request(request: Json) -> tuple[int, Json]:
    response = await respond(orjson.dumps(request))
    pieces = [response.body] if isinstance(response.body, bytes) else [piece async for piece in response.body]
    return int(response.headers["status"]), orjson.loads(b"".join(pieces))


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """Share one event loop among all examples."""
    with asyncio.Runner() as created:
        yield created


def compare(runner: asyncio.Runner, request: Json) -> None:
    requested = outcomes_of(request)
    note(readable(request))
    status, body = runner.run(send_request(request))
    assert "results" in body, body
    assert not list(differences(request, requested, status, body))


@settings(max_examples=160 * _TIMES)
@given(request=requests())
def test_a_graph_equals_the_reference(runner: asyncio.Runner, request: Json) -> None:
    """Items with order, labels, times and values, matches and warnings, errors with their type, and visibility are equal."""
    compare(runner, request)


@example(request=_CLASSIC_IN_A_CYCLE)
@settings(max_examples=80 * _TIMES)
@given(request=requests(stray_one_in=3))
def test_an_invalid_graph_equals_the_reference(runner: asyncio.Runner, request: Json) -> None:
    """References may be missing, to the target itself, cyclic, and to or from classic conditions."""
    compare(runner, request)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_equals_the_reference(runner: asyncio.Runner, kind: str) -> None:
    """One to six expressions of one kind read one to three queries or, if allowed, each other."""

    @settings(max_examples=50 * _TIMES)
    @given(request=requests([kind]))
    def one_kind(request: Json) -> None:
        compare(runner, request)

    one_kind()


def test_operators_equal_the_reference(runner: asyncio.Runner) -> None:
    """All pairs of operators, signs and functions are equal for all pairs of special values."""
    for texts in operator_pairs():
        request = special_values_request(texts)
        status, body = runner.run(send_request(request))
        assert not list(differences(request, outcomes_of(request), status, body))


@settings(max_examples=200 * _TIMES)
@given(request=word_sequences())
def test_expressions_equal_the_reference(runner: asyncio.Runner, request: Json) -> None:
    """Both reject a string, or both have the same result for all pairs of special values."""
    compare(runner, request)
