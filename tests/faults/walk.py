"""Random walk: faults of all kinds are injected while clients do all kinds of operations, and everything is audited in the end."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from random import Random

import asyncpg
import structlog
from tests.acceptance.client import DASHBOARDS, PROVISIONING
from tests.acceptance.log_checks import unexpected_failures
from tests.faults.audit import Audit
from tests.faults.faults import Fault, FaultTargets
from tests.faults.kill_points import KILL_POINTS
from tests.faults.loads.all import all_loads
from tests.faults.loads.evaluations import EVALUATIONS
from tests.faults.loads.load import Load, repeat
from tests.faults.loads.queue import QueueSubmitter
from tests.faults.network_faults import NETWORK_FAULTS
from tests.faults.process_faults import PROCESS_FAULTS, KillPointFaults
from tests.faults.report import Report
from tests.faults.server_faults import SERVER_FAULTS
from tests.faults.watcher import Watcher

#: Clients that do operations of one kind of load concurrently.
_CLIENTS = 2
_LONGEST_PAUSE_SECONDS = 0.5
#: A walk of this duration reaches every kill point.
COMPLETE_MINUTES = 10
_LONGEST_FAULT_SECONDS = 90.0
#: Time after the walk for the kill points that other faults kept from being reached.
_MISSED_POINTS_SECONDS = 300.0

_AT_NAMED_POINT = "process killed at a named point"

log = structlog.get_logger()


class Walk:
    """Random walk of a given duration. Walks with one seed have the same faults in the same order, at other moments."""

    def __init__(self, targets: FaultTargets, *, seed: int, minutes: float) -> None:
        self._targets = targets
        self._seed = seed
        self._minutes = minutes
        self._injected: Counter[str] = Counter()
        self._kill_points = KillPointFaults(Random(seed))
        self._has_ended = asyncio.Event()
        self._unhealed: list[str] = []

    async def run(self) -> Report:
        """Inject faults for the duration, wait until the system has recovered, and return what the audits found."""
        random.seed(self._seed)
        system = self._targets.system
        async with AsyncExitStack() as exit_stack:
            queue = QueueSubmitter(system.amqp_url)
            exit_stack.push_async_callback(queue.close)
            loads = all_loads(system, queue)
            for load in loads:
                await load.prepare()
            watchers = [
                Watcher(system, DASHBOARDS, "dashboards"),
                Watcher(system, f"{PROVISIONING}/jobs", "jobs"),
                Watcher(system, EVALUATIONS, "evaluations"),
            ]
            for watcher in watchers:
                await watcher.start()
            clients = [asyncio.create_task(repeat(load, self._has_ended)) for load in loads for _ in range(_CLIENTS)]
            try:
                await self._inject_faults()
                for member in system.members:
                    await member.wait_for_replacement()
            finally:
                self._has_ended.set()
                await asyncio.gather(*clients)
            if self._minutes >= COMPLETE_MINUTES:
                await self._reach_missed_points(loads)
            database = await asyncpg.connect(system.database_url)
            exit_stack.push_async_callback(database.close)
            audits: list[Audit] = []
            subjects: list[Load | Watcher] = [*loads, *watchers]
            for subject in subjects:
                audits.append(await subject.audit(database))
                log.info("audited", load=audits[-1].load, findings=audits[-1].findings[:3])
        started, failed = self._count_starts()
        audits.append(
            Audit("processes", is_operation=False, accepted=started, refused=failed, stuck=self._unhealed, wrong=self._logged_failures())
        )
        points = {str(point): self._kill_points.hits[point] for point in KILL_POINTS}
        return Report(self._seed, self._minutes, dict(self._injected), points, dict(system.outcomes), audits)

    async def _inject_faults(self) -> None:
        """Inject the faults of both groups concurrently, one of each group at a time."""
        at_named_point = Fault(_AT_NAMED_POINT, self._kill_points.inject)
        groups: list[Sequence[Fault]] = [
            # Kill points more often than the others, since there are many of them.
            [at_named_point] * 20 + [*PROCESS_FAULTS],
            # Restarts of servers take longest.
            [*NETWORK_FAULTS * 4, *SERVER_FAULTS],
        ]
        deadline = asyncio.get_running_loop().time() + self._minutes * 60
        async with asyncio.TaskGroup() as injectors:
            for index, faults in enumerate(groups):
                injectors.create_task(self._inject(faults, Random(f"{self._seed}/{index}"), deadline))

    async def _reach_missed_points(self, loads: Sequence[Load]) -> None:
        """Kill processes at the points that were not reached, while only the clients that lead to them work."""
        random_source, has_ended = Random(f"{self._seed}/missed"), asyncio.Event()
        names = {point.load for point in self._kill_points.missed}
        clients = [asyncio.create_task(repeat(load, has_ended)) for load in loads if load.name in names for _ in range(_CLIENTS)]
        try:
            with suppress(TimeoutError):  # the report names the points
                async with asyncio.timeout(_MISSED_POINTS_SECONDS):
                    while self._kill_points.missed:
                        await self._kill_points.inject(self._targets, random_source)
                        self._injected[_AT_NAMED_POINT] += 1
            for member in self._targets.system.members:
                await member.wait_for_replacement()
        finally:
            has_ended.set()
            await asyncio.gather(*clients)

    async def _inject(self, faults: Sequence[Fault], random_source: Random, deadline: float) -> None:
        """Inject faults one after the other until the deadline."""
        loop = asyncio.get_running_loop()
        while loop.time() < deadline:
            fault, began_at = random_source.choice(faults), loop.time()
            try:
                async with asyncio.timeout(_LONGEST_FAULT_SECONDS):
                    await fault.inject(self._targets, random_source)
            except TimeoutError:
                self._unhealed.append(f"{fault.name} was not healed within {_LONGEST_FAULT_SECONDS:g} s")
            self._injected[fault.name] += 1
            log.info("fault_injected", fault=fault.name, seconds=round(loop.time() - began_at, 1))
            await asyncio.sleep(random_source.uniform(0.0, _LONGEST_PAUSE_SECONDS))

    def _count_starts(self) -> tuple[int, int]:
        """Return the number of processes that served, and the number of failed starts.

        A failed start, which is permitted, ended with a message.
        """
        members = self._targets.system.members
        failed = sum(len(member.failed_starts) for member in members)
        return sum(len(member.processes) for member in members) - failed, failed

    def _logged_failures(self) -> list[str]:
        """Return the unexpected failures in the logs of all processes."""
        members = self._targets.system.members
        failures = [failure for member in members for process in member.processes for failure in unexpected_failures(process)]
        return failures + [failure for member in members for failure in member.failed_starts if "Traceback" in failure]
