"""Jobs claimed, run, ended and rescued: the worker's consumer and chores over a real database and the in-memory broker."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import timedelta

import orjson
import pytest
import structlog
from tests.signer import SIGNER

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Forbidden, TooManyRequests, Unavailable
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.jobs.routing import EVALUATE
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.messaging.delivery_result import Ack
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.message import Delivery, Message
from dashwright.common.messaging.signing import SIGNATURE, Purpose, Signer
from dashwright.common.models.provisioning import JobStatus
from dashwright.common.observability import metrics
from dashwright.common.relay import Relay
from dashwright.common.stores import jobs, outbox, resources
from dashwright.common.stores.job_records import NewJob, StoredJob
from dashwright.common.work.consumer import JobConsumer
from dashwright.common.work.execution import Execution
from dashwright.jobs_worker.maintenance.dead_letters import DeadLetters
from dashwright.jobs_worker.maintenance.rescuer import Rescuer

Work = Callable[[StoredJob, Execution], Awaitable[JobStatus]]
LEASE = timedelta(seconds=30)


class ScriptedRunner:
    """A runner that calls a function of the test."""

    def __init__(self, work: Work) -> None:
        self.work = work

    async def run(self, job: StoredJob, execution: Execution) -> JobStatus:
        return await self.work(job, execution)


class WorkerUnderTest:
    """A consumer with its relay, and methods to submit jobs and wait for their end."""

    def __init__(self, database: Database, broker: MemoryBroker, runner: ScriptedRunner, *, lease: timedelta = LEASE) -> None:
        self.database = database
        self.broker = broker
        self.runner = runner
        self.relay = Relay(database, broker, SIGNER)
        queue = broker.topology.work
        self.consumer = JobConsumer(database, broker, self.relay, {"sync": runner}, Clock(), queue=queue, slots=4, lease=lease)

    async def submit(self, name: str, *, action: str = "sync", group: str | None = "r") -> uuid.UUID:
        spec = f'{{"action":"{action}","repository":"r"}}'
        wanted = NewJob(name, "default", spec, "r", action, {}, "2026-01-01T00:00:00Z", name, group, f"work.{action}")
        async with self.database.connection() as connection:
            submitted = await jobs.submit(connection, JOB, [wanted], submitted_by={}, headers={})
        self.relay.publish_soon(submitted.wakeups)
        return submitted.jobs[0].uid

    async def find(self, uid: uuid.UUID) -> StoredJob:
        async with self.database.connection() as connection:
            return (await jobs.get_many(connection, [uid]))[0]

    async def until(self, uid: uuid.UUID, *states: str) -> StoredJob:
        """Return the job once the change feed shows it in one of the states."""
        heard = asyncio.Event()
        async with asyncio.timeout(20), self.database.listen("change", lambda _: heard.set(), heard.set):
            while True:
                await heard.wait()
                heard.clear()
                job = await self.find(uid)
                if job.state in states:
                    return job


@pytest.fixture
async def broker() -> AsyncIterator[MemoryBroker]:
    started = MemoryBroker()
    await started.start()
    yield started
    await started.close()


async def succeed(_job: StoredJob, execution: Execution) -> JobStatus:
    return execution.ended(JobProgress())


async def test_a_job_is_claimed_run_and_ended(database: Database, broker: MemoryBroker) -> None:
    """A submitted job starts, runs and ends with its runner's status, and its wake-up leaves the outbox."""
    worker = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    await worker.consumer.start()
    job = await worker.until(await worker.submit("a"), "success", "error")
    await worker.consumer.stop(drain=5)
    await worker.relay.stop()
    status = orjson.loads(job.status)
    assert (status["state"], status["message"]) == ("success", "completed successfully")
    assert 0 < status["started"] <= status["finished"]
    async with database.connection() as connection:
        assert await outbox.depth(connection) == 0


async def test_an_error_of_the_runner_ends_the_job(database: Database, broker: MemoryBroker) -> None:
    """A product error ends the job with its text; any other error with a trace id and no detail."""

    async def fail(job: StoredJob, _execution: Execution) -> JobStatus:
        if job.name == "expected":
            raise Forbidden("the folder is not yours")
        raise RuntimeError("a secret detail")

    worker = WorkerUnderTest(database, broker, ScriptedRunner(fail))
    await worker.consumer.start()
    expected = await worker.until(await worker.submit("expected", group="1"), "error")
    internal = await worker.until(await worker.submit("internal", group="2"), "error")
    await worker.consumer.stop(drain=5)
    await worker.relay.stop()
    assert orjson.loads(expected.status)["errors"] == ["the folder is not yours"]
    assert "trace id" in orjson.loads(internal.status)["message"]
    assert "secret detail" not in internal.status


