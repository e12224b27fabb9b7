"""The jobs worker in this process.

It is woken as by a broker, so that one clock measures from there to the job's end.
"""

import asyncio
import gc
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
_FILES = 100_000
_TICK = 0.005
_CLAIM_TICK = 0.001
_ATTEMPTS = 5
_WRITTEN = "select count(*), max(resource_version) from resource where resource in ('dashboards', 'folders')"
_EVENTS = "select count(*) from change where feed = 1 and resource <> 'repositories'"
_HISTORY = "select count(*) from resource_history"


class Worker:
    """A jobs worker."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._broker = _Entering()
        settings = load(
            data_dir=folder / "data", secret_key="of benchmarks", allowed_hosts="127.0.0.0/8", scheduling=False, repository_files=_FILES
        )
        self._worker = JobsWorker(settings, database, self._broker, Clock())
        self.longest_stall = 0.0

    @classmethod
    async def open(cls, opened: AsyncExitStack, database_url: str, folder: Path) -> Self:
        """Start the worker."""
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
        database = await Database.open(database_url, application_name="bench")
        opened.push_async_callback(database.close)
        worker = cls(database, folder)
        await worker._broker.start()
        opened.push_async_callback(worker._broker.close)
        await worker._worker.start()
        opened.push_async_callback(worker._worker.stop)
        gc.freeze()  # as a worker's process does before it serves
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
        expected = new_job(NAMESPACE, spec, uid=uid, repository_type=RepositoryType.GITHOST, now=Clock().now())
        async with self._database.transaction() as connection:
            job = (await jobs.submit(connection, JOB, [expected], submitted_by={})).jobs[0]
        message = Message(body=orjson.dumps({"uid": str(job.uid)}))
        delivery = Delivery(message=message, exchange="", routing_key="work.sync", redelivered=False, attempt=1)
        assert self._broker.handle is not None
        self.longest_stall = 0.0
        self._tick(time.perf_counter())
        started = time.perf_counter()
        await self._broker.handle(delivery)
        await asyncio.wait([await self._claimed(f"job {job.name}")])
        seconds = time.perf_counter() - started
        self._ticking.cancel()
        async with self._database.connection() as connection:
            ended = await connection.fetchval("select status from job where uid = $1", job.uid)
        assert orjson.loads(ended)["state"] == "success", ended
        return seconds

    async def _claimed(self, name: str) -> asyncio.Task[Any]:
        """Return the task of a job when the worker has claimed the job."""
        while True:
            for task in asyncio.all_tasks():
                if task.get_name() == name:
                    return task
            await asyncio.sleep(_CLAIM_TICK)

    async def empty(self) -> None:
        """Delete everything, as before the first repository. Repeated if one of the worker's chores interferes."""
        for remaining in reversed(range(_ATTEMPTS)):
            try:
                async with self._database.connection() as connection:
                    await connection.execute("truncate resource, resource_history, change, job cascade")
                break
            except Unavailable:
                if not remaining:
                    raise

    async def settle(self) -> None:
        """Run the maintenance that the server does automatically some minutes after many writes."""
        async with self._database.connection() as connection:
            await connection.execute("vacuum analyze")

    async def written(self) -> tuple[int, ...]:
        """Return the numbers that a sync without changes must not change: rows, versions and events of objects."""
        async with self._database.connection() as connection:
            found = [await connection.fetch(sql) for sql in (_WRITTEN, _EVENTS, _HISTORY)]
        return tuple(value for rows in found for row in rows for value in row)

    def _tick(self, wanted: float) -> None:
        """Measure a stall of the event loop. It is a callback rather than a task, to disturb the measurement less."""
        now = time.perf_counter()
        self.longest_stall = max(self.longest_stall, now - wanted)
        self._ticking = asyncio.get_running_loop().call_later(_TICK, self._tick, now + _TICK)


class _Entering(MemoryBroker):
    """A broker that returns the handler of jobs to the benchmark instead of connecting it to a queue."""

    handle: Handler | None = None

    async def consume(self, queue: str, handler: Handler, *, prefetch: int) -> MemorySubscription:
        """Keep the handler."""
        if queue == self.topology.work:
            self.handle, handler = handler, _ignored
        return await super().consume(queue, handler, prefetch=prefetch)


async def _ignored(_delivery: Delivery) -> DeliveryResult:
    return Ack()
