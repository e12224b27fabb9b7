"""Q7: writes of dashboards by eight concurrent writers, in eight organizations and in one.

A transaction holds the lock of its organization's namespace until its commit. So writers of one organization wait for each other, and
writers of different organizations do not.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.generated_dashboards import dashboard_spec
from benchmarks.measurement import Row, alternate, median_ms
from dashwright.common.database.pool import Database
from dashwright.common.identity import namespace_of
from dashwright.common.json_documents import write_json
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.stores import resources

_WRITERS = 8
#: Writes of each writer in a round.
_WRITES_PER_WRITER = 40
#: The first organization, which exists already, is not used.
_FIRST_ORG_ID = 2


async def rows(database_url: str, _amqp_url: str, _folder: Path) -> list[Row]:
    """Return the row of Q7: the time until all writers have finished."""
    async with AsyncExitStack() as exit_stack:
        database = await Database.open(database_url, application_name="concurrent-writes", min_size=_WRITERS, max_size=_WRITERS)
        exit_stack.push_async_callback(database.close)

        async def write_in_organizations(count: int) -> Sequence[float]:
            """Return the seconds of a round in which the writers are spread over ``count`` organizations."""
            # The bodies are created before the clock starts, because they take a fifth of the processor time of this process.
            writes = [[_new_write(writer) for _ in range(_WRITES_PER_WRITER)] for writer in range(_WRITERS)]
            namespaces = [namespace_of(_FIRST_ORG_ID + writer % count) for writer in range(_WRITERS)]
            started = time.perf_counter()
            await asyncio.gather(*(_write(database, *arguments) for arguments in zip(namespaces, writes, strict=True)))
            return [time.perf_counter() - started]

        separate_seconds, shared_seconds = await alternate(lambda: write_in_organizations(_WRITERS), lambda: write_in_organizations(1))
    path = f"{_WRITERS} writers, {_WRITERS * _WRITES_PER_WRITER} dashboards of 7 KB: {_WRITERS} organizations, to one"
    return [Row("Q7", path, "ms", median_ms(separate_seconds), median_ms(shared_seconds), 0.5)]


def _new_write(writer: int) -> resources.Write:
    """Return a write of the writer's dashboard with a new title, since a write without changes would store nothing."""
    spec = {**dashboard_spec(writer, panels=7), "title": f"{writer} at {time.perf_counter_ns()}"}
    return resources.Write(DASHBOARD, f"d{writer}", write_json(spec).decode(), "v1beta1", extract=Extract(spec["title"]))


async def _write(database: Database, namespace: str, writes: Sequence[resources.Write]) -> None:
    """Run the writes one after the other, each in a transaction of its own."""
    for write in writes:
        async with database.transaction() as connection:
            locked = await resources.lock(connection, namespace)
            await resources.put(locked, namespace, write, actor="user:1", now=datetime.now(UTC))
