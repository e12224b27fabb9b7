"""Jobs taken up, run, ended and rescued: the worker's consumer and chores over a real database and the in-memory broker."""

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


class Scripted:
    """A runner that does what a test tells it."""

    def __init__(self, work: Work) -> None:
        self.work = work

    async def run(self, job: StoredJob, execution: Execution) -> JobStatus:
        return await self.work(job, execution)


class Floor:
    """A consumer with its relay, and ways to submit jobs and wait for their end."""

    def __init__(self, database: Database, broker: MemoryBroker, runner: Scripted, *, lease: timedelta = LEASE) -> None:
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
        """The job once it is in one of the states, told by the feed of changes."""
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


async def test_a_job_is_taken_up_run_and_ended(database: Database, broker: MemoryBroker) -> None:
    """A submitted job begins, runs and ends as its runner says, and its wake-up leaves the outbox."""
    floor = Floor(database, broker, Scripted(succeed))
    await floor.consumer.start()
    job = await floor.until(await floor.submit("a"), "success", "error")
    await floor.consumer.stop(drain=5)
    await floor.relay.stop()
    status = orjson.loads(job.status)
    assert (status["state"], status["message"]) == ("success", "completed successfully")
    assert 0 < status["started"] <= status["finished"]
    async with database.connection() as connection:
        assert await outbox.depth(connection) == 0


async def test_an_error_of_the_work_is_the_jobs_end(database: Database, broker: MemoryBroker) -> None:
    """An error of the tree ends the job with its text; anything else with a trace id and no detail."""

    async def fail(job: StoredJob, _execution: Execution) -> JobStatus:
        if job.name == "told":
            raise Forbidden("the folder is not yours")
        raise RuntimeError("a secret detail")

    floor = Floor(database, broker, Scripted(fail))
    await floor.consumer.start()
    told = await floor.until(await floor.submit("told", group="1"), "error")
    untold = await floor.until(await floor.submit("untold", group="2"), "error")
    await floor.consumer.stop(drain=5)
    await floor.relay.stop()
    assert orjson.loads(told.status)["errors"] == ["the folder is not yours"]
    assert "trace id" in orjson.loads(untold.status)["message"]
    assert "secret detail" not in untold.status


async def test_an_action_nobody_runs_ends_as_error(database: Database, broker: MemoryBroker) -> None:
    """A job whose action this worker does not know says so."""
    floor = Floor(database, broker, Scripted(succeed))
    await floor.consumer.start()
    job = await floor.until(await floor.submit("a", action="export"), "error")
    await floor.consumer.stop(drain=5)
    await floor.relay.stop()
    assert "export" in orjson.loads(job.status)["message"]


async def test_jobs_of_one_lane_run_one_after_the_other(database: Database, broker: MemoryBroker) -> None:
    """While one is at work the others wait; whichever wake-up comes first, the oldest is taken up first."""
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

    floor = Floor(database, broker, Scripted(work))
    await floor.consumer.start()
    uids = [await floor.submit(name) for name in "abcd"]
    for uid in uids:
        await floor.until(uid, "success")
    await floor.consumer.stop(drain=5)
    await floor.relay.stop()
    assert order == list("abcd")


async def test_a_cancelled_job_stops_and_writes_nothing_more(database: Database, broker: MemoryBroker) -> None:
    """Cancelling a job at work ends it; its worker notices by the lease, stops, and does not overwrite the end."""
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def work(_job: StoredJob, _execution: Execution) -> JobStatus:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    floor = Floor(database, broker, Scripted(work), lease=timedelta(seconds=0.3))
    await floor.consumer.start()
    uid = await floor.submit("a")
    await begun.wait()
    async with database.transaction() as connection:
        await jobs.cancel(connection, JOB, "default", "a", now=1)
    async with asyncio.timeout(10):
        await stopped.wait()
    await floor.consumer.stop(drain=5)
    await floor.relay.stop()
    job = await floor.find(uid)
    assert orjson.loads(job.status)["message"] == "job was cancelled"


async def test_a_stopping_worker_hands_its_job_back(database: Database, broker: MemoryBroker) -> None:
    """What is still at work when the grace period ends is pending again at once, and another worker takes it up."""
    begun = asyncio.Event()

    async def hang(_job: StoredJob, _execution: Execution) -> JobStatus:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    first = Floor(database, broker, Scripted(hang))
    await first.consumer.start()
    uid = await first.submit("a")
    await begun.wait()
    await first.consumer.stop(drain=0.05)
    await first.relay.stop()
    handed_back = await first.find(uid)
    assert (handed_back.state, handed_back.attempts) == ("pending", 0)
    second = Floor(database, broker, Scripted(succeed))
    await second.consumer.start()
    job = await second.until(uid, "success")
    await second.consumer.stop(drain=5)
    await second.relay.stop()
    assert job.attempts == 1


