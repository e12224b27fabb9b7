"""Jobs that are claimed, run, ended and requeued by a worker's consumer and recovery, over a real database and the in-memory broker."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

import orjson
import pytest
import structlog

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Forbidden, TooManyRequests, Unavailable
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.messaging.delivery_result import DeliveryResult
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.message import Delivery, Message
from dashwright.common.models.provisioning import JobStatus
from dashwright.common.observability import metrics
from dashwright.common.stores import claims, jobs, resources
from dashwright.common.stores.job_records import NewJob, StoredJob
from dashwright.common.work import consumer
from dashwright.common.work.consumer import JobConsumer
from dashwright.common.work.execution import Execution
from dashwright.common.work.wakeups import WakeupPublisher
from dashwright.jobs_worker.maintenance.job_recovery import JobRecovery

Work = Callable[[StoredJob, Execution], Awaitable[JobStatus]]
LEASE = timedelta(seconds=30)
STARTED = b'{"state":"working","started":5}'
CREATED = "2026-01-01T00:00:00Z"


class ScriptedRunner:
    """A runner that calls a function of the test."""

    def __init__(self, work: Work) -> None:
        self.work = work

    async def run(self, job: StoredJob, execution: Execution) -> JobStatus:
        """Call the function."""
        return await self.work(job, execution)


class WorkerUnderTest:
    """A consumer and its publisher of wake-ups, with methods that submit jobs and wait for their states."""

    def __init__(self, database: Database, broker: MemoryBroker, runner: ScriptedRunner, *, lease: timedelta = LEASE) -> None:
        self.database = database
        self.broker = broker
        self.runner = runner
        self.wakeups = WakeupPublisher(broker)
        self.consumer = JobConsumer(
            database, broker, self.wakeups, {"sync": runner}, Clock(), pool="work", queue=broker.topology.work, slots=4, lease=lease
        )

    async def submit(self, name: str, *, action: str = "sync", group: str | None = "r") -> uuid.UUID:
        """Submit a job of a concurrency group, publish its wake-up and return its uid."""
        spec = f'{{"action":"{action}","repository":"r"}}'
        new_job = NewJob(name, "default", spec, "r", action, {}, CREATED, name, group, f"work.{action}")
        async with self.database.connection() as connection:
            submitted = await jobs.submit(connection, JOB, [new_job], submitted_by={})
        self.wakeups.publish_soon(submitted.wakeups)
        return submitted.jobs[0].uid

    async def find(self, uid: uuid.UUID) -> StoredJob:
        """Return a stored job."""
        async with self.database.connection() as connection:
            return (await jobs.get_many(connection, [uid]))[0]

    async def wait_until(self, uid: uuid.UUID, *states: str) -> StoredJob:
        """Return the job once the change feed shows it in one of the states."""
        notified = asyncio.Event()
        async with asyncio.timeout(20), self.database.listen("change", lambda _: notified.set(), notified.set):
            while True:
                await notified.wait()
                notified.clear()
                job = await self.find(uid)
                if job.state in states:
                    return job


async def succeed(_job: StoredJob, execution: Execution) -> JobStatus:
    """End the job with success and without changes."""
    return execution.final_status(JobProgress())


async def test_a_job_is_claimed_run_and_ended(database: Database, broker: MemoryBroker) -> None:
    """A wake-up starts a submitted job, which ends with its runner's status."""
    worker = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    await worker.consumer.start()
    job = await worker.wait_until(await worker.submit("a"), "success", "error")
    await worker.consumer.stop(drain=5)
    await worker.wakeups.stop()
    status = orjson.loads(job.status)
    assert (status["state"], status["message"]) == ("success", "completed successfully")
    assert 0 < status["started"] <= status["finished"]


async def test_an_error_of_the_runner_ends_the_job(database: Database, broker: MemoryBroker) -> None:
    """An error of the product ends the job with its text. Any other error ends it with a trace id and no detail."""

    async def fail(job: StoredJob, _execution: Execution) -> JobStatus:
        if job.name == "forbidden":
            raise Forbidden("the folder is not yours")
        raise RuntimeError("a secret detail")

    worker = WorkerUnderTest(database, broker, ScriptedRunner(fail))
    await worker.consumer.start()
    forbidden = await worker.wait_until(await worker.submit("forbidden", group="1"), "error")
    internal = await worker.wait_until(await worker.submit("internal", group="2"), "error")
    await worker.consumer.stop(drain=5)
    await worker.wakeups.stop()
    assert orjson.loads(forbidden.status)["errors"] == ["the folder is not yours"]
    assert "trace id" in orjson.loads(internal.status)["message"]
    assert "secret detail" not in internal.status


