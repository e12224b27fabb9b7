"""The job of Q2 as a task of taskiq, for workers, which ``taskiq worker`` runs, and for the submitter."""

import os
from collections.abc import Mapping
from typing import Any

from taskiq import TaskiqEvents, TaskiqState
from taskiq_aio_pika import AioPikaBroker, Exchange, Queue

from benchmarks.jobs.peer_job import PeerJobRunner

#: Environment variables for ``taskiq worker``, which cannot pass arguments to ``worker``.
AMQP_URL, DATABASE_URL = "BENCHMARK_AMQP_URL", "BENCHMARK_DATABASE_URL"

#: As many as evaluation slots of the product.
_PREFETCH = 100
#: The name by which the submitter and the workers refer to the task.
TASK = "evaluate"


def connect(amqp_url: str) -> Any:
    """Return a broker that submits tasks to a durable quorum queue."""
    exchange, queue = Exchange(name="bench.taskiq"), Queue(name="bench.taskiq")
    return AioPikaBroker(amqp_url, qos=_PREFETCH, exchange=exchange, task_queues=[queue], dead_letter_queue=Queue(name="bench.taskiq.dead"))


def worker() -> Any:
    """Return the broker of a worker process."""
    broker = connect(os.environ[AMQP_URL])

    async def open_database(state: TaskiqState) -> None:
        state.runner = await PeerJobRunner.open(os.environ[DATABASE_URL])

    async def run(spec: Mapping[str, Any]) -> None:
        await broker.state.runner.run(spec)

    broker.add_event_handler(TaskiqEvents.WORKER_STARTUP, open_database)
    broker.task(task_name=TASK)(run)
    return broker
