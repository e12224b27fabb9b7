"""Series that are computed from the query and its time range only, so that equal queries have equal results."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from random import Random
from typing import Final

import numpy as np

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.axis import Axis, Times
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.frame_set import FrameSet
from dashwright.expressions.engine.labels import Labels, LabelSets
from dashwright.expressions.engine.limit_checks import ITEM_BYTES, POINT_BYTES
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.values import Block, Cells, Floats, Series
from dashwright.expressions.sources.testdata.naming import labels_of, series_name
from dashwright.expressions.sources.testdata.properties import Properties

#: The maximum number of points of a series; the remaining time range has no points.
_MAX_POINTS: Final = 10_000

_NANOS_PER_MILLISECOND: Final = 1_000_000
#: The number of random numbers from which on numpy generates them faster than the standard library.
_MIN_COUNT_FOR_NUMPY: Final = 1000
_ADVICE: Final = "ask for fewer series, a shorter time range or a larger interval"


def random_walks(query: Properties, count: int, limits: Limits) -> FrameSet:
    """Return the frames of ``count`` random walks.

    A walk starts at ``startValue`` and moves by up to half of ``spread`` per point. Values are within ``min`` and ``max``.
    ``noise`` is added to the points, but does not move the walk. About ``dropPercent`` of the points are omitted. Raises
    TooLarge for too many series or points.
    """
    if count > limits.query_series:
        raise limits.refusal("query_series", f"seriesCount is {count}", _ADVICE)
    point_count = len(_instants(query))
    if count * point_count > limits.query_points:
        raise limits.refusal("query_points", f"{count} series of {point_count} points were requested", _ADVICE)
    labels = LabelSets.of([labels_of(query.string("labels"), index) for index in range(count)])
    limits.memory.reserve(count * (ITEM_BYTES + point_count * POINT_BYTES))
    times = np.array(_instants(query), np.int64) * _NANOS_PER_MILLISECOND
    walks = []
    for index in range(count):
        limits.deadline.check()
        walks.append(_random_walk(query, index, times))
    return FrameSet(
        Series.stacked(labels, _blocks(walks)),
        # ``customStat`` is an example of custom metadata in Grafana's data source.
        meta={"type": "timeseries-multi", "custom": {"customStat": 10}},
        value_names=[series_name(query.ref_id, query.string("alias"), index) for index in range(count)],
        has_empty_labels=True,
        time_name="time",
        time_config={"interval": query.interval},
    )


def _blocks(walks: Sequence[tuple[Times, Floats]]) -> Iterator[Block]:
    """Yield a block for all consecutive walks with the same array of times."""
    # All walks without dropped points have the same array object, so it is enough to compare identities.
    for _, group in groupby(walks, key=lambda walk: id(walk[0])):
        rows = list(group)
        yield Block(Axis(rows[0][0]), Cells(np.stack([values for _, values in rows])))


def _instants(query: Properties) -> range:
    """Return the times of the points of a random walk, in milliseconds since 1970."""
    return range(query.start, query.end, query.interval)[:_MAX_POINTS]


def _random_walk(query: Properties, index: int, times: Times) -> tuple[Times, Floats]:
    """Return the times and values of a series. Without dropped points, the times are the array ``times`` itself."""
    # The standard library's generator returns the same numbers in every version and on every machine.
    random = Random(f"{query.ref_id} {query.start} {query.end} {index}")
    start = query.number("startValue", random.random() * 100)
    step_range, noise = query.number("spread", 1), query.number("noise", 0)
    drop_probability = query.number("dropPercent", 0) / 100
    minimum, maximum = query.number("min", -np.inf), query.number("max", np.inf)
    has_drops = drop_probability > 0
    # The numbers of a point are for its noise, for whether it is dropped (only with drops), and for the move to the next point.
    numbers_per_point = 3 if has_drops else 2
    numbers = _random_numbers(random, len(times) * numbers_per_point).reshape(len(times), numbers_per_point)
    noises, moves = numbers[:, 0] * noise, (numbers[:, -1] - 0.5) * step_range
    # Without points, the slice removes ``start``.
    values = np.cumsum(np.concatenate([[start], moves[:-1]]))[: len(times)] + noises
    if bool((values < minimum).any()) or bool((values > maximum).any()):
        values = _bounded_walk(start, noises.tolist(), moves.tolist(), minimum, maximum)
    if has_drops:
        is_kept = numbers[:, 1] >= drop_probability
        return times[is_kept], values[is_kept]
    return times, values


def _random_numbers(random: Random, count: int) -> Floats:
    """Return the next numbers of the generator."""
    if count < _MIN_COUNT_FOR_NUMPY:
        return np.array([random.random() for _ in range(count)], np.float64)
    # numpy has the same generator. Copying the state to it takes longer than generating a few numbers.
    *key, position = random.getstate()[1]
    generator = np.random.RandomState()
    generator.set_state({"bit_generator": "MT19937", "state": {"key": np.array(key, np.uint32), "pos": position}})
    return generator.random_sample(count)


def _bounded_walk(start: float, noises: list[float], moves: list[float], minimum: float, maximum: float) -> Floats:
    """Return the values of a walk that continues from a bound when it has reached one."""
    position, values = start, []
    for noise, move in zip(noises, moves, strict=True):
        value = position + noise
        if value < minimum:
            value = position = minimum
        if value > maximum:
            value = position = maximum
        values.append(value)
        position += move
    return np.array(values, np.float64)


def predictable_pulse(query: Properties) -> Frame:
    """Return a square wave with a point every ``timeStep`` seconds since the epoch.

    It repeats ``onCount`` points at ``onValue`` and ``offCount`` points at ``offValue``.
    """
    wave = query.nested("pulseWave")
    step_ms = int(wave.number("timeStep", 60)) * 1000
    on_count, off_count = int(wave.number("onCount", 3)), int(wave.number("offCount", 3))
    if step_ms <= 0 or on_count < 0 or off_count < 0 or on_count + off_count == 0:
        raise BadRequest("pulseWave needs a timeStep above zero (in seconds), and onCount and offCount that are together above zero")
    high, low = _level(wave, "onValue", 2), _level(wave, "offValue", 1)
    times = list(range(query.start - query.start % step_ms, query.end, step_ms)[:_MAX_POINTS])
    values = [high if instant // step_ms % (on_count + off_count) < on_count else low for instant in times]
    name = series_name(query.ref_id, query.string("alias"), 0)
    fields = (_times("Time", times), _values("Value", values, labels_of(query.string("labels"), 0)))
    return Frame(fields, name, meta={"type": "timeseries-multi", "typeVersion": [0, 0]})


def spread_over(query: Properties, values: Field) -> Frame:
    """Return the values as a frame, with times that are spread evenly over the time range."""
    interval = (query.end - query.start) // (len(values) - 1) if len(values) > 1 else 0
    return Frame((_times("time", [query.start + interval * index for index in range(len(values))]), values))


def _level(wave: Properties, name: str, default: float) -> float | None:
    """Return a number, by default ``default``. The string ``nan`` becomes NaN, and the string ``null`` becomes None."""
    value = wave.values.get(name)
    if value == "null":
        return None
    return float("nan") if value == "nan" else wave.number(name, default)


def _times(name: str, milliseconds: list[int]) -> Field:
    return Field(name, FieldType.TIME, np.array(milliseconds, np.int64) * _NANOS_PER_MILLISECOND)


def _values(name: str, values: list[float] | list[float | None], labels: Labels) -> Field:
    nulls = np.array([value is None for value in values], np.bool_)
    return Field(name, FieldType.FLOAT64, np.array(values, np.float64), nulls if nulls.any() else None, nullable=True, labels=labels)
