"""Q1: the time from the HTTP request for a job until the handler of its wake-up message is called, before the job is claimed.

The reference inserts a row of the same size, and publishes a message of the same size to a quorum queue with aio-pika alone.
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

from benchmarks.http_connection import HttpConnection
from benchmarks.measurement import Row, alternate, median_ms
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.messaging.delivery_result import Ack, DeliveryResult
from dashwright.common.messaging.message import Delivery

#: Jobs of a round, one after the other.
_JOBS = 200
#: The body of a message and the spec of a row of the reference, as large as those of the product.
_BODY = b'{"uid": "00000000-0000-4000-8000-000000000000"}'
_SPEC = '{"action":"sync","repository":"bench","sync":{"incremental":false}}' + " " * 400


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the row of Q1."""
    stack = Stack(database_url, amqp_url, folder)
    dashboard_files.make_many(stack.repositories / "bench", 1)
    async with AsyncExitStack() as exit_stack:
        product = await Product(stack, database_url, amqp_url).open(exit_stack)
        reference = await Reference(database_url, amqp_url).open(exit_stack)
        product_seconds, reference_seconds = await alternate(product.run_round, reference.run_round)
    p50_ms, p99_ms = median_ms(product_seconds), median_ms(product_seconds, 99)
    return [
        Row("Q1", "HTTP accept to job handler entered, p50", "ms", p50_ms, median_ms(reference_seconds), 1.5),
        Row("Q1", "p99 of that path, to its p50", "ms", p99_ms, p50_ms, 3.0),
    ]


class CallTime:
    """The time of the next call of a handler."""

    def __init__(self) -> None:
        self._next_call: asyncio.Future[float] | None = None

    def expect(self) -> asyncio.Future[float]:
        """Return a future of the time of the next call, by the performance counter."""
        self._next_call = asyncio.get_running_loop().create_future()
        return self._next_call

    def record(self) -> None:
        """Set the expected time to the current time."""
        if self._next_call is not None and not self._next_call.done():
            self._next_call.set_result(time.perf_counter())


class Product:
    """A gateway process with a queue whose consumer is in this process, so that one clock measures."""

    def __init__(self, stack: Stack, database_url: str, amqp_url: str) -> None:
        self._stack = stack
        self._database_url = database_url
        self._broker = AmqpBroker(amqp_url)
        self._call_time = CallTime()

    async def open(self, exit_stack: AsyncExitStack) -> Self:
        """Start the gateway, create a repository, and consume the wake-ups in place of the jobs worker."""
        exit_stack.push_async_callback(self._stack.stop)
        await self._stack.start()
        client = await exit_stack.enter_async_context(Client(self._stack.address))
        self._connection = await asyncpg.connect(self._database_url)
        exit_stack.push_async_callback(self._connection.close)
        await client.create_repository("bench", "bench")
        await client.sync_and_wait("bench")
        await self._stack.jobs_worker.stop()
        self._http = await HttpConnection.open(self._stack.address)
        exit_stack.push_async_callback(self._http.close)
        self._request = self._http.encode("POST", f"{PROVISIONING}/repositories/bench/sync")
        exit_stack.push_async_callback(self._broker.close)
        await self._broker.start()
        await self._broker.consume(self._broker.topology.work, self._handle, prefetch=4)
        return self

    async def run_round(self) -> Sequence[float]:
        """Return the seconds of each job of a round."""
        # The gateway accepts jobs only if a worker has checked the repository in the last 25 seconds. This benchmark stopped the worker.
        await self._connection.execute(
            "update resource set status = jsonb_set(status::jsonb, '{health,checked}', to_jsonb($1::bigint))::text where name = 'bench'",
            int(time.time() * 1000),
        )
        return [await self._run_job() for _ in range(_JOBS)]

    async def _run_job(self) -> float:
        """Submit a job, and return the seconds until its wake-up message was handled."""
        call_time = self._call_time.expect()
        started = time.perf_counter()
        await self._http.call(self._request, status=202)
        seconds = await call_time - started
        # The gateway would otherwise merge the next job into this pending one.
        await self._connection.execute("delete from job")
        return seconds

    async def _handle(self, _delivery: Delivery) -> DeliveryResult:
        self._call_time.record()
        return Ack()


class Reference:
    """The minimum of work: one row and one message."""

    def __init__(self, database_url: str, amqp_url: str) -> None:
        self._database_url = database_url
        self._amqp_url = amqp_url
        self._call_time = CallTime()

    async def open(self, exit_stack: AsyncExitStack) -> Self:
        """Connect to database and broker."""
        self._database = await asyncpg.connect(self._database_url)
        exit_stack.push_async_callback(self._database.close)
        await self._database.execute("create table bench_job (id bigint generated always as identity primary key, spec text not null)")
        self._connection = await aio_pika.connect(self._amqp_url)
        exit_stack.push_async_callback(self._connection.close)
        self._channel = await self._connection.channel()
        queue = await self._channel.declare_queue("bench.job", durable=True, arguments={"x-queue-type": "quorum"})
        consumer_channel = await self._connection.channel()
        await consumer_channel.set_qos(prefetch_count=4)
        await (await consumer_channel.get_queue(queue.name)).consume(self._handle)
        return self

    async def run_round(self) -> Sequence[float]:
        """Return the seconds of each job of a round."""
        return [await self._run_job() for _ in range(_JOBS)]

    async def _run_job(self) -> float:
        """Insert a row and publish a message, and return the seconds until the message was handled."""
        call_time = self._call_time.expect()
        started = time.perf_counter()
        await self._database.execute("insert into bench_job (spec) values ($1)", _SPEC)
        message = aio_pika.Message(_BODY, delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
        await self._channel.default_exchange.publish(message, routing_key="bench.job")
        return await call_time - started

    async def _handle(self, message: aio_pika.abc.AbstractIncomingMessage) -> None:
        self._call_time.record()
        await message.ack()
