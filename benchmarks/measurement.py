"""A row of the table: the figures of the product and its reference, and the goal."""

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
    """A measured row."""

    id: str
    path: str
    unit: str
    #: The median of the rounds, in ``unit``, as is ``reference``.
    product: float
    reference: float
    #: The largest ratio that meets the goal.
    goal: float

    @property
    def ratio(self) -> float:
        """The product's figure divided by the reference's."""
        return self.product / self.reference

    @property
    def is_met(self) -> bool:
        """True if the ratio meets the goal."""
        return self.ratio <= self.goal


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


async def in_turns(*plays: Round, rounds: int = ROUNDS) -> list[list[Sequence[float]]]:
    """Run rounds of each alternately, so that a drift of the machine affects all. The first of each is a warm-up."""
    measured: list[list[Sequence[float]]] = [[] for _ in plays]
    for index in range(rounds + 1):
        for kept, play in zip(measured, plays, strict=True):
            values = await play()
            if index:
                kept.append(values)
    return measured


def median_of(rounds: Sequence[Sequence[float]], percent: float) -> float:
    """Return the median over the rounds of one percentile of each."""
    return statistics.median(percentile(values, percent) for values in rounds)


def repeated(function: Callable[[], object], runs: int = 5) -> Round:
    """Return a round of several calls of a function with the garbage collector disabled."""

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
    """Return a function that copies so many bytes that reading and writing them together is ``size``."""
    source, target = np.ones(size // 16), np.ones(size // 16)
    return lambda: np.copyto(target, source)


async def compared(
    name: str, path: str, goal: float, product: Callable[[], object], reference: Callable[[], object], *, runs: int = 5, scale: float = 1.0
) -> Row:
    """Return a row of two functions of this process: the fastest run of each round, which other processes disturb least.

    ``scale`` is the factor by which the reference's work was reduced.
    """
    measured, bare = await in_turns(repeated(product, runs), repeated(reference, runs))
    return Row(name, path, "ms", median_of(measured, 0) * 1000, median_of(bare, 0) * 1000 * scale, goal)
