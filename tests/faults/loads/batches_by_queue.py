"""Batches of evaluations that are submitted through the queue, with a message for the result of each item."""

import random
from collections import defaultdict
from typing import Any
from uuid import uuid4

from aio_pika.abc import AbstractIncomingMessage
from tests.faults.audit import Audit
from tests.faults.loads.batch_checks import EndEvents, audit_batches, new_items
from tests.faults.loads.evaluations import result_of
from tests.faults.loads.load import Database
from tests.faults.loads.queue import Queue
from tests.faults.system import System

_PREFIX = "queued-"


class BatchesByQueue:
    """Batches of one message each, some of them delivered repeatedly. The items have no ids, so the message id identifies them."""

    name = "batches by queue"

    def __init__(self, system: System, queue: Queue, exchange: EndEvents) -> None:
        self._system = system
        self._queue = queue
        self._exchange = exchange
        self._audit = Audit(self.name)
        self._confirmed: list[str] = []
        #: Ids of the messages with the results of each item.
        self._results: dict[str, set[str]] = defaultdict(set)
        queue.receive(_PREFIX, self._take)

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
        else:
            self._audit.unknown += 1
        return is_accepted

    def _take(self, reply: AbstractIncomingMessage, body: Any) -> None:
        """Record a reply to a submission, or the result of an item. Both may be lost with the connection."""
        name = reply.correlation_id
        if "index" in body:
            self._results[f"item {body['index']} of {name}"].add(reply.message_id or "")
            if body["state"] != "success" or result_of(body["result"]) != body["index"] + 1:
                self._audit.wrong.append(f"the message about an item of {name} is {body}")
        elif body["kind"] != "BatchSubmission" or any(item["status"] == "refused" for item in body["items"]):
            self._audit.wrong.append(f"the reply to {name} is {body}")

    async def audit(self, database: Database) -> Audit:
        """Check the items of each confirmed batch, their results, and the event about its end."""
        audit = self._audit.copy()
        await audit_batches(self._system, database, self._confirmed, audit)
        await self._exchange.audit(self._confirmed, audit)
        audit.doubled += [f"{item} has the results {ids}" for item, ids in self._results.items() if len(ids) > 1]
        return audit
