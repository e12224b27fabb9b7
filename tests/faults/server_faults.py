"""Faults of PostgreSQL and RabbitMQ."""

import asyncio
from contextlib import AsyncExitStack, suppress
from random import Random

import asyncpg
from tests.faults.faults import Fault, FaultTargets

#: More connections than the server permits.
_MAX_CONNECTIONS = 300
#: Steps that write rows, and so fail on a full disk.
_WRITES = ("jobs.submit", "jobs.claim", "jobs.finish", "evaluations.create_results", "accepted_messages.record", "resources.write_one")
#: SQLSTATE of the error ``disk_full``.
_DISK_FULL = "53100"


async def _restart_database(targets: FaultTargets, random: Random) -> None:
    """Stop the database in an orderly way, and start it again."""
    await targets.database.stop()
    await asyncio.sleep(random.uniform(0.0, 1.5))
    await targets.database.start()


async def _crash_database(targets: FaultTargets, random: Random) -> None:
    """Stop the database without a checkpoint, and start it again."""
    await targets.database.crash()
    await asyncio.sleep(random.uniform(0.0, 1.0))
    await targets.database.start()


async def _terminate_backends(targets: FaultTargets, random: Random) -> None:
    """End about seven of ten connections of the services on the side of the database."""
    connection = await asyncpg.connect(targets.system.database_url)
    await connection.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'dashwright-%' and random() < 0.7"
    )
    await connection.close()
    await asyncio.sleep(random.uniform(0.2, 1.0))


async def _exhaust_connections(targets: FaultTargets, random: Random) -> None:
    """Take all connections of the server, after ending those of the services."""
    async with AsyncExitStack() as connections:
        with suppress(asyncpg.TooManyConnectionsError):
            for index in range(_MAX_CONNECTIONS):
                connection = await asyncpg.connect(targets.system.database_url)
                connections.push_async_callback(connection.close)
                # With this connection in place, the services' connections are ended, and the next ones take their places.
                if index == 0:
                    await connection.execute(
                        "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'dashwright-%'"
                    )
        await asyncio.sleep(random.uniform(0.5, 2.0))


async def _fill_disk_of_database(targets: FaultTargets, random: Random) -> None:
    """Make some kinds of writes fail with the error of a full disk."""
    steps = random.sample(_WRITES, 3)
    for member in targets.system.members:
        member.refusals |= dict.fromkeys(steps, _DISK_FULL)
    await asyncio.sleep(random.uniform(1.0, 3.0))
    for member in targets.system.members:
        member.refusals.clear()


async def _restart_broker(targets: FaultTargets, random: Random) -> None:
    """Stop the broker in an orderly way, and start it again."""
    await targets.broker.stop()
    await asyncio.sleep(random.uniform(0.0, 1.0))
    await targets.broker.start()


async def _fill_queue(targets: FaultTargets, random: Random) -> None:
    """Limit a queue to one message, so that the broker refuses further ones."""
    queue = random.choice(["submit", "work"])
    await targets.broker.control("set_policy", "full", rf"^dashwright\.jobs\.{queue}$", '{"max-length": 1}', "--apply-to", "queues")
    await asyncio.sleep(random.uniform(1.0, 3.0))
    await targets.broker.control("clear_policy", "full")


async def _fill_disk_of_broker(targets: FaultTargets, random: Random) -> None:
    """Set the limit of free disk space above the free space, so that the broker blocks publishers."""
    await targets.broker.control("set_disk_free_limit", "900000GB")
    await asyncio.sleep(random.uniform(1.0, 6.0))
    await targets.broker.control("set_disk_free_limit", "50MB")


SERVER_FAULTS = (
    Fault("PostgreSQL restarted", _restart_database),
    Fault("PostgreSQL crashed", _crash_database),
    Fault("backends terminated", _terminate_backends),
    Fault("database connections exhausted", _exhaust_connections),
    Fault("database disk full", _fill_disk_of_database),
    Fault("RabbitMQ restarted", _restart_broker),
    Fault("queue full", _fill_queue),
    Fault("RabbitMQ disk full", _fill_disk_of_broker),
)
