"""Handlers of one subscription: each delivery runs in a task, a context and a trace of its own."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable

import structlog

from dashwright.common.messaging.broker import Handler
from dashwright.common.messaging.delivery_result import DeliveryResult, after_failure
from dashwright.common.messaging.message import Delivery
from dashwright.common.messaging.topology import Topology
from dashwright.common.observability import metrics, tracing

_log = structlog.get_logger()

Settle = Callable[[DeliveryResult], Awaitable[None]]


class Consumer:
    """Running handlers of one subscription.

    The tasks belong to it rather than to a channel: a lost channel must not cancel work that a lease protects.
    """

    def __init__(self, queue: str, handler: Handler, topology: Topology) -> None:
        self._queue = queue
        self._handler = handler
        self._topology = topology
        # The subscriber's context: in memory, a delivery would otherwise run in the context of its publisher.
        self._context = contextvars.copy_context()
        self._running: set[asyncio.Task[None]] = set()

    def take(self, delivery: Delivery, settle: Settle) -> None:
        """Start the handler. ``settle`` gets its result, unless the task is cancelled first."""
        task = asyncio.get_running_loop().create_task(self._run(delivery, settle), context=self._context.copy())
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def drain(self, seconds: float) -> None:
        """Wait up to ``seconds`` for running handlers, then cancel the remaining ones."""
        if self._running and seconds > 0:
            await asyncio.wait(self._running, timeout=seconds)
        left = [*self._running]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _run(self, delivery: Delivery, settle: Settle) -> None:
        header = delivery.message.headers.get(tracing.HEADER)
        tracing.enter(header if isinstance(header, str) else None)
        structlog.contextvars.bind_contextvars(queue=self._queue, message_id=delivery.message.message_id, delivery=delivery.attempt)
        result = await self._handle(delivery)
        metrics.messages_handled.labels(self._queue, result.label).inc()
        await settle(result)

    async def _handle(self, delivery: Delivery) -> DeliveryResult:
        try:
            return await self._handler(delivery)
        except Exception as error:  # noqa: BLE001 - the outermost loop of a message
            result = after_failure(delivery, self._topology, f"{type(error).__name__}: {error}")
            _log.exception("message_handler_failed", result=result.label)
            return result
