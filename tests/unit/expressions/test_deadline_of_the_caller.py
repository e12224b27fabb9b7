"""A query is evaluated no longer than its caller waits."""

from typing import Any

import orjson
import pytest
from tests.signer import SIGNER

from dashwright.common.clock import Clock
from dashwright.common.errors import DeadlineExceeded
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions import queries
from dashwright.expressions.consumer import QueryConsumer
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.memory import Reservation

BODY = orjson.dumps({"queries": [{"refId": "A", "type": "math", "expression": "1"}]})


async def record_remaining_seconds(broker: MemoryBroker, timeout: float, clock: Clock) -> list[float]:
    """Send a query with a timeout, and return the seconds that remained for it by the clock of the worker."""
    remaining_seconds: list[float] = []
    respond = queries.respond

    async def record_and_respond(
        body: bytes, context: QueryContext, settings: queries.QuerySettings, remaining: float, memory: Reservation
    ) -> Any:
        remaining_seconds.append(remaining)
        return await respond(body, context, settings, remaining, memory)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dashwright.expressions.consumer.queries.respond", record_and_respond)
        worker = QueryConsumer(broker, SIGNER, slots=1)
        worker._settings = queries.QuerySettings(clock=clock)
        client = RpcClient(broker, SIGNER)
        await worker.start()
        await client.start()
        try:
            await client.call(broker.topology.query, BODY, timeout=timeout, headers=QueryContext().headers())
        finally:
            await client.close()
            await worker.stop(drain=1)
    return remaining_seconds


async def test_the_callers_deadline_reaches_the_evaluation(broker: MemoryBroker) -> None:
    """The evaluation of a query has only the time that remains to its caller after the query waited in the queue."""
    (remaining,) = await record_remaining_seconds(broker, 7, Clock())
    assert 0 < remaining <= 7


async def test_a_query_past_its_deadline_is_not_evaluated(broker: MemoryBroker) -> None:
    """The response to a query whose deadline has passed is an error, without an evaluation."""

    class LateClock(Clock):
        """A clock that is a minute ahead, so that each query arrives after its deadline."""

        def seconds(self) -> float:
            return super().seconds() + 60

    with pytest.raises(DeadlineExceeded, match="before the query was begun"):
        await record_remaining_seconds(broker, 7, LateClock())


async def test_the_earlier_deadline_applies() -> None:
    """The error of an expired query names the earlier deadline: the caller's or that of the setting."""
    # The caller's deadline is earlier than that of the setting, which is in many seconds.
    response = await queries.respond(BODY, remaining_seconds=1e-9)
    assert response.headers["status"] == 504
    assert isinstance(response.body, bytes)
    assert b"left of the caller's deadline" in response.body
    # The deadline of the setting is earlier than the caller's.
    with pytest.raises(DeadlineExceeded, match="DASHWRIGHT_EVALUATION_SECONDS"):
        Deadline.earlier(seconds=1e-9, caller_seconds=5).check()
