"""Execution of the handlers of a subscription. Each delivery has a task, a context and a trace of its own."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from dashwright.common.messaging.broker import Handler
from dashwright.common.messaging.delivery_result import DeliveryResult, result_of_failure
from dashwright.common.messaging.message import Delivery
from dashwright.common.messaging.topology import Topology
from dashwright.common.observability import metrics, tracing

_log = structlog.get_logger()

#: Pause before a message whose queue was full is published again.
FULL_QUEUE_PAUSE_SECONDS: Final = 1.0

#: Callback that acknowledges a delivery according to the result of its handler.
Settle = Callable[[DeliveryResult], Awaitable[None]]


class Consumer:
    """Tasks that run the handlers of one subscription.

    The tasks are independent of the channel: a lost channel must not cancel work that a lease protects.
    """

    def __init__(self, queue: str, handler: Handler, topology: Topology) -> None:
        self._queue = queue
        self._handler = handler
        self._topology = topology
        # Handlers run in the context of the subscriber. With the in-memory broker it would otherwise be that of the publisher.
        self._context = contextvars.copy_context()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, delivery: Delivery, settle: Settle) -> None:
        """Start the handler of a delivery. ``settle`` is called with its result, unless the task is cancelled first."""
        task = asyncio.get_running_loop().create_task(self._run(delivery, settle), context=self._context.copy())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self, seconds: float) -> None:
        """Wait at most ``seconds`` for running handlers, then cancel those that are still running."""
        if self._tasks and seconds > 0:
            await asyncio.wait(self._tasks, timeout=seconds)
        unfinished_tasks = [*self._tasks]
        for task in unfinished_tasks:
            task.cancel()
        await asyncio.gather(*unfinished_tasks, return_exceptions=True)

    async def _run(self, delivery: Delivery, settle: Settle) -> None:
        """Run the handler with the trace of the message, and settle the delivery."""
        header = delivery.message.headers.get(tracing.HEADER)
        tracing.enter(header if isinstance(header, str) else None)
        structlog.contextvars.bind_contextvars(queue=self._queue, message_id=delivery.message.message_id, delivery=delivery.attempt)
        result = await self._handle(delivery)
        metrics.messages_handled.labels(self._queue, result.label).inc()
        await settle(result)

    async def _handle(self, delivery: Delivery) -> DeliveryResult:
        """Return the result of the handler, or a retry or dead letter if it raises an exception."""
        try:
            return await self._handler(delivery)
        except Exception as error:  # noqa: BLE001 - the outermost loop of a message
            result = result_of_failure(delivery, self._topology, f"{type(error).__name__}: {error}")
            _log.exception("message_handler_failed", result=result.label)
            return result
