"""Ranges of value axes: padding, rounding and limits."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.expressions.pictures.plots.ranges import RangeSettings, value_range
from dashwright.expressions.pictures.plots.scales import range_settings, scale_key

LOG_10, LOG_2 = RangeSettings(distribution="log"), RangeSettings(distribution="log", base=2)


@pytest.mark.parametrize(
    ("settings", "low", "high", "expected"),
    [
        # Padding, which ends at 0, and ranges of a single value.
        (RangeSettings(), 2, 7, (1.5, 7.5)),
        (RangeSettings(), 0, 50, (0, 55)),
        (RangeSettings(), 20, 200, (0, 220)),
        (RangeSettings(), -50, 0, (-55, 0)),
        (RangeSettings(), -3, 4, (-3.7, 4.7)),
        (RangeSettings(), 5, 5, (0, 10)),
        (RangeSettings(), -5, -5, (-10, 0)),
        (RangeSettings(), 0, 0, (0, 100)),
        (RangeSettings(), None, None, None),
        # Hard and soft limits.
        (RangeSettings(minimum=0), 40, 50, (0, 55)),
        (RangeSettings(maximum=60), 40, 50, (38, 60)),
        (RangeSettings(minimum=0, maximum=9), 40, 50, (0, 9)),
        (RangeSettings(minimum=0, maximum=9), None, None, (0, 9)),
        (RangeSettings(soft_minimum=0, soft_maximum=100), 40, 50, (0, 100)),
        (RangeSettings(soft_minimum=0, soft_maximum=100), -40, 150, (-60, 170)),
        (RangeSettings(minimum=-5, soft_minimum=0), -40, 50, (-5, 59)),
        # Ranges around 0, of integers, and of percentages.
        (RangeSettings(is_centred=True), -1, 40, (-48, 48)),
        (RangeSettings(has_integers=True), 0.2, 0.3, (0, 1)),
        (RangeSettings(is_percent=True), 0.2, 1, (0, 1)),
        # Logarithmic ranges. A limit up to 0 has no logarithm and is ignored.
        (LOG_10, 3, 700, (1, 1_000)),
        (LOG_10, 10, 10, (1, 100)),
        (LOG_2, 3, 700, (2, 1_024)),
        (LOG_2, -700, -3, (-1_024, -2)),
        (RangeSettings(distribution="log", minimum=-4, maximum=0), 3, 700, (1, 1_000)),
        (RangeSettings(distribution="log", has_integers=True), 0.02, 700, (1, 1_000)),
        (RangeSettings(distribution="symlog"), -30, 700, (-100, 1_000)),
        (RangeSettings(distribution="symlog"), 0, 0, (0, 100)),
    ],
)
def test_ranges_have_headroom_within_limits(
    settings: RangeSettings, low: float | None, high: float | None, expected: tuple[float, float] | None
) -> None:
    """A tenth of the span is added at both ends, which are rounded. Zero and the limits of the settings bound the range.

    Values within soft limits do not change the range, and no value exceeds hard limits. Logarithmic ranges end at whole powers.
    """
    result = value_range(settings, low, high)
    if expected is None:
        assert result is None
    else:
        assert result == pytest.approx(expected)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
LIMITS = st.none() | NUMBERS


@given(
    settings=st.builds(
        RangeSettings,
        minimum=LIMITS,
        maximum=LIMITS,
        soft_minimum=LIMITS,
        soft_maximum=LIMITS,
        is_centred=st.booleans(),
        has_integers=st.booleans(),
        is_percent=st.booleans(),
        distribution=st.sampled_from(["linear", "log", "symlog"]),
        base=st.sampled_from([2, 10]),
    ),
    ends=st.tuples(NUMBERS, NUMBERS),
)
def test_a_range_ascends(settings: RangeSettings, ends: tuple[float, float]) -> None:
    """The low end of a range is below the high end for any values and settings, unless an end is not a number."""
    result = value_range(settings, min(ends), max(ends))
    assert result is not None
    low, high = result
    assert low < high or math.isnan(low) or math.isnan(high)


def test_series_share_a_scale_if_their_axes_are_equal() -> None:
    """The unit, limits, placement, distribution and label distinguish scales; other settings do not."""
    custom = {"axisSoftMax": 5, "axisPlacement": "left", "scaleDistribution": {"type": "log", "log": 2}, "axisLabel": "ms", "lineWidth": 4}
    assert scale_key({"unit": "s", "min": 0, "custom": custom}, "number") == ("s", "0-na", "na-5", "left", "log2", "ms", "number")
    assert scale_key({"color": {}, "decimals": 3}, "number") == scale_key({"custom": {"drawStyle": "bars"}}, "number")


def test_limits_are_read_from_the_configuration() -> None:
    """Limits that are not numbers are ignored, and so is an unknown base of logarithms."""
    custom = {"axisSoftMin": "3", "axisSoftMax": [], "axisCenteredZero": True, "scaleDistribution": {"type": "log", "log": 7}}
    settings = range_settings({"min": 1, "max": None, "decimals": 0, "custom": custom}, is_percent=False)
    # An axis without decimals has integers.
    assert settings == RangeSettings(
        minimum=1, maximum=None, soft_minimum=3, soft_maximum=None, is_centred=True, has_integers=True, distribution="log", base=10
    )
