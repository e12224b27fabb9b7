"""A row of the table: what was measured, of the product and of its reference, and the goal."""

import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np

Round = Callable[[], Awaitable[Sequence[float]]]
"""One round: the seconds that each of many operations took."""

ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Row:
    """``product`` and ``reference`` are the medians of the rounds, in ``unit``; ``goal`` is the largest ratio that meets it."""

    id: str
    path: str
    unit: str
    product: float
    reference: float
    goal: float

    @property
    def ratio(self) -> float:
        return self.product / self.reference

    @property
    def is_met(self) -> bool:
        return self.ratio <= self.goal


def percentile(values: Sequence[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


async def in_turns(*plays: Round, rounds: int = ROUNDS) -> list[list[Sequence[float]]]:
    """Rounds of each, one after the other, so that a drift of the machine hits all. The first of each is a warm-up and dropped."""
    measured: list[list[Sequence[float]]] = [[] for _ in plays]
    for number in range(rounds + 1):
        for kept, play in zip(measured, plays, strict=True):
            values = await play()
            if number:
                kept.append(values)
    return measured


def median_of(rounds: Sequence[Sequence[float]], percent: float) -> float:
    """The median over the rounds of one percentile in each."""
    return statistics.median(percentile(values, percent) for values in rounds)


def repeated(function: Callable[[], object], runs: int = 5) -> Round:
    """A round of some calls of a function, without the garbage collector's own pace in it."""

    async def play() -> Sequence[float]:
        seconds = []
        gc.collect()
        gc.disable()
        for _ in range(runs):
            started = time.perf_counter()
            function()
            seconds.append(time.perf_counter() - started)
        gc.enable()
        return seconds

    return play


def memcpy(size: int) -> Callable[[], object]:
    """Copies so many bytes that reading and writing them together is ``size``."""
    source, target = np.ones(size // 16), np.ones(size // 16)
    return lambda: np.copyto(target, source)


async def compared(
    name: str, path: str, goal: float, product: Callable[[], object], reference: Callable[[], object], *, runs: int = 5, scale: float = 1.0
) -> Row:
    """A row of two functions of this process: the fastest run of each round, which others on the machine disturb least.

    ``scale``: how many times the reference's work was made smaller.
    """
    measured, bare = await in_turns(repeated(product, runs), repeated(reference, runs))
    return Row(name, path, "ms", median_of(measured, 0) * 1000, median_of(bare, 0) * 1000 * scale, goal)
