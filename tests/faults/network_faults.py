"""Faults of the network between services and servers."""

import asyncio
from random import Random

from tests.faults.faults import Fault, FaultTargets
from tests.proxies.tcp_proxy import TcpProxy


async def _abort_connections(targets: FaultTargets, random: Random) -> None:
    """Abort all connections of one member to its servers."""
    await targets.member(random).abort_connections()
    await asyncio.sleep(random.uniform(0.2, 1.0))


def _choose_proxy(targets: FaultTargets, random: Random) -> TcpProxy:
    """Return a random proxy between a member and one of its servers."""
    member = targets.member(random)
    return random.choice([member.database, member.broker])


async def _refuse_connections(targets: FaultTargets, random: Random) -> None:
    """End the connections of one member to a server, and refuse new ones for some time."""
    proxy = _choose_proxy(targets, random)
    await proxy.disconnect()
    await asyncio.sleep(random.uniform(0.5, 3.0))
    await proxy.connect()


async def _partition(targets: FaultTargets, random: Random) -> None:
    """Hold back all bytes between one member and a server for some time, without ending a connection."""
    proxy = _choose_proxy(targets, random)
    proxy.hold()
    await asyncio.sleep(random.uniform(0.5, 4.0))
    proxy.release()


async def _slow_down(targets: FaultTargets, random: Random) -> None:
    """Delay the bytes of up to three proxies for some time."""
    proxies = [_choose_proxy(targets, random) for _ in range(3)]
    for proxy in proxies:
        proxy.delay_seconds = random.uniform(0.01, 0.1)
    await asyncio.sleep(random.uniform(1.0, 3.0))
    for proxy in proxies:
        proxy.delay_seconds = 0.0


async def _fail_over(targets: FaultTargets, random: Random) -> None:
    """Abort all connections to the database or the broker, and forward the new ones to another address."""
    is_database = random.random() < 0.5
    standby = targets.standby_database if is_database else targets.standby_broker
    for member in targets.system.members:
        proxy = member.database if is_database else member.broker
        proxy.redirect(standby.url)
        proxy.abort()
    await asyncio.sleep(random.uniform(0.5, 2.0))


NETWORK_FAULTS = (
    Fault("connections aborted", _abort_connections),
    Fault("server refuses connections", _refuse_connections),
    Fault("partition", _partition),
    Fault("slow network", _slow_down),
    Fault("failover to another address", _fail_over),
)
