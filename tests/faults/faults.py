"""Faults of a random walk. Each is injected into a running system, lasts some seconds, and is healed before the next of its group."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random

from tests.faults.member import Member
from tests.faults.system import System
from tests.proxies.tcp_proxy import TcpProxy
from tests.servers import postgres, rabbitmq


@dataclass(frozen=True, slots=True)
class FaultTargets:
    """System, servers and proxies on which faults act."""

    system: System
    database: postgres.PrivatePostgres
    broker: rabbitmq.PrivateRabbitmq
    #: Other addresses of the database and the broker, for failovers.
    standby_database: TcpProxy
    standby_broker: TcpProxy

    def member(self, random: Random) -> Member:
        """Return a random member that serves, or any member if all are being replaced."""
        return random.choice([member for member in self.system.members if member.is_serving] or self.system.members)


@dataclass(frozen=True, slots=True)
class Fault:
    """Fault with its name in the report. ``inject`` returns when the fault is healed."""

    name: str
    inject: Callable[[FaultTargets, Random], Awaitable[None]]
