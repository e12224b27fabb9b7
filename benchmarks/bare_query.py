"""The reference of large responses: aiohttp and aio-pika alone transfer a prepared body in chunks from a worker to a client.

``python -m benchmarks.bare_query worker AMQP_URL FILE`` runs the worker, and ``… gateway AMQP_URL`` the HTTP server. The worker prints
a line when it is ready, the server its address.
"""

import asyncio
import sys
from pathlib import Path

import aio_pika
import uvloop
from aiohttp import web

from benchmarks import bare_server

QUEUE = "bench.large"
#: Bytes of a message.
CHUNK_BYTES = 2**20
#: The pseudo-queue of RabbitMQ's direct reply-to.
_REPLY_TO = "amq.rabbitmq.reply-to"


def chunks_of(body: bytes) -> list[bytes]:
    """Return a body in chunks of ``CHUNK_BYTES``. The last one may be smaller."""
    return [body[start : start + CHUNK_BYTES] for start in range(0, len(body), CHUNK_BYTES)]


async def run_worker(amqp_url: str, chunks: list[bytes]) -> None:
    """Respond to every message with one message per chunk."""
    connection = await aio_pika.connect(amqp_url)
    channel = await connection.channel(publisher_confirms=False)
    queue = await channel.declare_queue(QUEUE, durable=True)

    async def handle(message: aio_pika.abc.AbstractIncomingMessage) -> None:
        assert message.reply_to is not None
        for index, chunk in enumerate(chunks):
            reply = aio_pika.Message(chunk, correlation_id=message.correlation_id, headers={"last": index == len(chunks) - 1})
            await channel.default_exchange.publish(reply, routing_key=message.reply_to, mandatory=False)
        await message.ack()

    await queue.consume(handle)
    print("ready", flush=True)
    await asyncio.Future()


async def serve(amqp_url: str) -> None:
    """Serve HTTP requests, one after the other, by calling the worker."""
    connection = await aio_pika.connect(amqp_url)
    channel = await connection.channel()
    replies: asyncio.Queue[aio_pika.abc.AbstractIncomingMessage] = asyncio.Queue()
    await (await channel.get_queue(_REPLY_TO, ensure=False)).consume(replies.put, no_ack=True)

    async def handle(request: web.Request) -> web.StreamResponse:
        # All replies belong to the only request in progress, so the correlation id does not matter.
        message = aio_pika.Message(await request.read(), reply_to=_REPLY_TO, correlation_id="1")
        await channel.default_exchange.publish(message, routing_key=QUEUE)
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            reply = await replies.get()
            await response.write(reply.body)
            if reply.headers["last"]:
                await response.write_eof()
                return response

    application = web.Application()
    application.router.add_post("/", handle)
    await bare_server.serve(application)


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        uvloop.run(run_worker(sys.argv[2], chunks_of(Path(sys.argv[3]).read_bytes())))
    else:
        uvloop.run(serve(sys.argv[2]))
