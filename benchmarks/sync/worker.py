"""A jobs worker in the process of the benchmark, so that one clock measures from the wake-up of a job to its end."""

import asyncio
import gc
import logging
import time
import uuid
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

import orjson
import structlog

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import Unavailable
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.messaging.broker import Handler
from dashwright.common.messaging.delivery_result import Ack, DeliveryResult
from dashwright.common.messaging.memory import MemoryBroker, MemorySubscription
from dashwright.common.messaging.message import Delivery, Message
from dashwright.common.models.job_options import SyncJobOptions
from dashwright.common.models.provisioning import Action, JobSpec, RepositoryType
from dashwright.common.settings import load
from dashwright.common.stores import jobs, resources
from dashwright.common.stores.job_records import new_job
from dashwright.jobs_worker.main import JobsWorker

NAMESPACE = "default"
#: The limit on files of a repository.
_FILES_LIMIT = 100_000
#: The interval of the callback that measures stalls of the event loop.
_TICK_SECONDS = 0.005
#: The interval in which a claim is awaited.
_CLAIM_POLL_SECONDS = 0.001
#: Attempts to delete all rows, with which a task of the worker may interfere.
_TRUNCATE_ATTEMPTS = 5
# The rows, events and versions that a sync without changes must not write.
_OBJECTS = "select count(*), max(resource_version) from resource where resource in ('dashboards', 'folders')"
_EVENTS = "select count(*) from change where feed = 1 and resource <> 'repositories'"
_HISTORY = "select count(*) from resource_history"


class Worker:
    """The jobs worker, with wake-ups that the benchmark delivers."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._broker = _HandlerBroker()
        settings = load(
            data_dir=folder / "data",
            secret_key="of benchmarks",
            allowed_hosts="127.0.0.0/8",
            scheduling=False,
            repository_files=_FILES_LIMIT,
        )
        self._worker = JobsWorker(settings, database, self._broker, Clock())
        self.longest_stall_seconds = 0.0

    @classmethod
    async def open(cls, exit_stack: AsyncExitStack, database_url: str, folder: Path) -> Self:
        """Start the worker."""
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
        database = await Database.open(database_url, application_name="bench")
        exit_stack.push_async_callback(database.close)
        worker = cls(database, folder)
        await worker._broker.start()
        exit_stack.push_async_callback(worker._broker.close)
        await worker._worker.start()
        exit_stack.push_async_callback(worker._worker.stop)
        # As the worker does before it serves.
        gc.freeze()
        return worker

    async def add(self, name: str, url: str) -> uuid.UUID:
        """Create a repository on the git host and return its uid."""
        spec = {"title": name, "type": "githost", "workflows": [], "sync": {"enabled": True, "target": "folder"}}
        body = orjson.dumps(spec | {"githost": {"url": url, "branch": "main"}}).decode()
        write = resources.Write(REPOSITORY, name, body, REPOSITORY.version, extract=Extract(name))
        async with self._database.transaction() as connection:
            return (
                await resources.create(await resources.lock(connection, NAMESPACE), NAMESPACE, write, actor="user:1", now=Clock().now())
            ).uid

    async def sync(self, name: str, uid: uuid.UUID, *, incremental: bool = False) -> float:
        """Return the seconds from the wake-up to the job's end. Raises AssertionError if the job failed."""
        spec = JobSpec(action=Action.SYNC, repository=name, sync=SyncJobOptions(incremental=incremental))
        job_to_submit = new_job(NAMESPACE, spec, uid=uid, repository_type=RepositoryType.GITHOST, now=Clock().now())
        async with self._database.transaction() as connection:
            job = (await jobs.submit(connection, JOB, [job_to_submit], submitted_by={})).jobs[0]
        message = Message(body=orjson.dumps({"uid": str(job.uid)}))
        delivery = Delivery(message=message, exchange="", routing_key="work.sync", redelivered=False, attempt=1)
        assert self._broker.wakeup_handler is not None
        self.longest_stall_seconds = 0.0
        self._measure_stall(time.perf_counter())
        started = time.perf_counter()
        await self._broker.wakeup_handler(delivery)
        await asyncio.wait([await self._wait_for_task(f"job {job.name}")])
        seconds = time.perf_counter() - started
        self._ticker.cancel()
        async with self._database.connection() as connection:
            status = await connection.fetchval("select status from job where uid = $1", job.uid)
        assert orjson.loads(status)["state"] == "success", status
        return seconds

    async def _wait_for_task(self, name: str) -> asyncio.Task[Any]:
        """Return the task of a job, which exists as soon as the worker has claimed the job."""
        while True:
            for task in asyncio.all_tasks():
                if task.get_name() == name:
                    return task
            await asyncio.sleep(_CLAIM_POLL_SECONDS)

    async def delete_all(self) -> None:
        """Delete all repositories, objects and jobs. A periodic task of the worker can interfere, so deleting is repeated."""
        for remaining_attempts in reversed(range(_TRUNCATE_ATTEMPTS)):
            try:
                async with self._database.connection() as connection:
                    await connection.execute("truncate resource, resource_history, change, job cascade")
                break
            except Unavailable:
                if not remaining_attempts:
                    raise

    async def vacuum(self) -> None:
        """Vacuum and analyze the tables, as PostgreSQL does automatically some minutes after many writes."""
        async with self._database.connection() as connection:
            await connection.execute("vacuum analyze")

    async def write_counts(self) -> tuple[int, ...]:
        """Return the numbers that a sync without changes must not change: those of rows, versions and events of objects."""
        async with self._database.connection() as connection:
            rows = [await connection.fetchrow(sql) for sql in (_OBJECTS, _EVENTS, _HISTORY)]
        return tuple(value for row in rows if row is not None for value in row)

    def _measure_stall(self, due: float) -> None:
        """Record by how much this call is later than ``due``, and schedule the next call."""
        # A callback disturbs the measurement less than a task.
        now = time.perf_counter()
        self.longest_stall_seconds = max(self.longest_stall_seconds, now - due)
        self._ticker = asyncio.get_running_loop().call_later(_TICK_SECONDS, self._measure_stall, now + _TICK_SECONDS)


class _HandlerBroker(MemoryBroker):
    """A broker that keeps the handler of wake-ups for the benchmark instead of connecting it to a queue."""

    wakeup_handler: Handler | None = None

    async def consume(self, queue: str, handler: Handler, *, prefetch: int) -> MemorySubscription:
        """Consume a queue, except that of wake-ups, whose handler is only kept."""
        if queue == self.topology.work:
            self.wakeup_handler, handler = handler, _acknowledge
        return await super().consume(queue, handler, prefetch=prefetch)


async def _acknowledge(_delivery: Delivery) -> DeliveryResult:
    return Ack()
