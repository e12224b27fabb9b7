"""The small job as a task of taskiq, for its own program ``taskiq worker`` and for a submitter."""

import os
from collections.abc import Mapping
from typing import Any

from taskiq import TaskiqEvents, TaskiqState
from taskiq_aio_pika import AioPikaBroker, Exchange, Queue

from benchmarks.jobs.peer_job import PeerWork

#: Environment of ``taskiq worker``, which passes no arguments to a broker.
AMQP_URL, DATABASE_URL = "BENCHMARK_AMQP_URL", "BENCHMARK_DATABASE_URL"

_PREFETCH = 100


def connect(amqp_url: str) -> Any:
    """Return the broker of a submitter, whose tasks are submitted to a durable quorum queue."""
    exchange, queue = Exchange(name="bench.taskiq"), Queue(name="bench.taskiq")
    return AioPikaBroker(amqp_url, qos=_PREFETCH, exchange=exchange, task_queues=[queue], dead_letter_queue=Queue(name="bench.taskiq.dead"))


def worker() -> Any:
    """Return the broker of a worker process."""
    broker = connect(os.environ[AMQP_URL])

    async def open_database(state: TaskiqState) -> None:
        state.work = await PeerWork.open(os.environ[DATABASE_URL])

    async def run(spec: Mapping[str, Any]) -> None:
        await broker.state.work.run(spec)

    broker.add_event_handler(TaskiqEvents.WORKER_STARTUP, open_database)
    broker.task(task_name=TASK)(run)
    return broker


TASK = "evaluate"