async def test_a_lapsed_job_is_rescued_until_it_is_given_up(database: Database, broker: MemoryBroker) -> None:
    """A job whose worker is gone is pending again, with its attempts counted; after the last it ends as error with the reason."""
    floor = Floor(database, broker, Scripted(succeed))
    rescuer = Rescuer(database, floor.relay, Clock(), attempts=2, stale=timedelta(minutes=5))
    uid = await floor.submit("a")
    for state in ("pending", "error"):
        async with database.transaction() as connection:
            claimed = await jobs.claim(connection, uid, owner=uuid.uuid4(), lease=timedelta(0), status=b'{"state":"working","started":5}')
        assert claimed is not None
        await rescuer.rescue()
        assert (await floor.find(uid)).state == state
    await floor.relay.stop()
    status = orjson.loads((await floor.find(uid)).status)
    assert status["message"].startswith("Job failed due to lease expiry")
    assert status["started"] == 5


async def lapse(floor: Floor, name: str) -> uuid.UUID:
    """A job whose worker is gone."""
    uid = await floor.submit(name, group=name)
    async with floor.database.transaction() as connection:
        assert await jobs.claim(connection, uid, owner=uuid.uuid4(), lease=timedelta(0), status=b'{"state":"working"}')
    return uid


async def test_a_job_that_cannot_be_rescued_does_not_hold_up_the_others(
    database: Database, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The round goes on behind it; only what was rescued is counted and told."""
    floor = Floor(database, broker, Scripted(succeed))
    rescuer = Rescuer(database, floor.relay, Clock(), attempts=2, stale=timedelta(minutes=5))
    stuck, free = await lapse(floor, "stuck"), await lapse(floor, "free")
    original = jobs.requeue_lapsed

    async def take_up_again(connection: Connection, job: StoredJob) -> Sequence[outbox.Wakeup]:
        if job.uid == stuck:
            raise Unavailable("a statement took too long")
        return await original(connection, job)

    monkeypatch.setattr(jobs, "requeue_lapsed", take_up_again)
    before = metrics.jobs_taken_up_again._value.get()
    with structlog.testing.capture_logs() as logs:
        await rescuer.rescue()
    await floor.relay.stop()
    assert [(await floor.find(uid)).state for uid in (stuck, free)] == ["working", "pending"]
    assert [(line["event"], line["job"]) for line in logs if "job" in line] == [("job_not_rescued", "stuck"), ("job_rescued", "free")]
    assert metrics.jobs_taken_up_again._value.get() - before == 1


async def test_a_lease_renewed_meanwhile_is_no_rescue(database: Database, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker was only slow: nothing is changed, counted or told."""
    floor = Floor(database, broker, Scripted(succeed))
    rescuer = Rescuer(database, floor.relay, Clock(), attempts=2, stale=timedelta(minutes=5))
    uid = await lapse(floor, "slow")
    original = jobs.lapsed

    async def lapsed(connection: Connection, *, limit: int) -> Sequence[StoredJob]:
        found = await original(connection, limit=limit)
        await connection.execute("update job_lease set expires_at = now() + interval '1 minute'")
        return found

    monkeypatch.setattr(jobs, "lapsed", lapsed)
    before = metrics.jobs_taken_up_again._value.get()
    with structlog.testing.capture_logs() as logs:
        await rescuer.rescue()
    await floor.relay.stop()
    assert (await floor.find(uid)).state == "working"
    assert [line for line in logs if line["event"] == "job_rescued"] == []
    assert metrics.jobs_taken_up_again._value.get() == before


async def test_where_an_equal_job_waits_the_lapsed_one_ends(database: Database, broker: MemoryBroker) -> None:
    """Two equal jobs never wait: the one whose worker was lost ends, and the one that waits does the work."""
    floor = Floor(database, broker, Scripted(succeed))
    rescuer = Rescuer(database, floor.relay, Clock(), attempts=5, stale=timedelta(minutes=5))

    async def submit(name: str) -> uuid.UUID:
        wanted = NewJob(name, "default", "{}", "r", "sync", {}, "2026-01-01T00:00:00Z", "same", "r", "work.sync")
        async with database.connection() as connection:
            return (await jobs.submit(connection, JOB, [wanted], submitted_by={}, headers={})).jobs[0].uid

    lost = await submit("lost")
    async with database.transaction() as connection:
        await jobs.claim(connection, lost, owner=uuid.uuid4(), lease=timedelta(0), status=b'{"state":"working"}')
    waiting = await submit("waiting")
    await rescuer.rescue()
    await floor.relay.stop()
    assert [(await floor.find(uid)).state for uid in (lost, waiting)] == ["error", "pending"]


@pytest.mark.parametrize("key", ["work.sync", "evaluate"])
async def test_a_dead_wakeup_ends_its_job(database: Database, broker: MemoryBroker, key: str) -> None:
    """A dead wake-up ends its pending job with the reason, whether it was of a job on a repository or of an evaluation."""
    floor = Floor(database, broker, Scripted(succeed))
    dead_letters = DeadLetters(database, broker, floor.relay, SIGNER, Clock())
    await dead_letters.start()
    uid = await floor.submit("a")
    body = orjson.dumps({"uid": str(uid)})
    signature = SIGNER.sign(Purpose.WAKE_UP, [key], body)
    message = Message(body=body, headers={"dashwright-reason": "delivered too often", SIGNATURE: signature})
    await broker.publish(broker.topology.dead, key, message)
    job = await floor.until(uid, "error")
    await dead_letters.stop(drain=5)
    await floor.relay.stop()
    assert "delivered too often" in orjson.loads(job.status)["message"]


async def test_a_forged_wakeup_changes_no_job(database: Database, broker: MemoryBroker) -> None:
    """Neither as a dead one, nor by the queue of workers that run other jobs: signature and row decide."""
    runner = Scripted(succeed)
    floor = Floor(database, broker, runner)
    worker = JobConsumer(database, broker, floor.relay, {"other": runner}, Clock(), queue=broker.topology.evaluate, slots=1, lease=LEASE)
    dead_letters = DeadLetters(database, broker, floor.relay, SIGNER, Clock())
    uid = await floor.submit("a")
    body = orjson.dumps({"uid": str(uid)})
    stranger = Signer("another key").sign(Purpose.WAKE_UP, ["work.sync"], body)
    handled = []
    for headers in ({}, {SIGNATURE: stranger}, {SIGNATURE: SIGNER.sign(Purpose.RESPONSE, ["work.sync"], body)}):
        message = Message(body=body, headers={"dashwright-reason": "forged", **headers})
        delivery = Delivery(message=message, exchange=broker.topology.dead, routing_key="work.sync", redelivered=False, attempt=1)
        handled.append(await dead_letters.handle(delivery))
    by_evaluate = Delivery(message=Message(body=body), exchange=broker.topology.jobs, routing_key=EVALUATE, redelivered=False, attempt=1)
    handled.append(await worker.handle(by_evaluate))
    assert handled == [Ack()] * 4
    async with database.connection() as connection:
        (job,) = await jobs.get_many(connection, [uid])
    assert (job.state, job.attempts) == ("pending", 0)
    await floor.relay.stop()


async def test_the_repository_shows_what_becomes_of_its_sync(database: Database, broker: MemoryBroker) -> None:
    """Claimed, handed back, taken up again, cancelled: the repository's sync status follows each step of its job."""
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
    floor = Floor(database, broker, Scripted(hang))
    await floor.consumer.start()
    uid = await floor.submit("a")
    await begun.wait()
    assert await shown() == ("working", str(uid))
    await floor.consumer.stop(drain=0.05)
    await floor.relay.stop()
    assert await shown() == ("pending", str(uid))
    async with database.transaction() as connection:
        claimed = await jobs.claim(connection, uid, owner=uuid.uuid4(), lease=timedelta(0), status=b'{"state":"working"}')
    assert claimed is not None
    await Rescuer(database, floor.relay, Clock(), attempts=1, stale=timedelta(minutes=5)).rescue()
    assert await shown() == ("error", str(uid))
    await floor.relay.stop()


async def test_a_job_that_comes_too_often_waits_and_is_done_later(database: Database, broker: MemoryBroker) -> None:
    """It is pending again and says why, which costs no attempt, and ends well when its time has come."""
    refused = asyncio.Event()

    async def work(job: StoredJob, execution: Execution) -> JobStatus:
        if not refused.is_set():
            refused.set()
            raise TooManyRequests("the host wants a rest", retry_after=90)
        return execution.ended(JobProgress())

    floor = Floor(database, broker, Scripted(work))
    await floor.consumer.start()
    uid = await floor.submit("a")
    await refused.wait()
    job = await floor.until(uid, "pending")
    assert orjson.loads(job.status) == {"state": "pending", "message": "waits: the host wants a rest"}
    async with database.connection() as connection:
        await connection.execute("update job set not_before = now() - interval '1 second' where uid = $1", uid)
    rescuer = Rescuer(database, floor.relay, Clock(), attempts=1, stale=timedelta(minutes=5))
    await rescuer.rescue()
    job = await floor.until(uid, "success", "error")
    await floor.consumer.stop(drain=5)
    await floor.relay.stop()
    assert (job.state, job.attempts) == ("success", 1)
