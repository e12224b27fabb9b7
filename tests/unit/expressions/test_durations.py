"""Strings of durations are converted to nanoseconds, or rejected with advice."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.duration import nanoseconds

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1m", 60),
        ("90s", 90),
        ("1h30m", 5400),
        ("1.5h", 5400),
        (".5m", 30),
        ("2.s", 2),
        ("1h1m1s", 3661),
        ("250ms", 0.25),
        ("3us", 3e-6),
        ("3µs", 3e-6),
        ("7ns", 7e-9),
        ("0", 0),
        ("0s", 0),
        ("+5m", 300),
        ("-5m", -300),
        ("10d", 864_000),
        ("2w", 1_209_600),
        ("1M", 2_629_800),
        ("5y", 157_788_000),
    ],
)
def test_clock_units_combine_and_calendar_units_do_not(text: str, seconds: float) -> None:
    """Numbers of clock units are added; a duration has only one calendar unit. A month is 30.4375 days, and a year 365.25 days."""
    assert nanoseconds(text) == round(seconds * SECOND)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty input"),
        ("5", 'missing unit in duration "5"'),
        ("1h5", 'missing unit in duration "1h5"'),
        ("1.5d", 'unknown unit "d" in duration "1.5d"'),
        ("-1d", 'unknown unit "d" in duration "-1d"'),
        ("1d12h", 'unknown unit "d" in duration "1d12h"'),
        ("5 m", 'unknown unit " m" in duration'),
        ("5S", 'unknown unit "S" in duration'),
        ("1h-5m", 'unknown unit "h-" in duration'),
        ("m", 'invalid duration "m"'),
        (".", 'invalid duration "."'),
        ("-", 'invalid duration "-"'),
        ("--5m", 'invalid duration "--5m"'),
        ("٥m", 'invalid duration "٥m"'),  # noqa: RUF001 - an Arabic digit, which is not a digit of durations
        ("9" * 200 + "s", "invalid duration"),
    ],
)
def test_an_invalid_duration_is_an_error_with_advice(text: str, fault: str) -> None:
    """The error of an invalid duration names the fault and has an example. A long string is truncated."""
    with pytest.raises(BadRequest, match=re.escape(fault)) as error:
        nanoseconds(text)
    assert "write it like 500ms" in error.value.message
    assert len(error.value.message) < 300


@given(st.text(alphabet="0123456789.+-hmsndwMyµu ", max_size=12))
def test_any_string_is_a_duration_or_rejected(text: str) -> None:
    """Any string is a duration in nanoseconds, or is rejected with BadRequest."""
    try:
        duration = nanoseconds(text)
    except BadRequest:
        return
    assert isinstance(duration, int)
