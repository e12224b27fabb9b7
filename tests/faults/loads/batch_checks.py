"""Checks of batches that were submitted by HTTP or the queue: their items, their results, and the events about their ends."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress

import aio_pika
from tests.faults.audit import Audit
from tests.faults.loads.evaluations import evaluation_spec, result_of
from tests.faults.loads.load import Database, wait_while_fewer
from tests.faults.system import System

BATCHES = "/apis/jobs.dashwright.io/v0alpha1/namespaces/default/batches"

#: Number of items of each batch. The result of an item is its index plus one.
ITEMS = 8

_LABEL = "jobs.dashwright.io/batch"
_EXCHANGE = "dashwright.events"
#: Events that have not arrived after this time without faults are lost.
_END_SECONDS = 120.0


def new_items() -> Sequence[dict[str, object]]:
    """Return the items of a batch, without ids."""
    return [{"kind": "Evaluation", "spec": evaluation_spec(index)} for index in range(ITEMS)]


class EndEvents:
    """A queue of events about ended batches, which a batch names or which is bound to the exchange of all events."""

    def __init__(self, system: System, queue: str, *, is_bound: bool = False) -> None:
        self._system = system
        self._queue = queue
        self._is_bound = is_bound
        #: The ids of the received events by batch.
        self._ids: dict[str, set[str]] = defaultdict(set)

    async def declare(self) -> None:
        """Declare the queue, so that it exists before the first batch."""
        async with await aio_pika.connect(self._system.amqp_url) as connection:
            queue = await (await connection.channel()).declare_queue(self._queue, durable=True)
            if self._is_bound:
                await queue.bind(_EXCHANGE, "batch.finished.#")

    async def audit(self, names: Collection[str], audit: Audit) -> None:
        """Receive events until each of the batches has one, for a limited time, and add findings about their numbers."""
        async with await aio_pika.connect(self._system.amqp_url) as connection:
            queue = await (await connection.channel()).declare_queue(self._queue, durable=True)
            with suppress(TimeoutError):  # the findings name what is missing
                # Messages that are not acknowledged are for the next audit.
                async with asyncio.timeout(_END_SECONDS), queue.iterator() as messages:
                    while not set(names) <= self._ids.keys():
                        message = await anext(messages)
                        event = json.loads(message.body)
                        self._ids[event["subject"]].add(event["id"])
                        await message.ack()
        audit.lost += [f"{name} has no event in {self._queue}" for name in names if name not in self._ids]
        audit.doubled += [f"{name} has the events {self._ids[name]} in {self._queue}" for name in names if len(self._ids[name]) > 1]


async def audit_batches(system: System, database: Database, names: Sequence[str], audit: Audit) -> None:
    """Add the findings about closed batches: each must end, with all items, each with its result."""
    count_ended = "select count(*) from batch where name = any($1) and finished_at is not null"
    await wait_while_fewer(len(names), lambda: database.fetchval(count_ended, names))
    rows = await database.fetch("select name, total, success, finished_at from batch where name = any($1)", names)
    rows_by_name = {row["name"]: row for row in rows}
    for name in names:
        if name not in rows_by_name:
            audit.lost.append(f"{name} is not stored")
        elif rows_by_name[name]["finished_at"] is None:
            audit.stuck.append(f"{name} has not ended: {dict(rows_by_name[name])}")
        elif (rows_by_name[name]["total"], rows_by_name[name]["success"]) != (ITEMS, ITEMS):
            audit.wrong.append(
                f"{name} has {rows_by_name[name]['success']} successful items of {rows_by_name[name]['total']} instead of {ITEMS}"
            )
        else:
            audit.wrong += await _wrong_results(system, name)
    surplus = "select labels ->> $1 as name, count(*) from job where labels ->> $1 = any($2) group by 1 having count(*) > $3"
    jobs = await database.fetch(surplus, _LABEL, names, ITEMS)
    audit.doubled += [f"{row['name']} has {row['count']} jobs for {ITEMS} items" for row in jobs]


async def _wrong_results(system: System, name: str) -> list[str]:
    """Return a finding for each item of a batch without its result."""
    response = await system.request("GET", f"{BATCHES}/{name}/results")
    if response is None or not response.is_accepted:
        return [f"the results of {name}: {response}"]
    lines = [json.loads(line) for line in response.body.splitlines()]
    results = {line["index"]: result_of(line["result"]) if "result" in line else None for line in lines}
    return [f"item {index} of {name} has the result {results.get(index)}" for index in range(ITEMS) if results.get(index) != index + 1]