async def test_an_unknown_action_ends_as_an_error(database: Database, broker: MemoryBroker) -> None:
    """A job whose action this worker does not know ends with an error that says so."""
    worker = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    await worker.consumer.start()
    job = await worker.until(await worker.submit("a", action="export"), "error")
    await worker.consumer.stop(drain=5)
    await worker.relay.stop()
    assert "export" in orjson.loads(job.status)["message"]


async def test_jobs_of_a_concurrency_group_run_in_sequence(database: Database, broker: MemoryBroker) -> None:
    """While one job is working the others wait; whichever wake-up comes first, the oldest job is claimed first."""
    at_work = 0
    order: list[str] = []

    async def work(job: StoredJob, execution: Execution) -> JobStatus:
        nonlocal at_work
        at_work += 1
        assert at_work == 1
        order.append(job.name)
        async with database.connection() as connection:
            await connection.execute("select pg_sleep(0.02)")
        at_work -= 1
        return execution.ended(JobProgress())

    worker = WorkerUnderTest(database, broker, ScriptedRunner(work))
    await worker.consumer.start()
    uids = [await worker.submit(name) for name in "abcd"]
    for uid in uids:
        await worker.until(uid, "success")
    await worker.consumer.stop(drain=5)
    await worker.relay.stop()
    assert order == list("abcd")


async def test_a_cancelled_job_stops(database: Database, broker: MemoryBroker) -> None:
    """Cancelling a working job ends it; its worker notices by the lost lease, stops, and does not overwrite the status."""
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def work(_job: StoredJob, _execution: Execution) -> JobStatus:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    worker = WorkerUnderTest(database, broker, ScriptedRunner(work), lease=timedelta(seconds=0.3))
    await worker.consumer.start()
    uid = await worker.submit("a")
    await begun.wait()
    async with database.transaction() as connection:
        await jobs.cancel(connection, JOB, "default", "a", now=1)
    async with asyncio.timeout(10):
        await stopped.wait()
    await worker.consumer.stop(drain=5)
    await worker.relay.stop()
    job = await worker.find(uid)
    assert orjson.loads(job.status)["message"] == "job was cancelled"


async def test_a_stopping_worker_returns_its_job(database: Database, broker: MemoryBroker) -> None:
    """A job still working at the end of the grace period is pending again immediately, and another worker claims it."""
    begun = asyncio.Event()

    async def hang(_job: StoredJob, _execution: Execution) -> JobStatus:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    first = WorkerUnderTest(database, broker, ScriptedRunner(hang))
    await first.consumer.start()
    uid = await first.submit("a")
    await begun.wait()
    await first.consumer.stop(drain=0.05)
    await first.relay.stop()
    handed_back = await first.find(uid)
    assert (handed_back.state, handed_back.attempts) == ("pending", 0)
    second = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    await second.consumer.start()
    job = await second.until(uid, "success")
    await second.consumer.stop(drain=5)
    await second.relay.stop()
    assert job.attempts == 1


async def test_an_expired_job_is_rescued_up_to_its_attempts(database: Database, broker: MemoryBroker) -> None:
    """A job whose worker is gone is pending again with its attempts counted; after the last it ends with an error."""
    worker = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    rescuer = Rescuer(database, worker.relay, Clock(), max_attempts=2, stale_after=timedelta(minutes=5))
    uid = await worker.submit("a")
    for state in ("pending", "error"):
        async with database.transaction() as connection:
            claimed = await jobs.claim(connection, uid, owner=uuid.uuid4(), lease=timedelta(0), status=b'{"state":"working","started":5}')
        assert claimed is not None
        await rescuer.rescue()
        assert (await worker.find(uid)).state == state
    await worker.relay.stop()
    status = orjson.loads((await worker.find(uid)).status)
    assert status["message"].startswith("Job failed due to lease expiry")
    assert status["started"] == 5


async def lapse(worker: WorkerUnderTest, name: str) -> uuid.UUID:
    """Submit and claim a job, and expire its lease."""
    uid = await worker.submit(name, group=name)
    async with worker.database.transaction() as connection:
        assert await jobs.claim(connection, uid, owner=uuid.uuid4(), lease=timedelta(0), status=b'{"state":"working"}')
    return uid


