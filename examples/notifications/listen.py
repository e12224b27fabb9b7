"""Print the events of the exchange dashwright.events that match a routing key. Needs the package aio-pika.

python examples/notifications/listen.py amqp://USER:PASSWORD@HOST/ KEY
"""

import asyncio
import json
import sys

import aio_pika


async def listen(url: str, key: str) -> None:
    """Print events until the program is stopped. Its queue is exclusive, so it misses the events while it does not run."""
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue(exclusive=True)
        await queue.bind("dashwright.events", key)
        print(f"listening for {key}", flush=True)
        # An event can be delivered more than once.
        seen_ids: set[str] = set()
        async with queue.iterator() as messages:
            async for message in messages:
                async with message.process():  # Acknowledges the message at the end of the block.
                    event = json.loads(message.body)
                    if event["id"] not in seen_ids:
                        seen_ids.add(event["id"])
                        print(event["type"], event["subject"], message.routing_key, flush=True)


if __name__ == "__main__":
    asyncio.run(listen(sys.argv[1], sys.argv[2]))
