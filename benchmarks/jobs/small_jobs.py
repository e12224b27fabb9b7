"""Q2: small evaluations, submitted by AMQP, until all results are stored.

References: taskiq and FastStream, whose handler evaluates the same panel and writes as many rows durably. Two processes work on each
side, and the submitter has the same number of unconfirmed messages.
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
from benchmarks.measurement import Round, Row, in_turns, median_of
from benchmarks.processes import start, start_service

_JOBS = 1500
#: Messages that the broker has not confirmed yet.
_UNCONFIRMED = 100
_PROCESSES = 2
_POLL_SECONDS = 0.02
#: Jobs per second of the version before jobs were claimed and stored in groups, times 15.
_RATE = 15 * 90

_CREDENTIALS = aiohttp.encode_basic_auth("admin", "admin")


def spec() -> dict[str, Any]:
    """Return the panel of a job, which needs as little evaluation as any."""
    return {"panel": {"type": "timeseries", "targets": [{"refId": "A", "type": "math", "expression": "1 + 2"}]}}


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the rows of Q2: the times of a round of jobs."""
    async with AsyncExitStack() as opened:
        observer = await asyncpg.connect(database_url)
        opened.push_async_callback(observer.close)
        await observer.execute(peer_job.TABLES)
        measured, taskiq, faststream = await in_turns(
            await _product(opened, observer, database_url, amqp_url, folder),
            await _taskiq(opened, observer, database_url, amqp_url, folder),
            await _faststream(opened, observer, database_url, amqp_url, folder),
        )
    ours, path = median_of(measured, 50) * 1000, f"{_JOBS:,} small jobs by AMQP"
    return [
        Row("Q2", f"{path}, to taskiq", "ms", ours, median_of(taskiq, 50) * 1000, 0.5),
        Row("Q2", f"{path}, to FastStream", "ms", ours, median_of(faststream, 50) * 1000, 1 / 1.2),
        Row("Q2", f"{path}, to {_RATE:,} a second", "ms", ours, _JOBS / _RATE * 1000, 1.0),
    ]


def _round(observer: "asyncpg.Connection[Any]", results: str, submit: Callable[[], Awaitable[object]]) -> Round:
    """Return a round: submit the jobs and wait until each has a row in the table ``results``."""

    async def play() -> Sequence[float]:
        expected = await observer.fetchval(f"select count(*) from {results}") + _JOBS
        remaining = iter(range(_JOBS))

        async def submit_some() -> None:
            for _ in remaining:
                await submit()

        started = time.perf_counter()
        await asyncio.gather(*(submit_some() for _ in range(_UNCONFIRMED)))
        while True:
            if await observer.fetchval(f"select count(*) from {results}") >= expected:
                return [time.perf_counter() - started]
            await asyncio.sleep(_POLL_SECONDS)

    return play


async def _product(opened: AsyncExitStack, observer: "asyncpg.Connection[Any]", database_url: str, amqp_url: str, folder: Path) -> Round:
    stack = Stack(database_url, amqp_url, folder, EVALUATION_SLOTS=str(_UNCONFIRMED), JOB_LEASE_SECONDS="30")
    for service in ("dashwright-api", "dashwright-expressions"):
        await start_service(opened, stack, service, folder)
    connection = await aio_pika.connect(amqp_url)
    opened.push_async_callback(connection.close)
    exchange = await (await connection.channel()).get_exchange("dashwright.jobs")
    message = aio_pika.Message(
        orjson.dumps({"kind": "Evaluation", "spec": spec()}),
        delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
        headers={"authorization": _CREDENTIALS},
    )
    return _round(observer, "evaluation", lambda: exchange.publish(message, routing_key="submit.default"))


async def _taskiq(opened: AsyncExitStack, observer: "asyncpg.Connection[Any]", database_url: str, amqp_url: str, folder: Path) -> Round:
    arguments = f"worker {taskiq_peer.__name__}:worker --workers {_PROCESSES} --max-async-tasks 100 --log-level WARNING".split()
    environment = {taskiq_peer.AMQP_URL: amqp_url, taskiq_peer.DATABASE_URL: database_url}
    await start(opened, folder / "taskiq.log", sys.executable, "-m", "taskiq", *arguments, environment=environment)
    broker = taskiq_peer.connect(amqp_url)
    await broker.startup()
    opened.push_async_callback(broker.shutdown)
    task = broker.task(task_name=taskiq_peer.TASK)(_declared)
    job = spec()
    return _round(observer, "peer_result", lambda: task.kiq(job))


async def _declared(spec: dict[str, Any]) -> None:
    """Declare the arguments of the task. Only workers run it."""


async def _faststream(opened: AsyncExitStack, observer: "asyncpg.Connection[Any]", database_url: str, amqp_url: str, folder: Path) -> Round:
    for number in range(_PROCESSES):
        log = folder / f"faststream-{number}.log"
        await start(opened, log, sys.executable, "-m", faststream_peer.__name__, database_url, amqp_url)
    broker = faststream_peer.connect(amqp_url)
    await broker.start()
    opened.push_async_callback(broker.stop)
    await broker.declare_queue(faststream_peer.QUEUE)
    job = spec()
    return _round(observer, "peer_result", lambda: broker.publish(job, queue=faststream_peer.QUEUE, persist=True))
