"""Faults of the processes of services: killed at named points or at any moment, frozen, restarted, and with a wrong clock."""

import asyncio
import signal
from collections import Counter
from contextlib import suppress
from random import Random

import structlog
from tests.faults.faults import Fault, FaultTargets
from tests.faults.kill_points import KILL_POINTS, KillPoint

#: Longer than the lease of a job.
_FREEZE_SECONDS = 2.5
#: Time in which a kill point must be reached; otherwise another one is tried.
_WAIT_SECONDS = 6.0
_MAX_TRIES = 5
_LARGEST_CLOCK_SHIFT_SECONDS = 7200

log = structlog.get_logger()


class KillPointFaults:
    """Kills at all named points, first at those that were tried least often."""

    def __init__(self, random: Random) -> None:
        #: Number of kills at each point.
        self.hits: Counter[KillPoint] = Counter()
        self._tries: Counter[KillPoint] = Counter()
        self._points = random.sample(KILL_POINTS, len(KILL_POINTS))

    async def inject(self, targets: FaultTargets, random: Random) -> None:
        """Kill a process at the next point that is reached, and replace it in the background."""
        for _ in range(_MAX_TRIES):
            point = self._next_point(targets)
            self._tries[point] += 1
            members = targets.system.members_of(point.program)
            for member in members:
                await member.wait_for_replacement()
            member = random.choice(members)
            is_hit = member.traps.arm(point.moment, member.kill)
            try:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_WAIT_SECONDS):
                        await asyncio.shield(is_hit)
            finally:
                is_hit.cancel()
                # Every killed process needs a successor, even if the walk ends, or the time ended just when the kill began.
                is_killed = not member.is_serving
                if is_killed:
                    member.replace_soon()
            if is_killed:
                self.hits[point] += 1
                log.info("killed", point=str(point))
                return
            log.info("kill_point_not_reached", point=str(point))

    @property
    def missed(self) -> list[KillPoint]:
        """The points at which no process was killed so far."""
        return [point for point in self._points if not self.hits[point]]

    def _next_point(self, targets: FaultTargets) -> KillPoint:
        """Return a kill point of a service with several processes, all of which serve, so that another one can continue the work."""
        absent = {member.program for member in targets.system.members if not member.is_serving}
        return min(self._points, key=lambda point: (point.program in absent, self.hits[point] > 0, self._tries[point]))


async def _kill(targets: FaultTargets, random: Random) -> None:
    """Kill a process, and replace it after some time."""
    member = targets.member(random)
    await member.kill()
    await asyncio.sleep(random.uniform(0.0, 2.0))
    member.replace_soon()


async def _freeze(targets: FaultTargets, random: Random) -> None:
    """Stop a process by SIGSTOP, which it cannot notice, and continue it when its leases have expired."""
    member = targets.member(random)
    member.process.send(signal.SIGSTOP)
    await asyncio.sleep(random.uniform(_FREEZE_SECONDS, 2 * _FREEZE_SECONDS))
    member.process.send(signal.SIGCONT)


async def _restart(targets: FaultTargets, random: Random) -> None:
    """Stop a process by SIGTERM, and start another one."""
    await targets.member(random).restart()


async def _shift_clock(targets: FaultTargets, random: Random) -> None:
    """Set the clock of a process forward or back, and correct it after some seconds."""
    clock = random.choice([member.clock for member in targets.system.members if member.clock is not None])
    clock.shift(random.randint(-_LARGEST_CLOCK_SHIFT_SECONDS, _LARGEST_CLOCK_SHIFT_SECONDS))
    await asyncio.sleep(random.uniform(2.0, 4.0))
    clock.shift(0)


PROCESS_FAULTS = (
    Fault("process killed at any moment", _kill),
    Fault("process frozen beyond its leases", _freeze),
    Fault("process restarted", _restart),
    Fault("clock set wrong", _shift_clock),
)
