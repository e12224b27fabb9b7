"""Ticks of axes: round values and times that fit."""

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.expressions.pictures.plots.axes import tick_texts
from dashwright.expressions.pictures.plots.scales import ValueScale
from dashwright.expressions.pictures.plots.ticks import step_decimals, value_ticks
from dashwright.expressions.pictures.plots.time_ticks import time_ticks
from dashwright.expressions.pictures.style import Style
from dashwright.expressions.pictures.theme import THEMES

START = datetime(2025, 3, 9, 10, 7, tzinfo=UTC).timestamp() * 1000
SECOND, HOUR, DAY = 1_000, 3_600_000, 86_400_000
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia"])


def label_width(text: str) -> float:
    """Return the width of a label in pixels, for a font whose characters are 6 pixels wide."""
    return 6.0 * len(text)


@pytest.mark.parametrize(
    ("low", "high", "height", "unit", "has_integers", "expected"),
    [
        (0, 110, 200, "short", False, [0, 20, 40, 60, 80, 100]),
        (0, 1, 200, "short", False, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0, 1, 200, "short", True, [0, 1]),
        (-3, 12, 200, "short", False, [-2.5, 0, 2.5, 5, 7.5, 10]),
        (0, 110, 90, "short", False, [0, 20, 40, 60, 80, 100]),
        (0, 5_000, 200, "bytes", False, [0, 1024, 2048, 3072, 4096]),
        (5, 5, 200, "short", False, [5]),
    ],
)
def test_values_are_round(low: float, high: float, height: float, unit: str, has_integers: bool, expected: list[float]) -> None:
    """Ticks are multiples of 1, 2, 2.5 or 5 times a power of ten, or of a power of two for bytes, at least 30 pixels apart.

    On a low axis, ticks are at least 15 pixels apart.
    """
    assert value_ticks(ValueScale(low, high, height), unit, has_integers=has_integers).values == expected


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (ValueScale(1, 1_000, 200, "log", 10), [1, 10, 100, 1_000]),
        (ValueScale(1, 1_000, 60, "log", 10), [1, 10, 100, 1_000]),
        (ValueScale(1, 1_000, 30, "log", 10), [1, 100]),
        (ValueScale(1, 16, 200, "log", 2), [1, 2, 4, 8, 16]),
        (ValueScale(-100, 100, 300, "symlog", 10), [-100, -10, 0, 10, 100]),
    ],
)
def test_logarithmic_axes_have_powers(scale: ValueScale, expected: list[float]) -> None:
    """The ticks of a logarithmic axis are powers of its base, of which a low axis has fewer."""
    assert value_ticks(scale, "short", has_integers=False).values == pytest.approx(expected)


@pytest.mark.parametrize(
    ("length", "first", "last"),
    [
        (2 * SECOND, "10:07:00.000", "10:07:02.000"),
        (300 * SECOND, "10:07:00", "10:12:00"),
        (6 * HOUR, "11:00", "16:00"),
        (3 * DAY, "03/10 00:00", "03/12 00:00"),
        (30 * DAY, "03/10", "04/06"),
        (800 * DAY, "2025-05", "2027-05"),
        (8_000 * DAY, "2026", "2046"),
    ],
)
def test_times_have_the_format_of_their_step(length: float, first: str, last: str) -> None:
    """The step decides the format: milliseconds, seconds, minutes, days, months or years."""
    labels = time_ticks(START, START + length, 480, label_width).labels
    assert labels[0] == first
    assert labels[-1] == last


