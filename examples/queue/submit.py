"""Submit a sync job through the queue and print the reply. Needs the package aio-pika.

python examples/queue/submit.py amqp://USER:PASSWORD@HOST/ REPOSITORY
"""

import asyncio
import json
import sys
import uuid

import aio_pika


async def submit(url: str, job: dict) -> dict:
    """Submit a job and return the reply."""
    async with await aio_pika.connect(url) as connection:
        # A message that the broker cannot route to a queue raises an error.
        channel = await connection.channel(on_return_raises=True)
        exchange = await channel.get_exchange("dashwright.jobs")
        replies = await channel.declare_queue(exclusive=True)
        message = aio_pika.Message(json.dumps(job).encode(), delivery_mode=2, message_id=uuid.uuid4().hex, reply_to=replies.name)
        await exchange.publish(message, routing_key="submit.default")
        async with replies.iterator(no_ack=True, timeout=30) as received:
            return json.loads((await anext(received)).body)


if __name__ == "__main__":
    spec = {"action": "sync", "repository": sys.argv[2], "sync": {"incremental": False}}
    print(json.dumps(asyncio.run(submit(sys.argv[1], spec)), indent=2))
