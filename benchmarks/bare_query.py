"""The reference of large responses: aiohttp and aio-pika alone pass prepared pieces from a worker to a client.

``python -m benchmarks.bare_query worker AMQP_URL FILE`` and ``… gateway AMQP_URL``; each prints a line when it is
ready.
"""

import asyncio
import sys
from pathlib import Path

import aio_pika
import uvloop
from aiohttp import web

from benchmarks import bare_server

QUEUE = "bench.large"
CHUNK_VALUES = 2**20
_REPLY_TO = "amq.rabbitmq.reply-to"


def cut(body: bytes) -> list[bytes]:
    """Return the pieces of a body."""
    return [body[start : start + CHUNK_VALUES] for start in range(0, len(body), CHUNK_VALUES)]


async def work(amqp_url: str, answer: list[bytes]) -> None:
    """Respond to every request with the prepared pieces."""
    connection = await aio_pika.connect(amqp_url)
    channel = await connection.channel(publisher_confirms=False)
    queue = await channel.declare_queue(QUEUE, durable=True)

    async def handle(message: aio_pika.abc.AbstractIncomingMessage) -> None:
        assert message.reply_to is not None
        for index, piece in enumerate(answer):
            reply = aio_pika.Message(piece, correlation_id=message.correlation_id, headers={"last": index == len(answer) - 1})
            await channel.default_exchange.publish(reply, routing_key=message.reply_to, mandatory=False)
        await message.ack()

    await queue.consume(handle)
    print("ready", flush=True)
    await asyncio.Future()


async def serve(amqp_url: str) -> None:
    """Serve HTTP requests by calling the worker."""
    connection = await aio_pika.connect(amqp_url)
    channel = await connection.channel()
    arrived: asyncio.Queue[aio_pika.abc.AbstractIncomingMessage] = asyncio.Queue()
    await (await channel.get_queue(_REPLY_TO, ensure=False)).consume(arrived.put, no_ack=True)

    async def handle(request: web.Request) -> web.StreamResponse:
        message = aio_pika.Message(await request.read(), reply_to=_REPLY_TO, correlation_id="1")
        await channel.default_exchange.publish(message, routing_key=QUEUE)
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            piece = await arrived.get()
            await response.write(piece.body)
            if piece.headers["last"]:
                await response.write_eof()
                return response

    application = web.Application()
    application.router.add_post("/", handle)
    await bare_server.serve(application)


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        uvloop.run(work(sys.argv[2], cut(Path(sys.argv[3]).read_bytes())))
    else:
        uvloop.run(serve(sys.argv[2]))
