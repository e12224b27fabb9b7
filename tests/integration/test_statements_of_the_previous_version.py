"""Services of the previous version run on the new schema: their recorded SQL statements are still valid, with the same effect.

``tests/upgrade/record`` has recorded the statements. ``make test-upgrade`` runs the complete previous version.
"""

import asyncio
import json
import re
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from tests.integration.test_queues_of_jobs import wrong_counters

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection, Database
from dashwright.common.jobs.routing import Wakeup
from dashwright.common.kinds.registry import JOB
from dashwright.common.messaging.delivery_result import Ack, DeliveryResult
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.message import Delivery
from dashwright.common.stores import claims, jobs
from dashwright.common.stores.claims import FinalState
from dashwright.common.stores.job_records import NewJob
from dashwright.common.work.wakeups import WakeupPublisher

FILES: Final = sorted((Path(__file__).parents[1] / "upgrade/statements").glob("*.sql"))
#: A query that begins otherwise is a part of a statement.
_STATEMENT: Final = re.compile(
    r"(--.*\n|\s)*(select|with|insert|update|delete|create|drop|lock|copy|set|truncate|analyze)\b", re.IGNORECASE
)
LEASE: Final = timedelta(minutes=1)


def recorded_queries(name: str) -> queries.Queries:
    """Return the recorded statements of one file."""
    (path,) = [path for path in FILES if path.stem == name]
    return queries.parse(path.read_text(encoding="utf-8"), location=path.name)


def statements(path: Path) -> list[str]:
    """Return the complete statements of a file, with the definitions of temporary tables first, since others use these."""
    file = queries.parse(path.read_text(encoding="utf-8"), location=path.name)
    if path.stem == "api.lists":  # its page ends with one of two other queries
        return [file.page + file.with_bodies, file.page + file.without_bodies, file.bodies, file.count, file.namespaces]
    texts = [sql for name in dir(file) if _STATEMENT.match(sql := getattr(file, name))]
    return sorted(texts, key=lambda sql: "create temporary table" not in sql.lower())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
async def test_every_recorded_statement_is_valid(database: Database, path: Path) -> None:
    """PostgreSQL accepts each statement: its tables, columns, functions and types exist."""
    async with database.transaction() as connection:
        for sql in statements(path):
            if "create temporary table" in sql.lower():
                await connection.execute(sql)
            else:
                await connection.prepare(sql)


def new_job(name: str, group: str | None = "r") -> NewJob:
    """Return a sync in a concurrency group."""
    return NewJob(name, "default", '{"repository":"r"}', group, "sync", {}, "2026-01-01T00:00:00Z", None, group, "work.sync")


async def submit_by_previous(connection: Connection, name: str) -> uuid.UUID:
    """Submit a job as the previous version does, with its row in the outbox."""
    uid = uuid.uuid4()
    metadata = json.dumps({"name": name, "namespace": "default", "uid": str(uid), "labels": {}})
    values: dict[str, list[Any]] = {
        "uids": [uid],
        "namespaces": ["default"],
        "names": [name],
        "metadata": [metadata],
        "labels": ["{}"],
        "specs": ["{}"],
        "repositories": ["r"],
        "actions": ["sync"],
        "coalesce_keys": [None],
        "concurrency_groups": ["r"],
        "wake_keys": ["work.sync"],
        "repository_uids": [None],
        "group_limits": [1],
    }
    sql = recorded_queries("common.jobs")
    await connection.execute(sql.lock)
    await connection.execute(
        *sql.bind(
            "submit",
            **values,
            api_group=JOB.group,
            resource=JOB.plural,
            status='{"state":"pending"}',
            scheduler=jobs.SCHEDULER,
            webhook=jobs.WEBHOOK,
            submitted_by="{}",
            exchange="dashwright.jobs",
            headers="{}",
        )
    )
    return uid


async def claim_by_previous(connection: Connection, uid_of_wakeup: uuid.UUID) -> uuid.UUID | None:
    """Claim a job as the previous version does for a wake-up, and return the owner of its lease."""
    sql, owner = recorded_queries("common.jobs"), uuid.uuid4()
    await connection.execute(sql.lock)
    row = await connection.fetchrow(sql.claim, uid_of_wakeup, '{"state":"working"}', "work.sync")
    if row is None:
        return None
    await connection.execute(sql.lease, row["uid"], owner, LEASE)
    return owner


