"""Each process is killed at each named point of its work: what was accepted is stored once, and jobs end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import asyncpg
import pytest
import pytest_asyncio
from tests.faults.kill_points import KILL_POINTS, KillPoint
from tests.faults.loads.all import all_loads
from tests.faults.loads.load import Database, Load, repeat
from tests.faults.loads.queue import QueueSubmitter
from tests.faults.system import System
from tests.servers import databases
from tests.servers.virtual_hosts import VirtualHosts

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: The point that ``make test`` checks, too.
_SMOKE_TEST = "dashwright-api: after commit of jobs.submit (jobs by queue)"

#: Operations are repeated until the point is reached, for at most this time.
_HIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class LoadedSystem:
    """A running system with its loads."""

    system: System
    loads: dict[str, Load]
    database: Database


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def loaded_system(
    postgres_dsn: str, _template: str, _virtual_hosts: VirtualHosts, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[LoadedSystem]:
    """Return a system for all tests of the module: a killed process is replaced."""
    async with AsyncExitStack() as exit_stack:
        database_url = await exit_stack.enter_async_context(databases.temporary_database(postgres_dsn, _template))
        amqp_url = await _virtual_hosts.make()
        exit_stack.push_async_callback(_virtual_hosts.remove, amqp_url)
        system = await exit_stack.enter_async_context(System(database_url, amqp_url, tmp_path_factory.mktemp("faults")))
        queue = QueueSubmitter(amqp_url)
        exit_stack.push_async_callback(queue.close)
        database = await asyncpg.connect(database_url)
        exit_stack.push_async_callback(database.close)
        loads = {load.name: load for load in all_loads(system, queue)}
        for load in loads.values():
            await load.prepare()
        yield LoadedSystem(system, loads, database)


@pytest.mark.parametrize(
    "point", [pytest.param(point, id=str(point), marks=[] if str(point) == _SMOKE_TEST else pytest.mark.faults) for point in KILL_POINTS]
)
async def test_a_process_is_killed_at_a_named_point(loaded_system: LoadedSystem, point: KillPoint) -> None:
    """A process is killed at the point. Its successor completes the work, and nothing is lost or doubled."""
    (member,), load = loaded_system.system.members_of(point.program), loaded_system.loads[point.load]
    is_hit = member.traps.arm(point.moment, member.kill)
    async with asyncio.timeout(_HIT_SECONDS):
        has_ended = asyncio.Event()
        operations = asyncio.create_task(repeat(load, has_ended))
        await is_hit
    assert not member.process.is_running
    has_ended.set()
    await member.start()
    await operations
    audit = await load.audit(loaded_system.database)
    assert not audit.findings
