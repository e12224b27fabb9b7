"""Kinds of load: operations of clients, and the audit of their effects."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeAlias

import asyncpg
from tests.acceptance.polling import wait_until
from tests.faults.audit import Audit

#: Connection of an audit.
Database: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

#: Time between two operations of a client, so that the processes have time for their restarts.
_PAUSE_SECONDS = 0.2
#: Jobs that have not ended after this time without faults are stuck.
_END_SECONDS = 60.0
#: If no operation makes progress for this time after the last fault, the remaining ones are lost. It is long, because RabbitMQ waits for
#: minutes until it moves a delayed message again that a full queue has refused.
_PROGRESS_SECONDS = 300.0


class Load(Protocol):
    """Kind of load. A further kind is registered in ``_FACTORIES`` of ``all.py``."""

    name: str

    async def prepare(self) -> None:
        """Create what the operations need, before the first fault."""
        ...

    async def run(self) -> bool:
        """Do one operation, and record its result. Return whether it was accepted."""
        ...

    async def audit(self, database: Database) -> Audit:
        """Compare the operations with the database, after all faults have ended and all jobs have had time to end."""
        ...


async def repeat(load: Load, has_ended: asyncio.Event) -> None:
    """Do operations of a load until the event is set."""
    while not has_ended.is_set():
        await load.run()
        await asyncio.sleep(_PAUSE_SECONDS)


async def wait_while_fewer(expected: int, count: Callable[[], Awaitable[int]]) -> None:
    """Wait until a count reaches ``expected``, as long as it grows."""
    current = await count()
    with suppress(AssertionError):  # the audit reports what is missing
        while current < expected:
            before = current

            async def has_progress(before: int = before) -> bool:
                return await count() > before

            await wait_until(has_progress, seconds=_PROGRESS_SECONDS)
            current = await count()


async def wait_for_end(database: Database, uids: Sequence[str]) -> None:
    """Wait until jobs have ended, for a limited time."""
    all_have_ended = "select not exists (select from job where uid = any($1::uuid[]) and state in ('pending', 'working'))"
    with suppress(AssertionError):  # the audit reports what has not ended
        await wait_until(lambda: database.fetchval(all_have_ended, uids), seconds=_END_SECONDS)


async def audit_jobs(database: Database, jobs: dict[str, str], audit: Audit) -> None:
    """Add the findings about jobs, once they have had time to end. ``jobs`` maps their uids to the names of their operations."""
    await wait_for_end(database, list(jobs))
    rows: Sequence[Any] = await database.fetch(
        "select uid::text, name, state, status::json ->> 'message' as message from job where uid = any($1::uuid[])", list(jobs)
    )
    rows_by_uid = {row["uid"]: row for row in rows}
    for uid, operation in jobs.items():
        if uid not in rows_by_uid:
            audit.lost.append(f"{operation}: its job {uid} does not exist")
        elif rows_by_uid[uid]["state"] in ("pending", "working"):
            audit.stuck.append(f"{operation}: {rows_by_uid[uid]['name']} is {rows_by_uid[uid]['state']}")
        elif rows_by_uid[uid]["state"] != "success":
            audit.wrong.append(f"{operation}: {rows_by_uid[uid]['name']} ended with the error {rows_by_uid[uid]['message']}")
    ended_twice = await database.fetch(
        "select uid::text, count(*) from change where uid = any($1::uuid[]) and type <> 'DELETED' "
        "and status::json ->> 'state' in ('success', 'error') group by uid having count(*) > 1",
        list(jobs),
    )
    audit.doubled += [f"{jobs[row['uid']]}: job {row['uid']} ended {row['count']} times" for row in ended_twice]