async def finish_by_previous(connection: Connection, uid: uuid.UUID, owner: uuid.UUID) -> bool:
    """Finish a job as the previous version does, and return whether it still had its lease."""
    sql = recorded_queries("common.jobs")
    await connection.execute(sql.lock)
    row = await connection.fetchrow(sql.finish, uid, owner, "success", '{"state":"success"}')
    return row is not None


async def claim_job(database: Database) -> tuple[list[uuid.UUID], uuid.UUID]:
    """Claim jobs as this version does; return their uids and the owner of their leases."""
    owner = uuid.uuid4()
    async with database.connection() as connection:
        claimed = await claims.claim(connection, "work", limit=4, owner=owner, lease=LEASE, status=b'{"state":"working"}')
    return [job.uid for job in claimed], owner


async def test_this_version_runs_a_job_of_the_previous_one(database: Database) -> None:
    """A job that the previous gateway submits is claimed by a worker of this version, once, and counted."""
    async with database.transaction() as connection:
        uid = await submit_by_previous(connection, "a")
    assert await wrong_counters(database) == []
    claimed, owner = await claim_job(database)
    assert claimed == [uid]
    async with database.transaction() as connection:
        assert await claim_by_previous(connection, uid) is None
    async with database.transaction() as connection:
        assert await claims.finish(connection, [FinalState(uid, owner, "success", b"{}")]) == {uid}
        await connection.execute(recorded_queries("common.jobs").end_lease, uid)
    assert await wrong_counters(database) == []


async def test_the_previous_version_runs_a_job_of_this_one(database: Database) -> None:
    """A job of this gateway is run by a worker of the previous version. While it runs, its group is full for this version."""
    async with database.transaction() as connection:
        submitted = await jobs.submit(connection, JOB, [new_job("a"), new_job("b")], submitted_by={})
    first, second = (job.uid for job in submitted.jobs)
    async with database.transaction() as connection:
        owner = await claim_by_previous(connection, first)
    assert owner is not None
    assert await wrong_counters(database) == []
    assert (await claim_job(database))[0] == []
    async with database.transaction() as connection:
        assert await finish_by_previous(connection, first, owner)
        assert not await finish_by_previous(connection, first, owner)
    assert (await claim_job(database))[0] == [second]
    assert await wrong_counters(database) == []


async def test_a_lease_of_one_version_is_respected_by_the_other(database: Database) -> None:
    """A worker of the previous version cannot finish a job whose lease a worker of this version holds, nor the other way round."""
    async with database.transaction() as connection:
        uid = await submit_by_previous(connection, "a")
    (claimed,), owner = await claim_job(database)
    async with database.transaction() as connection:
        assert not await finish_by_previous(connection, claimed, uuid.uuid4())
        assert await connection.fetchval(recorded_queries("common.jobs").renew, uid, owner, LEASE) == uid
    async with database.transaction() as connection:
        assert await claims.finish(connection, [FinalState(uid, uuid.uuid4(), "success", b"{}")]) == set()
        assert await finish_by_previous(connection, uid, owner)
    assert await wrong_counters(database) == []


async def test_a_wakeup_has_the_body_that_the_previous_version_reads() -> None:
    """Workers of the previous version read the uid of a job from a wake-up, and dead-letter a message without one."""
    broker = MemoryBroker()
    await broker.start()
    bodies: asyncio.Queue[bytes] = asyncio.Queue()

    async def handle(delivery: Delivery) -> DeliveryResult:
        bodies.put_nowait(delivery.message.body)
        return Ack()

    await broker.consume(broker.topology.work, handle, prefetch=1)
    uid = uuid.uuid4()
    WakeupPublisher(broker).publish_soon([Wakeup("work.sync", uid)])
    async with asyncio.timeout(20):
        assert uuid.UUID(json.loads(await bodies.get())["uid"]) == uid
    await broker.close()
