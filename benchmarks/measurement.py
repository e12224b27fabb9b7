"""Measurement of a product and its reference in alternating rounds, and the rows of the result table."""

import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np

Round = Callable[[], Awaitable[Sequence[float]]]
"""Runs one round and returns its figures, which are usually the seconds of each operation."""

#: Measured rounds. An odd number, so that the median is the figure of a round.
ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the result table: the figures of the product and its reference, and the goal."""

    #: The id of the benchmark, such as ``E8``; several rows can have the same.
    id: str
    #: What is measured, and after *to* what it is compared with.
    path: str
    #: The unit of ``product`` and ``reference``.
    unit: str
    product: float
    #: A fixed limit if the goal is absolute.
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
    """Return the value below which ``percent`` of the values are; 0 percent is the minimum."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


async def alternate(*rounds: Round, count: int = ROUNDS) -> list[list[Sequence[float]]]:
    """Run the rounds in alternation, ``count`` times each, and return the figures by round.

    A change in the speed of the machine thus affects all of them. Each has one additional first run as a warm-up, which is not returned.
    """
    figures: list[list[Sequence[float]]] = [[] for _ in rounds]
    for index in range(count + 1):
        for figures_of_round, run_round in zip(figures, rounds, strict=True):
            values = await run_round()
            if index > 0:
                figures_of_round.append(values)
    return figures


def median_percentile(rounds: Sequence[Sequence[float]], percent: float) -> float:
    """Return the median over the rounds of one percentile of each."""
    return statistics.median(percentile(values, percent) for values in rounds)


def median_ms(rounds: Sequence[Sequence[float]], percent: float = 50) -> float:
    """Return the median over the rounds of one percentile of each, converted from seconds to milliseconds."""
    return median_percentile(rounds, percent) * 1000


def sequential_calls(call: Callable[[], Awaitable[object]], calls: int) -> Round:
    """Return a round of calls, one after the other; its figures are the seconds of each call."""

    async def run_round() -> Sequence[float]:
        seconds = []
        for _ in range(calls):
            started = time.perf_counter()
            await call()
            seconds.append(time.perf_counter() - started)
        return seconds

    return run_round


def function_calls(function: Callable[[], object], calls: int = 5) -> Round:
    """Return a round of calls of a synchronous function, with the garbage collector disabled."""

    async def run_round() -> Sequence[float]:
        seconds = []
        # The garbage of earlier rounds is collected before the measurement, and none during it.
        gc.collect()
        gc.disable()
        for _ in range(calls):
            started = time.perf_counter()
            function()
            seconds.append(time.perf_counter() - started)
        gc.enable()
        return seconds

    return run_round


def memcpy(traffic_bytes: int) -> Callable[[], object]:
    """Return a function that copies half as many bytes as ``traffic_bytes``, since a copy reads and writes each byte."""
    float64_count = traffic_bytes // 2 // np.dtype(np.float64).itemsize
    source, target = np.ones(float64_count), np.ones(float64_count)
    return lambda: np.copyto(target, source)


async def compare_functions(
    row_id: str,
    path: str,
    goal: float,
    product: Callable[[], object],
    reference: Callable[[], object],
    *,
    calls: int = 5,
    reference_scale: float = 1.0,
) -> Row:
    """Return a row of two functions of this process.

    The fastest call of each round counts, because other processes disturb it least. The reference's time is multiplied by
    ``reference_scale``, the factor by which its work was reduced.
    """
    product_seconds, reference_seconds = await alternate(function_calls(product, calls), function_calls(reference, calls))
    return Row(row_id, path, "ms", median_ms(product_seconds, 0), median_ms(reference_seconds, 0) * reference_scale, goal)
