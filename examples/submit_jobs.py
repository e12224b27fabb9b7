"""Submit a sync job through the queue, wait for the response, and print it.

    python examples/submit_jobs.py amqp://USER:PASSWORD@HOST/ examples

Needs only the broker's address and the package aio-pika. The contract: docs/reference/queue.md.
"""

import asyncio
import json
import sys
import uuid

import aio_pika


async def submit(url: str, repository: str) -> dict:
    """Submit one job and return the reply."""
    connection = await aio_pika.connect(url)
    async with connection:
        channel = await connection.channel(on_return_raises=True)
        answers = await channel.declare_queue(exclusive=True)
        exchange = await channel.get_exchange("dashwright.jobs")
        message = aio_pika.Message(
            json.dumps({"action": "sync", "repository": repository, "sync": {"incremental": False}}).encode(),
            content_type="application/json",
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
            message_id=str(uuid.uuid4()),  # A repeated id does not create a second job.
            correlation_id="first",
            reply_to=answers.name,
        )
        await exchange.publish(message, routing_key="submit.default")
        async with answers.iterator(timeout=30) as arriving:
            async for answer in arriving:
                async with answer.process():
                    return json.loads(answer.body)
    raise SystemExit("no answer")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    print(json.dumps(asyncio.run(submit(*sys.argv[1:3])), indent=2))
