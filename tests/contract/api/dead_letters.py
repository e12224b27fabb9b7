"""Helpers of the tests of dead letters: submissions that are refused, and a count of the deliveries that were handled."""

import asyncio
from typing import Any, Final

import pytest
from tests.contract.api.conftest import Api

from dashwright.api.dead_letters.consumer import DeadLetterConsumer
from dashwright.api.repositories.queue_submissions import QueueSubmissions
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.delivery_result import DeliveryResult
from dashwright.common.messaging.message import Delivery, Message

GROUP: Final = "jobs.dashwright.io"
LETTERS: Final = f"/apis/{GROUP}/v0alpha1/namespaces/default/deadletters"
STATE: Final = f"{GROUP}/state"
#: A submission that is refused as long as there is no repository ``team``.
SYNC: Final = b'{"action": "sync", "repository": "team", "sync": {}}'
_TIMEOUT_SECONDS: Final = 20


class HandledDeliveries:
    """The number of deliveries that the consumers of one class have handled in this test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, consumer_class: type[DeadLetterConsumer | QueueSubmissions]) -> None:
        """Count the deliveries of all consumers that are started after this call."""
        self._count = 0
        self._changed = asyncio.Condition()
        handle = consumer_class.handle

        async def handle_and_count(consumer: Any, delivery: Delivery) -> DeliveryResult:
            """Handle a delivery, and count it."""
            result = await handle(consumer, delivery)
            async with self._changed:
                self._count += 1
                self._changed.notify_all()
            return result

        monkeypatch.setattr(consumer_class, "handle", handle_and_count)

    async def reach(self, count: int) -> None:
        """Wait until ``count`` deliveries are handled."""
        async with asyncio.timeout(_TIMEOUT_SECONDS), self._changed:
            await self._changed.wait_for(lambda: self._count >= count)


async def submit(broker: Broker, body: bytes = SYNC, key: str = "submit.default", **members: Any) -> None:
    """Publish a submission without ``reply_to``."""
    await broker.publish(broker.topology.jobs, key, Message(body=body, **members))


async def letters(api: Api, query: str = "", **options: Any) -> list[Any]:
    """Return the dead letters of the default namespace."""
    status, listed = await api("GET", f"{LETTERS}{query}", **options)
    assert status == 200, listed
    return list(listed["items"])
