"""E10: a small math query over HTTP, through the gateway, the broker and an expressions worker.

The reference is a round trip over the same broker by direct reply-to: a message with the same body is sent to another process and back.
``python -m benchmarks.query_path AMQP_URL`` runs that process.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Self

import aio_pika
import uvloop
from tests.acceptance.processes import Stack

from benchmarks.http_connection import HttpConnection
from benchmarks.measurement import Row, alternate, median_ms, sequential_calls

_QUERIES_PER_ROUND = 200
_QUEUE = "bench.query"
_REPLY_TO = "amq.rabbitmq.reply-to"


def _frame(values: list[float]) -> str:
    """Return a frame with a point for each minute, as JSON."""
    fields = [{"name": "time", "type": "time"}, {"name": "value", "type": "number"}]
    times = [1_700_000_000_000 + 60_000 * index for index in range(len(values))]
    return json.dumps([{"schema": {"fields": fields}, "data": {"values": [times, values]}}])


def _query(ref_id: str, values: list[float]) -> dict[str, object]:
    """Return a hidden query of a built-in data source that returns the given values."""
    source = {"type": "grafana-testdata-datasource"}
    return {"refId": ref_id, "datasource": source, "scenarioId": "raw_frame", "rawFrameContent": _frame(values), "hide": True}


#: The request of both sides: ``$A + $B`` over two series of three points.
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
    async with AsyncExitStack() as exit_stack:
        exit_stack.push_async_callback(stack.stop)
        await stack.start()
        http = await HttpConnection.open(stack.address)
        exit_stack.push_async_callback(http.close)
        request = http.encode("POST", "/api/ds/query", REQUEST)
        reference = await Reference(amqp_url).open(exit_stack)
        query = sequential_calls(partial(http.call, request, status=200), _QUERIES_PER_ROUND)
        product_seconds, reference_seconds = await alternate(query, reference.run_round)
    path = "/api/ds/query, one small math, p50"
    return [Row("E10", path, "ms", median_ms(product_seconds), median_ms(reference_seconds), 2.5)]


class Reference:
    """A client of a process that replies to every message with the body of the message."""

    def __init__(self, amqp_url: str) -> None:
        self._amqp_url = amqp_url
        self._reply_received: asyncio.Future[None] | None = None

    async def open(self, exit_stack: AsyncExitStack) -> Self:
        """Start the process and connect to the broker."""
        command = (sys.executable, "-m", "benchmarks.query_path", self._amqp_url)
        echo = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        exit_stack.push_async_callback(echo.wait)
        exit_stack.callback(echo.terminate)
        assert echo.stdout is not None
        await echo.stdout.readline()
        self._connection = await aio_pika.connect(self._amqp_url)
        exit_stack.push_async_callback(self._connection.close)
        self._channel = await self._connection.channel()
        replies = await self._channel.get_queue(_REPLY_TO, ensure=False)
        await replies.consume(self._handle_reply, no_ack=True)
        return self

    async def run_round(self) -> Sequence[float]:
        """Return the seconds of each round trip."""
        seconds = []
        for _ in range(_QUERIES_PER_ROUND):
            self._reply_received = asyncio.get_running_loop().create_future()
            started = time.perf_counter()
            message = aio_pika.Message(REQUEST, reply_to=_REPLY_TO, correlation_id="1")
            await self._channel.default_exchange.publish(message, routing_key=_QUEUE)
            await self._reply_received
            seconds.append(time.perf_counter() - started)
        return seconds

    async def _handle_reply(self, _message: aio_pika.abc.AbstractIncomingMessage) -> None:
        if self._reply_received is not None and not self._reply_received.done():
            self._reply_received.set_result(None)


async def serve_echo(amqp_url: str) -> None:
    """Reply to every message with its body until the process ends."""
    connection = await aio_pika.connect(amqp_url)
    channel = await connection.channel()
    queue = await channel.declare_queue(_QUEUE, durable=True)

    async def handle(message: aio_pika.abc.AbstractIncomingMessage) -> None:
        reply = aio_pika.Message(message.body, correlation_id=message.correlation_id)
        assert message.reply_to is not None
        await channel.default_exchange.publish(reply, routing_key=message.reply_to, mandatory=False)
        await message.ack()

    await queue.consume(handle)
    print("ready", flush=True)
    await asyncio.Future()


if __name__ == "__main__":
    uvloop.run(serve_echo(sys.argv[1]))
