"""Batches of evaluations, whose items are uploaded over HTTP, and the notifications of their ends."""

import asyncio
import json
from collections import defaultdict
from contextlib import suppress
from typing import Any
from uuid import uuid4

import aio_pika
from tests.acceptance.polling import until
from tests.faults.audit import Audit
from tests.faults.loads.evaluations import evaluation_spec, result_of
from tests.faults.loads.load import Database
from tests.faults.system import System

BATCHES = "/apis/jobs.dashwright.io/v0alpha1/namespaces/default/batches"

_QUEUE = "notify.default.walk"
_ITEMS = 8
_LABEL = "jobs.dashwright.io/batch"
#: Batches that have not ended, and notifications that have not arrived, after this time without faults are stuck.
_END_SECONDS = 120.0
#: Requests for one step of a batch, before its result is unknown.
_ATTEMPTS = 20


class Batches:
    """Batches that are created, filled and closed. Each request is repeated until a gateway responds."""

    name = "batches"

    def __init__(self, system: System) -> None:
        self._system = system
        self._audit = Audit(self.name)
        #: Names of the batches that were closed, so that they must end and their receiver must be notified.
        self._closed: list[str] = []
        #: The ids of the received events by batch.
        self._events: dict[str, set[str]] = defaultdict(set)

    async def prepare(self) -> None:
        """Declare the queue of the notifications."""
        async with await aio_pika.connect(self._system.amqp_url) as connection:
            channel = await connection.channel()
            await channel.declare_queue(_QUEUE, durable=True)

    async def run(self) -> bool:
        """Create a batch, upload its items and close it."""
        name = f"batch-{uuid4().hex}"
        body = {"metadata": {"name": name}, "spec": {"notify": {"queue": _QUEUE}}}
        lines = (json.dumps({"id": str(n), "kind": "Evaluation", "spec": evaluation_spec(n)}) for n in range(_ITEMS))
        path = f"{BATCHES}/{name}"
        ndjson = {"data": "\n".join(lines), "headers": {"Content-Type": "application/x-ndjson"}}
        for address, options in ((BATCHES, {"json": body}), (f"{path}/items", ndjson), (f"{path}/close", {})):
            if not await self._send(address, **options):
                return False
        self._closed.append(name)
        self._audit.accepted += 1
        return True

    async def _send(self, path: str, **options: Any) -> bool:
        """Send a request until it is accepted, and return whether it was."""
        for attempt in range(_ATTEMPTS):
            response = await self._system.request("POST", path, **options)
            if response is None:
                continue
            is_refused = isinstance(response.body, str) and '"refused"' in response.body
            if (response.is_accepted and not is_refused) or (attempt and response.status == 409):
                return True
            if response.status == 429:
                self._audit.refused += 1
            else:
                self._audit.wrong.append(f"{path}: {response}")
            return False
        self._audit.unknown += 1
        return False

    async def audit(self, database: Database) -> Audit:
        """Check the items of each batch, their results, and the notification of its end."""
        closed = self._closed
        ended = "select not exists (select from batch where name = any($1) and finished_at is null)"
        with suppress(AssertionError):  # the audit reports what has not ended
            await until(lambda: database.fetchval(ended, closed), seconds=_END_SECONDS)
        audit = self._audit.copy()
        await self._audit_items(database, closed, audit)
        await self._receive_events(set(closed))
        audit.lost += [f"{name} has no notification" for name in closed if name not in self._events]
        audit.doubled += [f"{name} has notifications with the ids {ids}" for name, ids in self._events.items() if len(ids) > 1]
        return audit

    async def _audit_items(self, database: Database, closed: list[str], audit: Audit) -> None:
        """Add the findings about the items and the jobs of batches. A closed one has all items, each with its result."""
        stored = {
            row["name"]: row
            for row in await database.fetch("select name, total, success, finished_at from batch where name like 'batch-%'")
        }
        for name in closed:
            if name not in stored:
                audit.lost.append(f"{name} is not stored")
            elif stored[name]["finished_at"] is None:
                audit.stuck.append(f"{name} has not ended: {dict(stored[name])}")
            elif (stored[name]["total"], stored[name]["success"]) != (_ITEMS, _ITEMS):
                audit.wrong.append(f"{name} has {stored[name]['success']} successful items of {stored[name]['total']} instead of {_ITEMS}")
            else:
                audit.wrong += await self._wrong_results(name)
        jobs = await database.fetch(
            "select labels ->> $1 as name, count(*) from job where labels ->> $1 like 'batch-%' group by 1 having count(*) > $2",
            _LABEL,
            _ITEMS,
        )
        audit.doubled += [f"{row['name']} has {row['count']} jobs for {_ITEMS} items" for row in jobs]

    async def _wrong_results(self, name: str) -> list[str]:
        """Return a finding for each item of a batch without its result."""
        response = await self._system.request("GET", f"{BATCHES}/{name}/results")
        if response is None or not response.is_accepted:
            return [f"the results of {name}: {response}"]
        lines = [json.loads(line) for line in response.body.splitlines()]
        results = {line["id"]: result_of(line["result"]) if "result" in line else None for line in lines}
        return [f"item {n} of {name} has the result {results.get(str(n))}" for n in range(_ITEMS) if results.get(str(n)) != n + 1]

    async def _receive_events(self, expected: set[str]) -> None:
        """Receive events until each expected batch has one, for a limited time."""
        async with await aio_pika.connect(self._system.amqp_url) as connection:
            channel = await connection.channel()
            queue = await channel.declare_queue(_QUEUE, durable=True)
            with suppress(TimeoutError):  # the audit reports what is missing
                async with asyncio.timeout(_END_SECONDS), queue.iterator(no_ack=True) as messages:
                    while not expected <= self._events.keys():
                        event = json.loads((await anext(messages)).body)
                        self._events[event["subject"]].add(event["id"])