async def test_an_unknown_action_ends_as_an_error(database: Database, broker: MemoryBroker) -> None:
    """A job whose action this worker does not know ends with an error that says so."""
    worker = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    await worker.consumer.start()
    job = await worker.wait_until(await worker.submit("a", action="export"), "error")
    await worker.consumer.stop(drain=5)
    await worker.wakeups.stop()
    assert "export" in orjson.loads(job.status)["message"]


async def test_jobs_of_a_concurrency_group_run_in_sequence(database: Database, broker: MemoryBroker) -> None:
    """While a job of a group is working, the others wait. The oldest one is claimed first."""
    working_count = 0
    order: list[str] = []

    async def work(job: StoredJob, execution: Execution) -> JobStatus:
        nonlocal working_count
        working_count += 1
        assert working_count == 1
        order.append(job.name)
        async with database.connection() as connection:
            await connection.execute("select pg_sleep(0.02)")
        working_count -= 1
        return execution.final_status(JobProgress())

    worker = WorkerUnderTest(database, broker, ScriptedRunner(work))
    await worker.consumer.start()
    uids = [await worker.submit(name) for name in "abcd"]
    for uid in uids:
        await worker.wait_until(uid, "success")
    await worker.consumer.stop(drain=5)
    await worker.wakeups.stop()
    assert order == list("abcd")


async def test_a_cancelled_job_stops(database: Database, broker: MemoryBroker) -> None:
    """Cancelling a working job ends it. Its worker is notified, stops without waiting for the lease, and keeps the status."""
    has_begun, stopped = asyncio.Event(), asyncio.Event()

    async def work(_job: StoredJob, _execution: Execution) -> JobStatus:
        has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    worker = WorkerUnderTest(database, broker, ScriptedRunner(work), lease=timedelta(hours=1))
    await worker.consumer.start()
    uid = await worker.submit("a")
    await has_begun.wait()
    async with database.transaction() as connection:
        await jobs.cancel(connection, JOB, "default", "a", now=1)
    async with asyncio.timeout(20):
        await stopped.wait()
    await worker.consumer.stop(drain=5)
    await worker.wakeups.stop()
    job = await worker.find(uid)
    assert orjson.loads(job.status)["message"] == "job was cancelled"


async def test_a_stopping_worker_returns_its_job(database: Database, broker: MemoryBroker) -> None:
    """A job still working at the end of the grace period is pending again immediately, and another worker claims it."""
    has_begun = asyncio.Event()

    async def hang(_job: StoredJob, _execution: Execution) -> JobStatus:
        has_begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    first = WorkerUnderTest(database, broker, ScriptedRunner(hang))
    await first.consumer.start()
    uid = await first.submit("a")
    await has_begun.wait()
    await first.consumer.stop(drain=0.05)
    await first.wakeups.stop()
    returned_job = await first.find(uid)
    assert (returned_job.state, returned_job.attempts) == ("pending", 0)
    second = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    await second.consumer.start()
    job = await second.wait_until(uid, "success")
    await second.consumer.stop(drain=5)
    await second.wakeups.stop()
    assert job.attempts == 1


async def test_a_job_with_an_expired_lease_is_requeued_up_to_its_attempts(database: Database, broker: MemoryBroker) -> None:
    """A job of a dead worker is pending again and its attempts are counted; after the last, it ends with an error."""
    worker = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    recovery = JobRecovery(database, worker.wakeups, Clock(), max_attempts=2)
    uid = await worker.submit("a")
    for state in ("pending", "error"):
        async with database.transaction() as connection:
            claimed = await claims.claim(
                connection, "work", limit=1, owner=uuid.uuid4(), lease=timedelta(0), status=b'{"state":"working","started":5}'
            )
        assert len(claimed) == 1
        await recovery.run_once()
        assert (await worker.find(uid)).state == state
    await worker.wakeups.stop()
    status = orjson.loads((await worker.find(uid)).status)
    assert status["message"].startswith("Job failed due to lease expiry")
    assert status["started"] == 5


