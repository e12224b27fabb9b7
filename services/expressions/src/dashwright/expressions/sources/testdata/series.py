"""Series computed from the query and its time range only, so equal queries have equal results."""

from random import Random
from typing import Final

import numpy as np

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.bounds import ITEM_BYTES, POINT_BYTES
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.sources.testdata.naming import labels_of, series_name
from dashwright.expressions.sources.testdata.properties import Properties

#: Most points of one series; the rest of the range is empty.
_MOST_POINTS: Final = 10_000

_MILLISECOND: Final = 1_000_000
_ADVICE: Final = "ask for fewer series, a shorter time range or a larger interval"


def random_walks(query: Properties, count: int, limits: Limits) -> list[Frame]:
    """Return one frame a series: each starts at ``startValue`` and moves by up to half of ``spread`` a point.

    Values stay within ``min`` and ``max``. ``noise`` is added to each point alone; ``dropPercent`` of the points are
    left out.
    """
    if count > limits.query_series:
        raise limits.refusal("query_series", f"seriesCount is {count}", _ADVICE)
    points = len(range(query.start, query.end, query.interval)[:_MOST_POINTS])
    if count * points > limits.query_points:
        raise limits.refusal("query_points", f"{count} series of {points} points were requested", _ADVICE)
    limits.memory.take(count * (ITEM_BYTES + points * POINT_BYTES))
    frames = []
    for index in range(count):
        limits.deadline.check()
        frames.append(_random_walk(query, index))
    return frames


def _random_walk(query: Properties, index: int) -> Frame:
    # The standard library's generator returns the same numbers on every version and machine.
    chance = Random(f"{query.ref_id} {query.start} {query.end} {index}")
    walker = query.number("startValue", chance.random() * 100)
    spread, noise, drop = query.number("spread", 1), query.number("noise", 0), query.number("dropPercent", 0) / 100
    least, most = query.number("min", -np.inf), query.number("max", np.inf)
    times, values = [], []
    for instant in range(query.start, query.end, query.interval)[:_MOST_POINTS]:
        value = walker + chance.random() * noise
        if value < least:
            value = walker = least
        if value > most:
            value = walker = most
        if drop <= 0 or chance.random() >= drop:
            times.append(instant)
            values.append(value)
        walker += (chance.random() - 0.5) * spread
    fields = (
        _times("time", times, config={"interval": query.interval}),
        _values(series_name(query.ref_id, query.text("alias"), index), values, labels_of(query.text("labels"), index)),
    )
    return Frame(fields, meta={"type": "timeseries-multi", "custom": {"customStat": 10}})


def predictable_pulse(query: Properties) -> Frame:
    """``onCount`` points at ``onValue``, then ``offCount`` at ``offValue``, and again, every ``timeStep`` seconds since the epoch."""
    wave = query.part("pulseWave")
    step = int(wave.number("timeStep", 60)) * 1000
    on, off = int(wave.number("onCount", 3)), int(wave.number("offCount", 3))
    if step <= 0 or on < 0 or off < 0 or on + off == 0:
        raise BadRequest("pulseWave needs a timeStep above zero (in seconds), and onCount and offCount that are together above zero")
    high, low = _level(wave, "onValue", 2), _level(wave, "offValue", 1)
    times = list(range(query.start - query.start % step, query.end, step)[:_MOST_POINTS])
    values = [high if instant // step % (on + off) < on else low for instant in times]
    name = series_name(query.ref_id, query.text("alias"), 0)
    fields = (_times("Time", times), _values("Value", values, labels_of(query.text("labels"), 0)))
    return Frame(fields, name, meta={"type": "timeseries-multi", "typeVersion": [0, 0]})


def spread_over(query: Properties, values: Field) -> Frame:
    """Return the values with times that fill the range evenly."""
    gap = (query.end - query.start) // (len(values) - 1) if len(values) > 1 else 0
    return Frame((_times("time", [query.start + gap * number for number in range(len(values))]), values))


def _level(wave: Properties, name: str, default: float) -> float | None:
    """Return a number, or the value of the texts ``null`` and ``nan``."""
    given = wave.values.get(name)
    if given == "null":
        return None
    return float("nan") if given == "nan" else wave.number(name, default)


def _times(name: str, milliseconds: list[int], config: dict[str, float] | None = None) -> Field:
    return Field(name, FieldType.TIME, np.array(milliseconds, np.int64) * _MILLISECOND, config=config)


def _values(name: str, values: list[float] | list[float | None], labels: Labels) -> Field:
    nulls = np.array([value is None for value in values], np.bool_)
    return Field(name, FieldType.FLOAT64, np.array(values, np.float64), nulls if nulls.any() else None, nullable=True, labels=labels)
