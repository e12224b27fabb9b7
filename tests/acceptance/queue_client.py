"""A client of the job queue, which publishes submissions and reads the replies as docs/reference/queue.md describes."""

import asyncio
import json
import uuid
from types import TracebackType
from typing import Any, Self

import aio_pika
from aio_pika.abc import AbstractIncomingMessage
from tests.acceptance.client import Client
from tests.acceptance.processes import Service

EXCHANGE = "dashwright.jobs"
LETTERS = "/apis/jobs.dashwright.io/v0alpha1/namespaces/default/deadletters"
JOB_SPEC: dict[str, object] = {"action": "sync", "sync": {"incremental": False}}


class Submitter:
    """Connection to the broker, with a queue for replies."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._replies_by_id: dict[str, asyncio.Future[AbstractIncomingMessage]] = {}

    async def __aenter__(self) -> Self:
        self._connection = await aio_pika.connect(self._url)
        self.channel = await self._connection.channel(on_return_raises=True)
        self._reply_queue = await self.channel.declare_queue(exclusive=True)
        await self._reply_queue.consume(self._handle_reply, no_ack=True)
        self._exchange = await self.channel.get_exchange(EXCHANGE)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._connection.close()

    async def submit(
        self, body: object, *, namespace: str = "default", message_id: str | None = None, seconds: float = 30, **headers: str
    ) -> Any:
        """Publish a submission, and return the decoded reply to it. A body that is not bytes is sent as JSON."""
        correlation_id = uuid.uuid4().hex
        await self.publish(body, namespace=namespace, message_id=message_id, correlation_id=correlation_id, reply=True, **headers)
        return await self.response_to(correlation_id, seconds=seconds)

    async def response_to(self, correlation_id: str, *, seconds: float = 30) -> Any:
        """Wait for the reply with a correlation id, and return its decoded body."""
        async with asyncio.timeout(seconds):
            return json.loads((await self._reply_to(correlation_id)).body)

    async def publish(
        self,
        body: object,
        *,
        namespace: str = "default",
        message_id: str | None = None,
        correlation_id: str | None = None,
        reply: bool = False,
        **headers: str,
    ) -> None:
        """Publish a submission and return when the broker has confirmed it."""
        message = aio_pika.Message(
            body if isinstance(body, bytes) else json.dumps(body).encode(),
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
            message_id=message_id,
            correlation_id=correlation_id,
            reply_to=self._reply_queue.name if reply else None,
            headers=dict(headers),
        )
        await self._exchange.publish(message, routing_key=f"submit.{namespace}")

    async def _handle_reply(self, message: AbstractIncomingMessage) -> None:
        """Pass a reply to the call that waits for it, or keep it for a later call."""
        self._reply_to(message.correlation_id or "").set_result(message)

    def _reply_to(self, correlation_id: str) -> asyncio.Future[AbstractIncomingMessage]:
        """Return the future of the reply with a correlation id. The future is created by the first caller."""
        return self._replies_by_id.setdefault(correlation_id, asyncio.get_running_loop().create_future())


async def wait_for_letter(gateway: Service, client: Client, reason: str) -> Any:
    """Wait until ``gateway`` has stored a dead letter whose reason contains ``reason``, and return the letter."""
    position = 0
    while True:
        event = await gateway.event("dead_letter_stored", after=position)
        if reason in str(event["reason"]):
            return await client.call("GET", f"{LETTERS}/{event['letter']}")
        position = gateway.events.index(event, position) + 1
