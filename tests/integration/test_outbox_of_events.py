"""Events of repositories are stored in the transaction of the change that they report."""

import uuid
from typing import Any

import pytest

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.models.job_options import SyncJobOptions
from dashwright.common.models.provisioning import Action, JobSpec, JobStatus, RepositoryType, State
from dashwright.common.stores import jobs, resources, sync_status
from dashwright.common.stores.job_records import StoredJob, new_job

#: A repository with two receivers, of which ``pager`` wants no events of syncs.
SPEC = (
    '{"title":"R","workflows":[],"type":"githost","githost":{"url":"https://git.example/r"},"sync":{"enabled":true,"target":"folder"},'
    '"notifications":[{"name":"chat","url":"https://chat.example/hook"},{"name":"pager","url":"https://p.example/","events":["health"]}]}'
)
SUCCESS_STATUS = JobStatus(state=State.SUCCESS, finished=1, message="done")


class WorkerDied(Exception):
    """End of a process in the middle of a transaction."""


async def submit_sync(connection: Connection) -> StoredJob:
    """Store a repository and a sync of it."""
    write = resources.Write(REPOSITORY, "r", SPEC, "v0alpha1", extract=Extract("R"))
    await resources.create(await resources.lock(connection, "default"), "default", write, actor="user:1", now=Clock().now())
    spec = JobSpec(action=Action.SYNC, repository="r", sync=SyncJobOptions())
    job = new_job("default", spec, uid=uuid.uuid4(), repository_type=RepositoryType.GITHOST, now=Clock().now())
    return (await jobs.submit(connection, JOB, [job], submitted_by={"uid": "user:1"})).jobs[0]


async def stored_events(connection: Connection) -> list[Any]:
    """Return the type of receiver, the target and the host of each stored event."""
    rows = await connection.fetch("select receiver, target, host from notification order by receiver")
    return [tuple(row) for row in rows]


async def update_and_die(database: Database, job: StoredJob) -> None:
    """Record the success of a sync, and end the process before the commit."""
    async with database.transaction() as connection:
        await sync_status.update(connection, job, SUCCESS_STATUS)
        assert len(await stored_events(connection)) == 2  # for the exchange and for "chat"
        raise WorkerDied


async def test_an_event_is_stored_with_the_end_of_the_sync_or_not_at_all(database: Database) -> None:
    """A rolled-back transaction stores neither the end of the sync nor its events; a committed one stores both."""
    async with database.transaction() as connection:
        job = await submit_sync(connection)
    with pytest.raises(WorkerDied):
        await update_and_die(database, job)
    async with database.connection() as connection:
        assert await stored_events(connection) == []
        assert "success" not in str(await connection.fetchval("select status from resource where name = 'r'"))
    async with database.transaction() as connection:
        await sync_status.update(connection, job, SUCCESS_STATUS)
    async with database.connection() as connection:
        assert await stored_events(connection) == [
            ("exchange", "repository.sync.success.default", "exchange/default"),
            ("webhook", "chat", "https://chat.example"),
        ]


async def test_only_ended_syncs_are_events(database: Database) -> None:
    """No event is stored for a sync that is pending or working, or whose repository was deleted before the sync ended."""
    async with database.transaction() as connection:
        job = await submit_sync(connection)
        for state in (State.PENDING, State.WORKING):
            await sync_status.update(connection, job, JobStatus(state=state))
        assert await stored_events(connection) == []
        await resources.delete(connection, REPOSITORY, "default", ["r"], actor="user:1")
        await sync_status.update(connection, job, SUCCESS_STATUS)
        assert await stored_events(connection) == []