async def test_a_failed_rescue_does_not_stop_the_others(database: Database, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The round continues with the next job; only rescued jobs are counted and logged."""
    worker = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    rescuer = Rescuer(database, worker.relay, Clock(), max_attempts=2, stale_after=timedelta(minutes=5))
    stuck, free = await lapse(worker, "stuck"), await lapse(worker, "free")
    original = jobs.requeue_lapsed

    async def take_up_again(connection: Connection, job: StoredJob) -> Sequence[outbox.Wakeup]:
        if job.uid == stuck:
            raise Unavailable("a statement took too long")
        return await original(connection, job)

    monkeypatch.setattr(jobs, "requeue_lapsed", take_up_again)
    before = metrics.jobs_taken_up_again._value.get()
    with structlog.testing.capture_logs() as logs:
        await rescuer.rescue()
    await worker.relay.stop()
    assert [(await worker.find(uid)).state for uid in (stuck, free)] == ["working", "pending"]
    assert [(line["event"], line["job"]) for line in logs if "job" in line] == [("job_not_rescued", "stuck"), ("job_rescued", "free")]
    assert metrics.jobs_taken_up_again._value.get() - before == 1


async def test_a_lease_renewed_before_the_rescue_is_kept(database: Database, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow worker that renews its lease keeps its job: nothing is changed, counted or logged."""
    worker = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    rescuer = Rescuer(database, worker.relay, Clock(), max_attempts=2, stale_after=timedelta(minutes=5))
    uid = await lapse(worker, "slow")
    original = jobs.lapsed

    async def lapsed(connection: Connection, *, limit: int) -> Sequence[StoredJob]:
        found = await original(connection, limit=limit)
        await connection.execute("update job_lease set expires_at = now() + interval '1 minute'")
        return found

    monkeypatch.setattr(jobs, "lapsed", lapsed)
    before = metrics.jobs_taken_up_again._value.get()
    with structlog.testing.capture_logs() as logs:
        await rescuer.rescue()
    await worker.relay.stop()
    assert (await worker.find(uid)).state == "working"
    assert [line for line in logs if line["event"] == "job_rescued"] == []
    assert metrics.jobs_taken_up_again._value.get() == before


async def test_an_expired_job_ends_if_an_equal_one_is_pending(database: Database, broker: MemoryBroker) -> None:
    """Two equal jobs are never pending: the expired one ends, and the pending one does the work."""
    worker = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    rescuer = Rescuer(database, worker.relay, Clock(), max_attempts=5, stale_after=timedelta(minutes=5))

    async def submit(name: str) -> uuid.UUID:
        wanted = NewJob(name, "default", "{}", "r", "sync", {}, "2026-01-01T00:00:00Z", "same", "r", "work.sync")
        async with database.connection() as connection:
            return (await jobs.submit(connection, JOB, [wanted], submitted_by={}, headers={})).jobs[0].uid

    lost = await submit("lost")
    async with database.transaction() as connection:
        await jobs.claim(connection, lost, owner=uuid.uuid4(), lease=timedelta(0), status=b'{"state":"working"}')
    waiting = await submit("waiting")
    await rescuer.rescue()
    await worker.relay.stop()
    assert [(await worker.find(uid)).state for uid in (lost, waiting)] == ["error", "pending"]


@pytest.mark.parametrize("key", ["work.sync", "evaluate"])
async def test_a_dead_wakeup_ends_its_job(database: Database, broker: MemoryBroker, key: str) -> None:
    """A dead wake-up ends its pending job with the reason, for jobs on repositories and for evaluations."""
    worker = WorkerUnderTest(database, broker, ScriptedRunner(succeed))
    dead_letters = DeadLetters(database, broker, worker.relay, SIGNER, Clock())
    await dead_letters.start()
    uid = await worker.submit("a")
    body = orjson.dumps({"uid": str(uid)})
    signature = SIGNER.sign(Purpose.WAKE_UP, [key], body)
    message = Message(body=body, headers={"dashwright-reason": "delivered too often", SIGNATURE: signature})
    await broker.publish(broker.topology.dead, key, message)
    job = await worker.until(uid, "error")
    await dead_letters.stop(drain=5)
    await worker.relay.stop()
    assert "delivered too often" in orjson.loads(job.status)["message"]


async def test_a_forged_wakeup_changes_no_job(database: Database, broker: MemoryBroker) -> None:
    """A forged wake-up has no effect, as a dead one or in a queue of other jobs: signature and row are checked."""
    runner = ScriptedRunner(succeed)
    worker = WorkerUnderTest(database, broker, runner)
    evaluator = JobConsumer(
        database, broker, worker.relay, {"other": runner}, Clock(), queue=broker.topology.evaluate, slots=1, lease=LEASE
    )
    dead_letters = DeadLetters(database, broker, worker.relay, SIGNER, Clock())
    uid = await worker.submit("a")
    body = orjson.dumps({"uid": str(uid)})
    forged = Signer("another key").sign(Purpose.WAKE_UP, ["work.sync"], body)
    handled = []
    for headers in ({}, {SIGNATURE: forged}, {SIGNATURE: SIGNER.sign(Purpose.RESPONSE, ["work.sync"], body)}):
        message = Message(body=body, headers={"dashwright-reason": "forged", **headers})
        delivery = Delivery(message=message, exchange=broker.topology.dead, routing_key="work.sync", redelivered=False, attempt=1)
        handled.append(await dead_letters.handle(delivery))
    by_evaluate = Delivery(message=Message(body=body), exchange=broker.topology.jobs, routing_key=EVALUATE, redelivered=False, attempt=1)
    handled.append(await evaluator.handle(by_evaluate))
    assert handled == [Ack()] * 4
    async with database.connection() as connection:
        (job,) = await jobs.get_many(connection, [uid])
    assert (job.state, job.attempts) == ("pending", 0)
    await worker.relay.stop()


async def test_the_repositorys_status_follows_its_sync(database: Database, broker: MemoryBroker) -> None:
    """The sync status of a repository follows its job: claimed, returned, claimed again, cancelled."""
    begun = asyncio.Event()

    async def hang(_job: StoredJob, _execution: Execution) -> JobStatus:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def shown() -> tuple[str, str | None]:
        async with database.connection() as connection:
            stored = await resources.get(connection, REPOSITORY, "default", "r")
        sync = orjson.loads(stored.status or "{}")["sync"]
        return sync["state"], sync.get("job")

    spec = '{"title":"R","workflows":[],"type":"local","sync":{"enabled":true,"target":"folder"}}'
    async with database.transaction() as connection:
        write = resources.Write(REPOSITORY, "r", spec, "v0alpha1")
        await resources.create(await resources.lock(connection), "default", write, actor="user:1", now=Clock().now(), status="{}")
    worker = WorkerUnderTest(database, broker, ScriptedRunner(hang))
    await worker.consumer.start()
    uid = await worker.submit("a")
    await begun.wait()
    assert await shown() == ("working", str(uid))
    await worker.consumer.stop(drain=0.05)
    await worker.relay.stop()
    assert await shown() == ("pending", str(uid))
    async with database.transaction() as connection:
        claimed = await jobs.claim(connection, uid, owner=uuid.uuid4(), lease=timedelta(0), status=b'{"state":"working"}')
    assert claimed is not None
    await Rescuer(database, worker.relay, Clock(), max_attempts=1, stale_after=timedelta(minutes=5)).rescue()
    assert await shown() == ("error", str(uid))
    await worker.relay.stop()


async def test_a_throttled_job_is_postponed(database: Database, broker: MemoryBroker) -> None:
    """A throttled job is pending again with the reason, costs no attempt, and succeeds later."""
    refused = asyncio.Event()

    async def work(job: StoredJob, execution: Execution) -> JobStatus:
        if not refused.is_set():
            refused.set()
            raise TooManyRequests("the host wants a rest", retry_after=90)
        return execution.ended(JobProgress())

    worker = WorkerUnderTest(database, broker, ScriptedRunner(work))
    await worker.consumer.start()
    uid = await worker.submit("a")
    await refused.wait()
    job = await worker.until(uid, "pending")
    assert orjson.loads(job.status) == {"state": "pending", "message": "postponed: the host wants a rest"}
    async with database.connection() as connection:
        await connection.execute("update job set not_before = now() - interval '1 second' where uid = $1", uid)
    rescuer = Rescuer(database, worker.relay, Clock(), max_attempts=1, stale_after=timedelta(minutes=5))
    await rescuer.rescue()
    job = await worker.until(uid, "success", "error")
    await worker.consumer.stop(drain=5)
    await worker.relay.stop()
    assert (job.state, job.attempts) == ("success", 1)
