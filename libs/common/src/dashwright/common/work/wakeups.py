"""Publisher of wake-ups, which notify workers that jobs are ready.

Workers also search for jobs periodically, so a lost wake-up only delays a job.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

import orjson
import structlog

from dashwright.common.errors import Unavailable
from dashwright.common.jobs.routing import Wakeup
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.message import Message

log = structlog.get_logger()

#: Header with the number of workers that passed a wake-up on.
PASSES: Final = "dashwright-passes"


class WakeupPublisher:
    """Publisher of wake-ups. While a wake-up is being published, later wake-ups with the same key are combined into one."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        #: The newest unpublished wake-up of each routing key.
        self._waiting: dict[str, Wakeup] = {}
        #: Running publications by routing key.
        self._publishing: dict[str, asyncio.Task[None]] = {}

    def publish_soon(self, wakeups: Iterable[Wakeup]) -> None:
        """Publish wake-ups in the background. Call this after the commit that made the jobs ready. Errors are only logged."""
        for wakeup in wakeups:
            self._waiting[wakeup.key] = wakeup
            if wakeup.key not in self._publishing:
                self._publishing[wakeup.key] = asyncio.create_task(self._publish_waiting(wakeup.key), name="publish-wakeup")

    async def stop(self) -> None:
        """Wait until all wake-ups are published."""
        await asyncio.gather(*self._publishing.values())

    async def _publish_waiting(self, key: str) -> None:
        """Publish wake-ups of a key until none waits."""
        try:
            while (wakeup := self._waiting.pop(key, None)) is not None:
                await self._publish(wakeup)
        except Unavailable as error:
            log.info("wakeup_not_published", routing_key=key, error=error.message)
        finally:
            del self._publishing[key]

    async def _publish(self, wakeup: Wakeup) -> None:
        body = orjson.dumps({"uid": str(wakeup.uid)})
        # Neither signed nor persistent: it only causes a search, and the workers also search without it.
        message = Message(body=body, headers={PASSES: wakeup.passes}, persistent=False)
        await self._broker.publish(self._broker.topology.jobs, wakeup.key, message)
