"""Q7: writes of objects by eight writers, in eight organizations and in one.

Writers of one organization wait for each other from the lock to the commit; those of different organizations do not.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.measurement import Row, in_turns, median_of
from benchmarks.resources import spec_of
from dashwright.common.database.pool import Database
from dashwright.common.identity import namespace_of
from dashwright.common.json_documents import write_json
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.stores import resources

_WRITERS = 8
_WRITES = 40


async def rows(database_url: str, _amqp_url: str, _folder: Path) -> list[Row]:
    """Return the row of Q7: the time of all writes together."""
    async with AsyncExitStack() as opened:
        database = await Database.open(database_url, application_name="concurrent-writes", min_size=_WRITERS, max_size=_WRITERS)
        opened.push_async_callback(database.close)

        async def in_organizations(count: int) -> Sequence[float]:
            # Building the bodies takes a fifth of the processor time of this process, and is not part of a write.
            writes = [[_new_write(writer) for _ in range(_WRITES)] for writer in range(_WRITERS)]
            started = time.perf_counter()
            await asyncio.gather(*(_write(database, namespace_of(2 + writer % count), writes[writer]) for writer in range(_WRITERS)))
            return [time.perf_counter() - started]

        separate, shared = await in_turns(lambda: in_organizations(_WRITERS), lambda: in_organizations(1))
    path = f"{_WRITERS} writers, {_WRITERS * _WRITES} dashboards of 7 KB: {_WRITERS} organizations, to one"
    return [Row("Q7", path, "ms", median_of(separate, 50) * 1000, median_of(shared, 50) * 1000, 0.5)]


def _new_write(writer: int) -> resources.Write:
    spec = {**spec_of(writer, panels=7), "title": f"{writer} at {time.perf_counter_ns()}"}
    return resources.Write(DASHBOARD, f"d{writer}", write_json(spec).decode(), "v1beta1", extract=Extract(spec["title"]))


async def _write(database: Database, namespace: str, writes: Sequence[resources.Write]) -> None:
    for write in writes:
        async with database.transaction() as connection:
            locked = await resources.lock(connection, namespace)
            await resources.put(locked, namespace, write, actor="user:1", now=datetime.now(UTC))
