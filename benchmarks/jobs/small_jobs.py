"""Q2: the time from the submission of 1,500 small evaluations by AMQP until all results are stored.

The references are taskiq and FastStream, whose handlers evaluate the same panel and write as many rows durably. On each side, two
processes handle the jobs, and the submitter has the same number of unconfirmed messages.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aio_pika
import aiohttp
import asyncpg
import orjson
from tests.acceptance.processes import Stack

from benchmarks.jobs import faststream_peer, peer_job, taskiq_peer
from benchmarks.measurement import Round, Row, alternate, median_ms
from benchmarks.processes import start, start_service

_JOBS = 1500
#: Published messages that the broker has not confirmed yet, and the slots of the product's worker.
_UNCONFIRMED = 100
#: Worker processes of the references. The product has a gateway and an expressions worker.
_PROCESSES = 2
#: The interval at which the stored results are counted.
_POLL_SECONDS = 0.02
#: The goal in jobs per second: 15 times the rate of the version that claimed and stored jobs one by one.
_RATE = 15 * 90

_CREDENTIALS = aiohttp.encode_basic_auth("admin", "admin")


def spec() -> dict[str, Any]:
    """Return the spec of a job, a panel that is evaluated quickly."""
    return {"panel": {"type": "timeseries", "targets": [{"refId": "A", "type": "math", "expression": "1 + 2"}]}}


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the rows of Q2: the times of a round of jobs."""
    async with AsyncExitStack() as exit_stack:
        observer = await asyncpg.connect(database_url)
        exit_stack.push_async_callback(observer.close)
        await observer.execute(peer_job.TABLES)
        product, taskiq, faststream = await alternate(
            await _start_product(exit_stack, observer, database_url, amqp_url, folder),
            await _start_taskiq(exit_stack, observer, database_url, amqp_url, folder),
            await _start_faststream(exit_stack, observer, database_url, amqp_url, folder),
        )
    product_ms, path = median_ms(product), f"{_JOBS:,} small jobs by AMQP"
    return [
        Row("Q2", f"{path}, to taskiq", "ms", product_ms, median_ms(taskiq), 0.5),
        Row("Q2", f"{path}, to FastStream", "ms", product_ms, median_ms(faststream), 1 / 1.2),
        Row("Q2", f"{path}, to {_RATE:,} a second", "ms", product_ms, _JOBS / _RATE * 1000, 1.0),
    ]


def _jobs_round(observer: "asyncpg.Connection[Any]", results: str, submit: Callable[[], Awaitable[object]]) -> Round:
    """Return a round that submits the jobs and waits until each has a row in the table ``results``."""

    async def run_round() -> Sequence[float]:
        # The table has the results of earlier rounds.
        expected = await observer.fetchval(f"select count(*) from {results}") + _JOBS
        # Shared by the concurrent submitters, so that together they submit each job once.
        remaining = iter(range(_JOBS))

        async def submit_remaining() -> None:
            for _ in remaining:
                await submit()

        started = time.perf_counter()
        await asyncio.gather(*(submit_remaining() for _ in range(_UNCONFIRMED)))
        while True:
            if await observer.fetchval(f"select count(*) from {results}") >= expected:
                return [time.perf_counter() - started]
            await asyncio.sleep(_POLL_SECONDS)

    return run_round


async def _start_product(
    exit_stack: AsyncExitStack, observer: "asyncpg.Connection[Any]", database_url: str, amqp_url: str, folder: Path
) -> Round:
    """Start the product's gateway and worker, and return a round of jobs."""
    stack = Stack(database_url, amqp_url, folder, EVALUATION_SLOTS=str(_UNCONFIRMED), JOB_LEASE_SECONDS="30")
    for service in ("dashwright-api", "dashwright-expressions"):
        await start_service(exit_stack, stack, service, folder)
    connection = await aio_pika.connect(amqp_url)
    exit_stack.push_async_callback(connection.close)
    exchange = await (await connection.channel()).get_exchange("dashwright.jobs")
    message = aio_pika.Message(
        orjson.dumps({"kind": "Evaluation", "spec": spec()}),
        delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
        headers={"authorization": _CREDENTIALS},
    )
    return _jobs_round(observer, "evaluation", lambda: exchange.publish(message, routing_key="submit.default"))


async def _start_taskiq(
    exit_stack: AsyncExitStack, observer: "asyncpg.Connection[Any]", database_url: str, amqp_url: str, folder: Path
) -> Round:
    """Start the workers of taskiq, and return a round of jobs."""
    arguments = f"worker {taskiq_peer.__name__}:worker --workers {_PROCESSES} --max-async-tasks 100 --log-level WARNING".split()
    environment = {taskiq_peer.AMQP_URL: amqp_url, taskiq_peer.DATABASE_URL: database_url}
    await start(exit_stack, folder / "taskiq.log", sys.executable, "-m", "taskiq", *arguments, environment=environment)
    broker = taskiq_peer.connect(amqp_url)
    await broker.startup()
    exit_stack.push_async_callback(broker.shutdown)
    task = broker.task(task_name=taskiq_peer.TASK)(_declare_arguments)
    job = spec()
    return _jobs_round(observer, "peer_result", lambda: task.kiq(job))


async def _declare_arguments(spec: dict[str, Any]) -> None:
    """Declare the arguments of the task for the submitter, which does not run the function."""


async def _start_faststream(
    exit_stack: AsyncExitStack, observer: "asyncpg.Connection[Any]", database_url: str, amqp_url: str, folder: Path
) -> Round:
    """Start the workers of FastStream, and return a round of jobs."""
    for number in range(_PROCESSES):
        log = folder / f"faststream-{number}.log"
        await start(exit_stack, log, sys.executable, "-m", faststream_peer.__name__, database_url, amqp_url)
    broker = faststream_peer.connect(amqp_url)
    await broker.start()
    exit_stack.push_async_callback(broker.stop)
    await broker.declare_queue(faststream_peer.QUEUE)
    job = spec()
    return _jobs_round(observer, "peer_result", lambda: broker.publish(job, queue=faststream_peer.QUEUE, persist=True))
