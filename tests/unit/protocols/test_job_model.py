"""Model of the life of jobs: wake-ups, claims of several jobs under a lease, group commits, crashes and late writes, in every order.

It models docs/explanation/jobs.md, implemented in ``common/stores/jobs.sql`` and ``common/work``. Two jobs of one concurrency group
with one slot, and a job without a group, run on two workers with two slots. Each fault happens at most once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, Self

import pytest
from tests.unit.protocols.state_space import explore

State = Literal["pending", "working", "success"]

#: The rules of a correct implementation. ``test_each_rule_is_needed`` removes one at a time.
ALL_RULES = frozenset({"check the lease", "check the group", "recover expired leases", "search periodically"})

#: Numbers of the jobs that share a concurrency group with one slot.
GROUP = frozenset({0, 1})
#: Number of jobs that a worker runs at the same time.
SLOTS = 2


@dataclass(frozen=True, slots=True)
class Job:
    """Row of a job."""

    state: State = "pending"
    #: The claim that holds the lease; claims are counted over all workers.
    owner: int | None = None
    #: Number of times that a result was recorded.
    results: int = 0


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job that a worker runs."""

    job: int
    #: The claim of the job.
    owner: int
    has_run: bool = False


@dataclass(frozen=True, slots=True)
class Jobs:
    """State of the database, the broker and the workers."""

    rules: frozenset[str] = ALL_RULES
    jobs: tuple[Job, ...] = (Job(), Job(), Job())
    #: The jobs that each worker runs.
    workers: tuple[tuple[ClaimedJob, ...], ...] = ((), ())
    #: Whether a wake-up is in the broker's queue. More than one have the same effect.
    is_woken: bool = True
    #: Number of claims of all workers.
    claims: int = 0
    #: The faults that have not happened yet.
    faults: frozenset[str] = frozenset({"loss", "crash", "freeze"})

    def steps(self) -> Iterator[tuple[str, Self]]:
        """Yield the steps of broker, workers and recovery."""
        if self.is_woken and "loss" in self.faults:
            yield "broker loses a wake-up", self._with_fault("loss", is_woken=False)
        for index, running in enumerate(self.workers):
            yield from self._worker_steps(index, running)
        yield from self._recovery_steps()

    def _worker_steps(self, index: int, running: tuple[ClaimedJob, ...]) -> Iterator[tuple[str, Self]]:
        """Yield the claims of a worker, the runs and ends of its jobs, and its crash."""
        # A worker that has just finished a job searches again, and an idle worker does so periodically.
        searches = self.is_woken or "search periodically" in self.rules
        if searches and len(running) < SLOTS:
            for count in range(1, SLOTS - len(running) + 1):
                if (claimed := self._claim(index, count)) is not None:
                    yield f"worker {index} claims {count}", claimed
        for position, item in enumerate(running):
            if not item.has_run:
                after_run = (*running[:position], replace(item, has_run=True), *running[position + 1 :])
                yield f"worker {index} runs job {item.job}", self._with_worker(index, after_run)
        if ended := [item for item in running if item.has_run]:
            yield f"worker {index} finishes {len(ended)} jobs in one commit", self._finish(index, ended)
        if running and "crash" in self.faults:
            yield f"worker {index} crashes", self._with_fault("crash")._with_worker(index, ())

    def _claim(self, index: int, count: int) -> Self | None:
        """Return the state after a claim of up to ``count`` jobs of one queue, or None if no job is claimable."""
        is_group_free = "check the group" not in self.rules or all(self.jobs[number].state != "working" for number in GROUP)
        pending = [number for number, job in enumerate(self.jobs) if job.state == "pending"]
        # The group has one slot, so at most one of its jobs is claimed.
        group = [number for number in pending if number in GROUP][:1] if is_group_free else []
        chosen = (group or [number for number in pending if number not in GROUP])[:count]
        if not chosen:
            return None
        owner = self.claims + 1
        state = replace(self, claims=owner, is_woken=False)
        for number in chosen:
            state = state._with_job(number, replace(state.jobs[number], state="working", owner=owner))
        return state._with_worker(index, (*self.workers[index], *(ClaimedJob(number, owner) for number in chosen)))

    def _finish(self, index: int, ended: list[ClaimedJob]) -> Self:
        """Return the state after a worker recorded the results of its ended jobs. Results of jobs whose lease it lost are ignored."""
        state = self._with_worker(index, tuple(item for item in self.workers[index] if item not in ended))
        for item in ended:
            job = state.jobs[item.job]
            if "check the lease" not in self.rules or (job.state, job.owner) == ("working", item.owner):
                state = state._with_job(item.job, Job("success", owner=None, results=job.results + 1))
        # The worker searches after the end of a job, as after a wake-up.
        return replace(state, is_woken=True)

    def _recovery_steps(self) -> Iterator[tuple[str, Self]]:
        """Yield the ends of leases: of jobs that no worker holds, and once of a job whose worker still runs it."""
        held = {(item.job, item.owner) for running in self.workers for item in running}
        for number, job in enumerate(self.jobs):
            if job.state != "working" or "recover expired leases" not in self.rules:
                continue
            requeued = replace(self, is_woken=True)._with_job(number, replace(job, state="pending", owner=None))
            if (number, job.owner) not in held:
                yield f"the lease of job {number} expires", requeued
            elif "freeze" in self.faults:
                yield f"the worker of job {number} freezes beyond its lease", requeued._with_fault("freeze")

    def _with_fault(self, fault: str, **changes: bool) -> Self:
        """Return the state after a fault, which happens only once."""
        return replace(self, faults=self.faults - {fault}, **changes)  # type: ignore[arg-type]

    def _with_job(self, number: int, job: Job) -> Self:
        """Return the state with another row of a job."""
        return replace(self, jobs=(*self.jobs[:number], job, *self.jobs[number + 1 :]))

    def _with_worker(self, index: int, running: tuple[ClaimedJob, ...]) -> Self:
        """Return the state in which a worker runs other jobs."""
        return replace(self, workers=(*self.workers[:index], running, *self.workers[index + 1 :]))

    @property
    def is_done(self) -> bool:
        """True if every job has ended."""
        return all(job.state == "success" for job in self.jobs)

    def check(self, *, is_final: bool) -> None:
        """Raise AssertionError if a result is recorded twice, the group exceeds its slot, or a job never ends."""
        assert all(job.results <= 1 for job in self.jobs), "a result is recorded twice"
        assert sum(self.jobs[number].state == "working" for number in GROUP) <= 1, "two jobs of a group run at the same time"
        assert self.is_done or not is_final, "a job never ends"


@pytest.mark.exhaustive
def test_every_job_ends_exactly_once() -> None:
    """With a lost wake-up, a crash and a frozen worker, each job ends, and its result is recorded once."""
    search = explore(Jobs(), goal=lambda jobs: jobs.is_done)
    assert search.violation is None
    # The search has not ended early: the model has far more states than an error in it would leave.
    assert search.states > 1_000


@pytest.mark.exhaustive
@pytest.mark.parametrize("rule", sorted(ALL_RULES))
def test_each_rule_is_needed(rule: str) -> None:
    """Without one of the rules of the model, some order of steps breaks an invariant."""
    assert explore(Jobs(rules=ALL_RULES - {rule}), goal=lambda jobs: jobs.is_done).violation is not None
