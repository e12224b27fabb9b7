"""Batches of evaluations that are submitted through the queue, with a message for the result of each item."""

import asyncio
import random
from collections import defaultdict
from contextlib import suppress
from typing import Any
from uuid import uuid4

from aio_pika.abc import AbstractIncomingMessage
from tests.faults.audit import Audit
from tests.faults.loads.batch_checks import ITEMS, EndEvents, audit_batches, new_items
from tests.faults.loads.evaluations import result_of
from tests.faults.loads.load import Database
from tests.faults.loads.queue import QueueSubmitter
from tests.faults.system import System

_PREFIX = "queued-"
#: A client begins the next batch when the results of the last one have arrived, or after this time: the broker accepts messages faster
#: than slow processes run their items.
_RESULT_SECONDS = 10.0


class BatchesByQueue:
    """Batches of one message each, some of them delivered repeatedly. The items have no ids, so the message id identifies them."""

    name = "batches by queue"

    def __init__(self, system: System, queue: QueueSubmitter, exchange: EndEvents) -> None:
        self._system = system
        self._queue = queue
        self._exchange = exchange
        self._audit = Audit(self.name)
        #: Names of the batches whose message the broker has confirmed.
        self._confirmed: list[str] = []
        #: Ids of the messages with the results of items, by batch and index.
        self._results: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._has_result = asyncio.Condition()
        queue.receive(_PREFIX, self._receive_reply)

    async def prepare(self) -> None:
        """Declare the queue of the events."""
        await self._exchange.declare()

    async def run(self) -> bool:
        """Publish the items of a batch once or twice. The message also closes the batch."""
        name = f"{_PREFIX}{uuid4().hex}"
        headers = {"dashwright-batch": name, "dashwright-close": True, "dashwright-item-results": True}
        is_accepted = False
        for _ in range(2 if random.random() < 0.2 else 1):
            is_accepted |= await self._queue.publish(name, new_items(), headers=headers)
        if is_accepted:
            self._confirmed.append(name)
            self._audit.accepted += 1
            await self._wait_for_results(name)
        else:
            self._audit.unknown += 1
        return is_accepted

    async def _wait_for_results(self, name: str) -> None:
        """Wait until all items of a batch have a result, for a limited time."""
        with suppress(TimeoutError):  # results may be lost with the connection
            async with asyncio.timeout(_RESULT_SECONDS), self._has_result:
                await self._has_result.wait_for(lambda: len(self._results[name]) == ITEMS)

    async def _receive_reply(self, reply: AbstractIncomingMessage, body: Any) -> None:
        """Record a reply to a submission, or the result of an item. Both may be lost with the connection."""
        name = reply.correlation_id
        if "index" in body:
            async with self._has_result:
                self._results[name or ""][body["index"]].add(reply.message_id or "")
                self._has_result.notify_all()
            if body["state"] != "success" or result_of(body["result"]) != body["index"] + 1:
                self._audit.wrong.append(f"the message about an item of {name} is {body}")
        elif body["kind"] != "BatchSubmission" or any(item["status"] == "refused" for item in body["items"]):
            self._audit.wrong.append(f"the reply to {name} is {body}")

    async def audit(self, database: Database) -> Audit:
        """Check the items of each confirmed batch, their results, and the event about its end."""
        audit = self._audit.copy()
        await audit_batches(self._system, database, self._confirmed, audit)
        await self._exchange.audit(self._confirmed, audit)
        audit.doubled += [
            f"item {index} of {name} has the results {ids}"
            for name, results in self._results.items()
            for index, ids in results.items()
            if len(ids) > 1
        ]
        return audit
