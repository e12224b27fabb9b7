"""Round sizes of buckets of numbers and of times."""

import math
from bisect import bisect_left
from typing import Final

#: The first digits of sizes, as in Grafana's histograms.
_DIGITS: Final = (1.0, 2.0, 2.5, 4.0, 5.0, 10.0)
_SECOND: Final = 1_000.0
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_MONTH: Final = 30 * _DAY
#: Usual durations in milliseconds.
_DURATIONS: Final = (
    *(float(step) for step in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(step * _SECOND for step in (1, 2, 5, 10, 15, 30)),
    *(step * _MINUTE for step in (1, 2, 5, 10, 15, 30)),
    *(step * _HOUR for step in (1, 2, 3, 4, 6, 8, 12)),
    *(step * _DAY for step in (1, 2, 3, 7, 14)),
)


def round_size(number: float) -> float:
    """Return the smallest round number that is not less than a positive number: 1, 2, 2.5, 4 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(number))
    # The tolerance is for rounding errors of the product.
    return next((digit * power for digit in _DIGITS if digit * power >= number * 0.9999), number)


def round_duration(milliseconds: float) -> float:
    """Return the smallest usual duration that is not less than a number of milliseconds. Above 14 days, it is a number of months."""
    index = bisect_left(_DURATIONS, milliseconds)
    return _DURATIONS[index] if index < len(_DURATIONS) else math.ceil(milliseconds / _MONTH) * _MONTH