@pytest.mark.parametrize(
    ("zone", "start", "hours", "width", "expected"),
    [
        ("Europe/Berlin", "2024-10-27T00:00+02:00", 7, 480, "00:00 01:00 02:00 02:00 03:00 04:00 05:00 06:00"),
        ("Europe/Berlin", "2024-03-31T00:00+01:00", 6, 480, "00:00 01:00 03:00 04:00 05:00 06:00 07:00"),
        ("Europe/Berlin", "2024-03-31T00:00+01:00", 23, 300, "00:00 04:00 08:00 12:00 16:00 20:00 00:00"),
        ("Asia/Kathmandu", "2024-03-31T00:10+05:45", 6, 480, "01:00 02:00 03:00 04:00 05:00 06:00"),
        ("America/New_York", "2024-11-02T00:00-04:00", 73, 400, "11/02 00:00 11/03 00:00 11/04 00:00 11/05 00:00"),
        ("Europe/Berlin", "2024-02-15T00:00+01:00", 2_400, 400, "02/17 03/03 03/18 04/02 04/17 05/02 05/17"),
    ],
)
def test_ticks_follow_the_clocks_of_the_zone(zone: str, start: str, hours: int, width: int, expected: str) -> None:
    """Ticks are at round local times: an hour that is repeated has two ticks, and one that is skipped has none."""
    first = datetime.fromisoformat(start).timestamp() * 1000
    labels = time_ticks(first, first + hours * HOUR, width, label_width, ZoneInfo(zone)).labels
    assert " ".join(labels) == expected


@given(start=st.integers(-(10**13), 10**13), length=st.integers(1, 10**12), width=st.floats(1, 3_000), zone=ZONES)
def test_labels_of_times_do_not_touch(start: int, length: int, width: float, zone: str) -> None:
    """Ticks are within the range, and the distance of two ticks is at least the width of a label."""
    ticks = time_ticks(start, start + length, width, label_width, ZoneInfo(zone))
    assert all(start <= time <= start + length for time in ticks.times)
    widest = max((label_width(label) for label in ticks.labels), default=0)
    pixels_per_millisecond = width / length
    # Ticks of months have different distances, and the shortest month has 28/31 of the days of the longest one.
    for first, second in pairwise(ticks.times):
        assert (second - first) * pixels_per_millisecond >= widest * 28 / 31


@given(
    low=st.floats(-1e300, 1e300),
    span=st.floats(1e-300, 1e300),
    height=st.floats(1, 5_000),
    distribution=st.sampled_from(["linear", "log", "symlog"]),
    base=st.sampled_from([2, 10]),
)
def test_scales_of_any_ends_have_positions(low: float, span: float, height: float, distribution: str, base: int) -> None:
    """The lower end of a linear scale is at the bottom and the upper one at the top; no scale has more than 500 ticks."""
    # A scale whose ends are equal, because the span is smaller than the precision of its lower end, has no direction.
    if low + span == low:
        return
    scale = ValueScale(low, low + span, height, distribution, base)
    assert len(value_ticks(scale, "bytes", has_integers=False).values) <= 500
    positions = scale.positions(np.array([low, low + span, np.nan]))
    assert np.isnan(positions[2])
    assert not np.isnan(positions[:2]).any()
    if distribution == "linear":
        assert positions[:2] == pytest.approx([height, 0], abs=1e-6 * height)


@pytest.mark.parametrize(("step", "decimals"), [(20, 0), (2.5, 1), (0.05, 2), (1e-9, 0)])
def test_a_step_has_decimals(step: float, decimals: int) -> None:
    """A step has its own number of decimals, or none if it would need too many."""
    assert step_decimals(step) == decimals


@pytest.mark.parametrize(
    ("config", "value", "step", "text"),
    [
        ({"unit": "percent"}, 2.5, 2.5, "2.5%"),
        ({"unit": "percent"}, 5, 2.5, "5%"),
        ({"unit": "percent", "decimals": 2}, 5, 2.5, "5.00%"),
        ({"unit": "percent"}, 20, 20, "20%"),
    ],
)
def test_labels_have_the_decimals_of_the_step(config: dict[str, object], value: float, step: float, text: str) -> None:
    """Labels have the decimals of the step without zeros at the end, unless the panel sets the decimals."""
    assert tick_texts(Style(config, THEMES["dark"]), [value], step) == [text]
