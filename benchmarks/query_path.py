"""E10: one small math query over HTTP through the queue.

Reference: a bare round trip over the same broker by direct reply-to, with the same bytes both ways.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

import aio_pika
import uvloop
from tests.acceptance.processes import Stack

from benchmarks.http_connection import Wire
from benchmarks.measurement import Row, in_turns, median_of

_QUERIES = 200
_QUEUE = "bench.query"
_REPLY_TO = "amq.rabbitmq.reply-to"


def _frame(values: list[float]) -> str:
    fields = [{"name": "time", "type": "time"}, {"name": "value", "type": "number"}]
    times = [1_700_000_000_000 + 60_000 * index for index in range(len(values))]
    return json.dumps([{"schema": {"fields": fields}, "data": {"values": [times, values]}}])


def _query(ref_id: str, values: list[float]) -> dict[str, object]:
    source = {"type": "grafana-testdata-datasource"}
    return {"refId": ref_id, "datasource": source, "scenarioId": "raw_frame", "rawFrameContent": _frame(values), "hide": True}


REQUEST = json.dumps(
    {
        "from": "now-1h",
        "to": "now",
        "queries": [
            _query("A", [1, 2, 3]),
            _query("B", [4, 5, 6]),
            {"refId": "C", "datasource": {"type": "__expr__", "uid": "__expr__"}, "type": "math", "expression": "$A + $B"},
        ],
    }
).encode()


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the row of E10."""
    stack = Stack(database_url, amqp_url, folder)

    async def play() -> Sequence[float]:
        seconds = []
        for _ in range(_QUERIES):
            started = time.perf_counter()
            await wire.call(request, status=200)
            seconds.append(time.perf_counter() - started)
        return seconds

    async with AsyncExitStack() as opened:
        opened.push_async_callback(stack.stop)
        await stack.start()
        wire = await Wire.open(stack.address)
        opened.push_async_callback(wire.close)
        request = wire.encode("POST", "/api/ds/query", REQUEST)
        reference = await Reference(amqp_url).open(opened)
        measured, bare = await in_turns(play, reference.play)
    return [Row("E10", "/api/ds/query, one small math, p50", "ms", median_of(measured, 50) * 1000, median_of(bare, 50) * 1000, 2.5)]


class Reference:
    """A client of a worker process that responds to every message with its own body."""

    def __init__(self, amqp_url: str) -> None:
        self._amqp_url = amqp_url
        self._answered: asyncio.Future[None] | None = None

    async def open(self, opened: AsyncExitStack) -> Self:
        """Connect to the broker."""
        command = (sys.executable, "-m", "benchmarks.query_path", self._amqp_url)
        echo = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        opened.push_async_callback(echo.wait)
        opened.callback(echo.terminate)
        assert echo.stdout is not None
        await echo.stdout.readline()
        self._connection = await aio_pika.connect(self._amqp_url)
        opened.push_async_callback(self._connection.close)
        self._channel = await self._connection.channel()
        replies = await self._channel.get_queue(_REPLY_TO, ensure=False)
        await replies.consume(self._answer, no_ack=True)
        return self

    async def play(self) -> Sequence[float]:
        """Return the times of one round."""
        seconds = []
        for _ in range(_QUERIES):
            self._answered = asyncio.get_running_loop().create_future()
            started = time.perf_counter()
            message = aio_pika.Message(REQUEST, reply_to=_REPLY_TO, correlation_id="1")
            await self._channel.default_exchange.publish(message, routing_key=_QUEUE)
            await self._answered
            seconds.append(time.perf_counter() - started)
        return seconds

    async def _answer(self, _message: aio_pika.abc.AbstractIncomingMessage) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(None)


async def echo(amqp_url: str) -> None:
    """Run the reference's worker."""
    connection = await aio_pika.connect(amqp_url)
    channel = await connection.channel()
    queue = await channel.declare_queue(_QUEUE, durable=True)

    async def answer(message: aio_pika.abc.AbstractIncomingMessage) -> None:
        reply = aio_pika.Message(message.body, correlation_id=message.correlation_id)
        assert message.reply_to is not None
        await channel.default_exchange.publish(reply, routing_key=message.reply_to, mandatory=False)
        await message.ack()

    await queue.consume(answer)
    print("ready", flush=True)
    await asyncio.Future()


if __name__ == "__main__":
    uvloop.run(echo(sys.argv[1]))
