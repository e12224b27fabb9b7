"""Q1: from the request for a job to the worker's handler, before the claim.

Reference: one insert of a row of the same size, then bare aio-pika from publish to handler, on the same queue type.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

import aio_pika
import asyncpg
from tests.acceptance import dashboard_files
from tests.acceptance.client import PROVISIONING, Client
from tests.acceptance.processes import Stack

from benchmarks.http_connection import Wire
from benchmarks.measurement import Row, in_turns, median_of
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.messaging.delivery_result import Ack, DeliveryResult
from dashwright.common.messaging.message import Delivery

_JOBS = 200
_BODY = b'{"uid": "00000000-0000-4000-8000-000000000000"}'
_ROW = '{"action":"sync","repository":"bench","sync":{"incremental":false}}' + " " * 400


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the row of Q1."""
    stack = Stack(database_url, amqp_url, folder)
    dashboard_files.make_many(stack.repositories / "bench", 1)
    async with AsyncExitStack() as opened:
        product = await Product(stack, database_url, amqp_url).open(opened)
        reference = await Reference(database_url, amqp_url).open(opened)
        measured, bare = await in_turns(product.play, reference.play)
    p50, p99 = median_of(measured, 50) * 1000, median_of(measured, 99) * 1000
    return [
        Row("Q1", "HTTP accept to job handler entered, p50", "ms", p50, median_of(bare, 50) * 1000, 1.5),
        Row("Q1", "p99 of that path, to its p50", "ms", p99, p50, 3.0),
    ]


class Entering:
    """The moment a handler was entered."""

    def __init__(self) -> None:
        self._entered: asyncio.Future[float] | None = None

    def expect(self) -> asyncio.Future[float]:
        """Prepare for the next entry and return it as a future."""
        self._entered = asyncio.get_running_loop().create_future()
        return self._entered

    def note(self) -> None:
        """Record the entry."""
        if self._entered is not None and not self._entered.done():
            self._entered.set_result(time.perf_counter())


class Product:
    """A gateway process. The worker's end of the queue is in this process, so that one clock measures."""

    def __init__(self, stack: Stack, database_url: str, amqp_url: str) -> None:
        self._stack = stack
        self._database_url = database_url
        self._broker = AmqpBroker(amqp_url)
        self._entering = Entering()

    async def open(self, opened: AsyncExitStack) -> Self:
        """Start the gateway."""
        opened.push_async_callback(self._stack.stop)
        await self._stack.start()
        client = await opened.enter_async_context(Client(self._stack.address))
        self._connection = await asyncpg.connect(self._database_url)
        opened.push_async_callback(self._connection.close)
        await client.create_repository("bench", "bench")
        await client.sync_and_wait("bench")
        await self._stack.jobs_worker.stop()
        self._wire = await Wire.open(self._stack.address)
        opened.push_async_callback(self._wire.close)
        self._request = self._wire.encode("POST", f"{PROVISIONING}/repositories/bench/sync")
        opened.push_async_callback(self._broker.close)
        await self._broker.start()
        await self._broker.consume(self._broker.topology.work, self._handle, prefetch=4)
        return self

    async def play(self) -> Sequence[float]:
        """Return the times of one round."""
        # The probe is believed for 25 s; renewed here, because the worker that would renew it is this benchmark.
        await self._connection.execute(
            "update resource set status = jsonb_set(status::jsonb, '{health,checked}', to_jsonb($1::bigint))::text where name = 'bench'",
            int(time.time() * 1000),
        )
        return [await self._once() for _ in range(_JOBS)]

    async def _once(self) -> float:
        entered = self._entering.expect()
        started = time.perf_counter()
        await self._wire.call(self._request, status=202)
        seconds = await entered - started
        # The job ends here, because the next one would otherwise be merged into it.
        await self._connection.execute("delete from job")
        return seconds

    async def _handle(self, _delivery: Delivery) -> DeliveryResult:
        self._entering.note()
        return Ack()


class Reference:
    """The minimum: the row, and the message."""

    def __init__(self, database_url: str, amqp_url: str) -> None:
        self._database_url = database_url
        self._amqp_url = amqp_url
        self._entering = Entering()

    async def open(self, opened: AsyncExitStack) -> Self:
        """Connect to database and broker."""
        self._database = await asyncpg.connect(self._database_url)
        opened.push_async_callback(self._database.close)
        await self._database.execute("create table bench_job (id bigint generated always as identity primary key, spec text not null)")
        self._connection = await aio_pika.connect(self._amqp_url)
        opened.push_async_callback(self._connection.close)
        self._channel = await self._connection.channel()
        queue = await self._channel.declare_queue("bench.job", durable=True, arguments={"x-queue-type": "quorum"})
        consuming = await self._connection.channel()
        await consuming.set_qos(prefetch_count=4)
        await (await consuming.get_queue(queue.name)).consume(self._handle)
        return self

    async def play(self) -> Sequence[float]:
        """Return the times of one round."""
        return [await self._once() for _ in range(_JOBS)]

    async def _once(self) -> float:
        entered = self._entering.expect()
        started = time.perf_counter()
        await self._database.execute("insert into bench_job (spec) values ($1)", _ROW)
        message = aio_pika.Message(_BODY, delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
        await self._channel.default_exchange.publish(message, routing_key="bench.job")
        return await entered - started

    async def _handle(self, message: aio_pika.abc.AbstractIncomingMessage) -> None:
        self._entering.note()
        await message.ack()
