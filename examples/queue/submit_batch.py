"""Sync many repositories as one batch through the queue, and print whether each item was accepted. Needs the package aio-pika.

python examples/queue/submit_batch.py amqp://USER:PASSWORD@HOST/ BATCH REPOSITORY...
"""

import asyncio
import json
import sys

import aio_pika

# The largest number that Dashwright accepts.
ITEMS_PER_MESSAGE = 1000


async def submit(url: str, batch: str, items: list[dict]) -> list[dict]:
    """Submit the items of a batch and close it. Return the reply for each item, with its status."""
    messages = [items[start : start + ITEMS_PER_MESSAGE] for start in range(0, len(items), ITEMS_PER_MESSAGE)]
    async with await aio_pika.connect(url) as connection:
        # A message that the broker cannot route to a queue raises an error.
        channel = await connection.channel(on_return_raises=True)
        exchange = await channel.get_exchange("dashwright.jobs")
        replies = await channel.declare_queue(exclusive=True)
        for number, body in enumerate(messages, start=1):
            message = aio_pika.Message(
                json.dumps(body).encode(),
                # The last message closes the batch.
                headers={"dashwright-batch": batch, "dashwright-close": number == len(messages)},
                delivery_mode=2,
                # The same id at each run, so that a second run submits nothing again.
                message_id=f"{batch}-{number}",
                reply_to=replies.name,
            )
            await exchange.publish(message, routing_key="submit.default")
        item_replies = []
        async with replies.iterator(no_ack=True, timeout=60) as received:
            for _ in messages:
                reply = json.loads((await anext(received)).body)
                if reply["kind"] == "Status":
                    raise SystemExit(reply["message"])
                item_replies += reply["items"]
        return item_replies


if __name__ == "__main__":
    specs = [{"id": name, "spec": {"repository": name, "sync": {}}} for name in sys.argv[3:]]
    for item_reply in asyncio.run(submit(sys.argv[1], sys.argv[2], specs)):
        print(json.dumps(item_reply))
