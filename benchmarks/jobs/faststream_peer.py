"""The job of Q2 as a subscriber of FastStream. ``python -m benchmarks.jobs.faststream_peer DATABASE_URL AMQP_URL`` runs a worker."""

import sys
from collections.abc import Mapping
from typing import Any

import uvloop
from faststream import FastStream
from faststream.rabbit import Channel, QueueType, RabbitBroker, RabbitQueue

from benchmarks.jobs.peer_job import PeerJobRunner

QUEUE = RabbitQueue("bench.faststream", queue_type=QueueType.QUORUM, durable=True)

#: As many as evaluation slots of the product.
_PREFETCH = 100


def connect(amqp_url: str) -> Any:
    """Return a broker without the conversion of arguments by their types, which the job does not need."""
    return RabbitBroker(amqp_url, default_channel=Channel(prefetch_count=_PREFETCH), apply_types=False, logger=None)


async def serve(database_url: str, amqp_url: str) -> None:
    """Run jobs until the process is terminated."""
    broker = connect(amqp_url)
    runner = await PeerJobRunner.open(database_url)

    async def run(spec: Mapping[str, Any]) -> None:
        await runner.run(spec)

    broker.subscriber(QUEUE)(run)
    await FastStream(broker, logger=None).run()


if __name__ == "__main__":
    uvloop.run(serve(*sys.argv[1:]))