async def submit_with_expired_lease(worker: WorkerUnderTest, name: str) -> uuid.UUID:
    """Submit and claim a job, and expire its lease."""
    uid = await worker.submit(name, group=name)
    async with worker.database.transaction() as connection:
        assert await claims.claim(connection, "work", limit=1, owner=uuid.uuid4(), lease=timedelta(0), status=b'{"state":"working"}')
    return uid


async def test_a_failed_recovery_does_not_stop_the_others(
    database: Database, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a job cannot be recovered, the round continues with the next one. Only requeued jobs are counted and logged."""
    worker = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    recovery = JobRecovery(database, worker.wakeups, Clock(), max_attempts=2)
    stuck, recovered = await submit_with_expired_lease(worker, "stuck"), await submit_with_expired_lease(worker, "free")
    original = claims.requeue_expired

    async def requeue_unless_stuck(connection: Connection, job: StoredJob) -> bool:
        """Requeue any job but the one that cannot be recovered."""
        if job.uid == stuck:
            raise Unavailable("a statement took too long")
        return await original(connection, job)

    monkeypatch.setattr(claims, "requeue_expired", requeue_unless_stuck)
    before = metrics.jobs_taken_up_again._value.get()
    with structlog.testing.capture_logs() as logs:
        await recovery.run_once()
    await worker.wakeups.stop()
    assert [(await worker.find(uid)).state for uid in (stuck, recovered)] == ["working", "pending"]
    assert [(line["event"], line["job"]) for line in logs if "job" in line] == [("job_not_recovered", "stuck"), ("job_recovered", "free")]
    assert metrics.jobs_taken_up_again._value.get() - before == 1


async def test_a_lease_renewed_during_the_recovery_is_kept(
    database: Database, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow worker that renews its lease keeps its job: nothing is changed, counted or logged."""
    worker = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    recovery = JobRecovery(database, worker.wakeups, Clock(), max_attempts=2)
    uid = await submit_with_expired_lease(worker, "slow")
    original = claims.list_with_expired_lease

    async def list_then_renew(connection: Connection, *, limit: int) -> Sequence[StoredJob]:
        """List the expired leases, and renew them afterwards."""
        expired = await original(connection, limit=limit)
        await connection.execute("update job_lease set expires_at = now() + interval '1 minute'")
        return expired

    monkeypatch.setattr(claims, "list_with_expired_lease", list_then_renew)
    before = metrics.jobs_taken_up_again._value.get()
    with structlog.testing.capture_logs() as logs:
        await recovery.run_once()
    await worker.wakeups.stop()
    assert (await worker.find(uid)).state == "working"
    assert [line for line in logs if line["event"] == "job_recovered"] == []
    assert metrics.jobs_taken_up_again._value.get() == before


async def test_an_expired_job_runs_although_an_equal_one_is_pending(database: Database, broker: MemoryBroker) -> None:
    """A job whose worker was lost is requeued, and an equal job that waits runs after it: neither ends with an error."""
    worker = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    recovery = JobRecovery(database, worker.wakeups, Clock(), max_attempts=5)

    async def submit(name: str) -> uuid.UUID:
        """Submit a job that is merged with an equal pending one, without a wake-up."""
        new_job = NewJob(name, "default", "{}", "r", "sync", {}, CREATED, "same", "r", "work.sync")
        async with database.connection() as connection:
            return (await jobs.submit(connection, JOB, [new_job], submitted_by={})).jobs[0].uid

    expired = await submit("lost")
    async with database.transaction() as connection:
        await claims.claim(connection, "work", limit=1, owner=uuid.uuid4(), lease=timedelta(0), status=b'{"state":"working"}')
    waiting = await submit("waiting")
    await recovery.run_once()
    await worker.wakeups.stop()
    assert [(await worker.find(uid)).state for uid in (expired, waiting)] == ["pending", "pending"]
    await worker.consumer.start()
    assert [(await worker.wait_until(uid, "success", "error")).state for uid in (expired, waiting)] == ["success", "success"]
    await worker.consumer.stop(drain=5)


async def test_a_wakeup_of_any_content_causes_a_search_only(database: Database, broker: MemoryBroker) -> None:
    """Any program at the broker can publish a wake-up. It may start jobs that are ready, and nothing else."""
    worker = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    await worker.consumer.start()
    for body in (b"", b"{", b'{"uid":1}', orjson.dumps({"uid": str(uuid.uuid4())})):
        await broker.publish(broker.topology.jobs, "work.sync", Message(body=body))
    job = await worker.wait_until(await worker.submit("a"), "success", "error")
    await worker.consumer.stop(drain=5)
    assert (job.state, job.attempts) == ("success", 1)


async def test_a_worker_claims_only_jobs_of_its_pool(database: Database, broker: MemoryBroker) -> None:
    """A wake-up in the queue of other workers does not make them run the job."""
    worker = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    uid = await worker.submit("a")
    async with database.connection() as connection:
        assert await claims.claim(connection, "evaluate", limit=4, owner=uuid.uuid4(), lease=LEASE, status=b"{}") == []
    assert (await worker.find(uid)).state == "pending"


async def test_a_job_without_a_wakeup_is_found(database: Database, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lost wake-up delays a job until the next search of a worker."""
    worker = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    await worker.consumer.start()
    monkeypatch.setattr(worker.wakeups, "publish_soon", lambda _wakeups: None)
    job = await worker.wait_until(await worker.submit("a"), "success", "error")
    await worker.consumer.stop(drain=5)
    assert job.state == "success"


async def test_a_full_worker_wakes_another(database: Database, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """One wake-up is enough for many jobs: a worker without free slots passes it on."""
    monkeypatch.setattr(consumer, "_SEARCH_INTERVAL_SECONDS", 3600.0)
    release = asyncio.Event()
    started: list[str] = []

    async def work(job: StoredJob, execution: Execution) -> JobStatus:
        started.append(job.name)
        if len(started) == 8:  # the slots of both workers
            release.set()
        await release.wait()
        return execution.final_status(JobProgress())

    workers = [WorkerUnderTest(database, broker, ScriptedRunner(work)) for _ in range(2)]
    for worker in workers:
        await worker.consumer.start()
    new_jobs = [NewJob(f"job-{index}", "default", "{}", "r", "sync", {}, CREATED, None, str(index), "work.sync") for index in range(8)]
    async with database.connection() as connection:
        submitted = await jobs.submit(connection, JOB, new_jobs, submitted_by={})
    assert len(submitted.wakeups) == 1
    workers[0].wakeups.publish_soon(submitted.wakeups)
    async with asyncio.timeout(20):
        await release.wait()
    for worker in workers:
        await worker.consumer.stop(drain=5)
    assert sorted(started) == [job.name for job in new_jobs]


async def test_a_wakeup_during_a_search_wakes_another(database: Database, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wake-up that arrives during a search without results is passed on if the next search fills the worker."""
    monkeypatch.setattr(consumer, "_SEARCH_INTERVAL_SECONDS", 3600.0)
    passed_on = asyncio.Event()

    async def work(_job: StoredJob, execution: Execution) -> JobStatus:
        await passed_on.wait()
        return execution.final_status(JobProgress())

    worker = WorkerUnderTest(database, broker, ScriptedRunner(work))
    monkeypatch.setattr(worker.wakeups, "publish_soon", lambda _wakeups: passed_on.set())
    original = claims.claim
    has_searched = False

    async def claim(*arguments: Any, **options: Any) -> Sequence[StoredJob]:
        """Claim jobs. After the first claim, which gets none, submit some and wait until the worker has received a wake-up."""
        nonlocal has_searched
        claimed = await original(*arguments, **options)
        if not has_searched:
            has_searched = True
            # Twice as many jobs as the worker has slots.
            new_jobs = [
                NewJob(f"job-{index}", "default", "{}", "r", "sync", {}, CREATED, None, str(index), "work.sync") for index in range(8)
            ]
            async with database.connection() as connection:
                await jobs.submit(connection, JOB, new_jobs, submitted_by={})
            await broker.publish(broker.topology.jobs, "work.sync", Message(body=b""))
            async with asyncio.timeout(20):
                await delivered.wait()
        return claimed

    delivered = asyncio.Event()
    handle = worker.consumer.handle

    async def deliver(delivery: Delivery) -> DeliveryResult:
        result = await handle(delivery)
        delivered.set()
        return result

    monkeypatch.setattr(worker.consumer, "handle", deliver)
    monkeypatch.setattr(claims, "claim", claim)
    await worker.consumer.start()
    async with asyncio.timeout(20):
        await passed_on.wait()
    await worker.consumer.stop(drain=5)


async def create_synced_repository(database: Database) -> None:
    """Create the repository ``r``, whose sync status follows the jobs."""
    spec = '{"title":"R","workflows":[],"type":"local","sync":{"enabled":true,"target":"folder"}}'
    async with database.transaction() as connection:
        write = resources.Write(REPOSITORY, "r", spec, "v0alpha1")
        await resources.create(
            await resources.lock(connection, "default"), "default", write, actor="user:1", now=Clock().now(), status="{}"
        )


async def sync_status_of(database: Database) -> tuple[str, str | None]:
    """Return the state and the job in the sync status of the repository ``r``."""
    async with database.connection() as connection:
        stored = await resources.get(connection, REPOSITORY, "default", "r")
    sync = orjson.loads(stored.status or "{}")["sync"]
    return sync["state"], sync.get("job")


class HangingJob:
    """A job that never ends."""

    def __init__(self) -> None:
        self.has_begun = asyncio.Event()

    async def __call__(self, job: StoredJob, execution: Execution) -> JobStatus:
        self.has_begun.set()
        await asyncio.Event().wait()
        raise AssertionError


async def test_the_repositorys_status_follows_its_sync(database: Database, broker: MemoryBroker) -> None:
    """The sync status of a repository follows its job: claimed, returned, claimed again, cancelled."""
    await create_synced_repository(database)
    hanging_job = HangingJob()
    worker = WorkerUnderTest(database, broker, ScriptedRunner(hanging_job))
    await worker.consumer.start()
    uid = await worker.submit("a")
    await hanging_job.has_begun.wait()
    assert await sync_status_of(database) == ("working", str(uid))
    await worker.consumer.stop(drain=0.05)
    await worker.wakeups.stop()
    assert await sync_status_of(database) == ("pending", str(uid))
    async with database.transaction() as connection:
        claimed = await claims.claim(connection, "work", limit=1, owner=uuid.uuid4(), lease=timedelta(0), status=b'{"state":"working"}')
    assert len(claimed) == 1
    await JobRecovery(database, worker.wakeups, Clock(), max_attempts=1).run_once()
    assert await sync_status_of(database) == ("error", str(uid))
    await worker.wakeups.stop()


async def test_a_stopping_worker_keeps_the_status_of_a_job_that_it_lost(database: Database, broker: MemoryBroker) -> None:
    """A stopping worker does not return a job that another worker has taken over, and the sync status remains ``working``."""
    await create_synced_repository(database)
    hanging_job = HangingJob()
    worker = WorkerUnderTest(database, broker, ScriptedRunner(hanging_job))
    await worker.consumer.start()
    uid = await worker.submit("a")
    await hanging_job.has_begun.wait()
    async with database.connection() as connection:
        await connection.execute("update job_lease set owner = gen_random_uuid() where uid = $1", uid)
    await worker.consumer.stop(drain=0.05)
    await worker.wakeups.stop()
    assert await sync_status_of(database) == ("working", str(uid))


async def test_a_throttled_job_is_postponed(database: Database, broker: MemoryBroker) -> None:
    """A throttled job is pending again with the reason, costs no attempt, and succeeds later."""
    refused = asyncio.Event()

    async def work(job: StoredJob, execution: Execution) -> JobStatus:
        if not refused.is_set():
            refused.set()
            raise TooManyRequests("the host requests a pause", retry_after=90)
        return execution.final_status(JobProgress())

    worker = WorkerUnderTest(database, broker, ScriptedRunner(work))
    await worker.consumer.start()
    uid = await worker.submit("a")
    await refused.wait()
    job = await worker.wait_until(uid, "pending")
    assert orjson.loads(job.status) == {"state": "pending", "message": "postponed: the host requests a pause"}
    async with database.connection() as connection:
        await connection.execute("update job set not_before = now() - interval '1 second' where uid = $1", uid)
    job = await worker.wait_until(uid, "success", "error")
    await worker.consumer.stop(drain=5)
    await worker.wakeups.stop()
    assert (job.state, job.attempts) == ("success", 1)
