"""The text of a value has the scale, decimals and unit that Grafana shows, for builtin and custom units and any number."""

import math
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from dashwright.expressions.value_formats.formatted import DateContext, FormattedValue
from dashwright.expressions.value_formats.registry import VALUE_FORMATS, value_format

NOW = datetime(2025, 3, 5, 9, 30, tzinfo=UTC)
CONTEXT = DateContext(UTC, NOW)
#: Numbers near the limits of floats and of exact integers, and values that are not finite.
STRANGE_NUMBERS = (0.0, -0.0, 1e-320, -1e-320, 1.7e308, -1.7e308, 9.1e15, -9.1e15, math.nan, math.inf, -math.inf)


def text(unit: str, value: float, decimals: int | None = None, context: DateContext = CONTEXT) -> str:
    """Return the text of a value in a unit."""
    return str(value_format(unit)(value, decimals, context))


@pytest.mark.parametrize(
    ("unit", "value", "decimals", "expected"),
    [
        ("none", 3.14159, None, "3.14"),
        ("none", 250.0, None, "250"),
        ("none", 0.0333333, None, "0.0333"),
        ("none", 2.345, 2, "2.35"),
        ("none", -0.4, 0, "0"),
        ("none", 7e21, 1, "7e+21"),
        ("short", 4_200, None, "4.20 K"),
        ("short", 8_000_000_000, 1, "8.0 Bil"),
        ("percent", 12.5, None, "12.5%"),
        ("percentunit", 0.125, 1, "12.5%"),
        ("bytes", 3_072, None, "3 KiB"),
        ("bytes", 0.5, None, "0.500 B"),
        ("decbytes", 0.25, None, "250 mB"),
        ("gbytes", 2_048, None, "2 TiB"),
        ("Mbits", 0.75, None, "750 kb/s"),
        ("Hs", 5e18, None, "5 EH/s"),
        ("tflops", 1_200, None, "1.20 PFLOPS"),
        ("reqps", 15_000, None, "15K req/s"),
        ("reqps", 4e15, None, "4000T req/s"),
        ("reqps", -86_399_999_999.5, 9, "-86.399999999B req/s"),
        ("reqps", math.inf, None, "∞ req/s"),
        ("currencyRUB", -3_292_621_121.6641335, 15, "-₽3.292621121664134B"),
        ("currencyVND", math.inf, 0, "∞"),
        ("eps", -5.771630465493517e-20, None, "-5.77e-20 evt/s"),
        ("farenheit", 70, None, "70 °F"),
        # A number beyond the exact integers.
        ("dtdhms", 4.5158375817382735e76, None, "5.226663867752632e+71 d 1.7854867158433225e+57:05:04"),
        ("pressurepsi", 2_500, None, "2.50ksi"),
        ("celsius", 21.57, 1, "21.6 °C"),
        ("s", 5_400, None, "1.50 hours"),
        ("s", 60, None, "1 min"),
        ("s", 0.0000025, None, "2.50 µs"),
        ("ms", 172_800_000, None, "2 days"),
        ("d", 3, None, "3 days"),
        ("h", 3, None, "3 hour"),
        ("timeticks", 300, None, "3 s"),
        ("dtdurations", 4_000, 1, "1 hour, 6 minutes"),
        ("dtdurations", -30, None, "30 seconds ago"),
        ("dtdurationms", 0, None, "0 milliseconds"),
        ("dthms", 7_325, None, "02:02:05"),
        ("dtdhms", 200_000, None, "2 d 07:33:20"),
        ("clocks", 7_325, 1, "2h:02m"),
        ("clockms", 1_250, None, "01s:250ms"),
        ("currencyUSD", -1_234_567, 2, "-$1.23M"),
        ("currencySEK", 1_500, None, "1.50Kkr"),
        ("bool_yes_no", 0, None, "No"),
        ("bool_on_off", 7, None, "On"),
        ("hex", 48_879, None, "BEEF"),
        ("hex0x", -0.5, None, "-0x0.8"),
        ("sci", 98_765, 2, "9.88e+4"),
        ("locale", 9_876_543.21, None, "9,876,543.21"),
        ("string", 1e-7, 3, "1e-7"),
    ],
)
def test_value_is_written_with_its_unit(unit: str, value: float, decimals: int | None, expected: str) -> None:
    """A value is scaled as usual for its unit. Without a number of decimals, it has the decimals that Grafana chooses."""
    assert text(unit, value, decimals) == expected


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("furlongs", "1500 furlongs"),
        ("suffix:furlongs", "1500 furlongs"),
        ("prefix:≈", "≈1500"),
        ("si:mg", "1.50 g"),
        ("si:Bq", "1.50 kBq"),
        ("count:sheep", "1.50K sheep"),
        ("currency:₿", "₿1.50K"),
        ("currency:financial:kr:suffix", "1,500kr"),
        ("currency:financial:", "1500"),
        ("bool:up/", "up"),
        ("time:", "1970-01-01T00:00:01Z"),
        # Years, eras and a time without leading zeros, and an escaped letter and bracket.
        ("time:YYYYYY y NNNN N hmmss \\y[[]", "+001970 1970 Anno Domini AD 120001 y["),
        ("bool:up/down", "up"),
        ("time:ss.SSS", "01.500"),
        ("unknown:kind", "1500 unknown:kind"),
        ("", "1500"),
    ],
)
def test_custom_unit_is_read_from_its_notation(unit: str, expected: str) -> None:
    """The notation of a custom unit defines the text around a number; an unknown notation follows the number."""
    assert text(unit, 1_500) == expected


def test_prefix_and_suffix_of_a_text_are_separate() -> None:
    """The sign and the symbol before a number, and the unit after it, are not part of its text."""
    assert value_format("currencyUSD")(-2_000, None, CONTEXT) == FormattedValue("2", prefix="-$", suffix="K")
    assert value_format("bytes")(1_024, 1, CONTEXT) == FormattedValue("1.0", suffix=" KiB")


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("dateTimeAsIso", "2025-03-04 20:15:30"),
        ("dateTimeAsIsoNoDateIfToday", "2025-03-04 20:15:30"),
        ("dateTimeAsUS", "03/04/2025 8:15:30 pm"),
        ("dateTimeAsLocal", "03/04/2025, 08:15:30\u202fPM"),
        ("dateTimeAsSystem", "2025-03-04 20:15:30"),
        ("dateTimeFromNow", "8 hours ago"),
        ("time:dddd, MMMM Do YYYY [at] LT", "Tuesday, March 4th 2025 at 8:15 PM"),
        ("time:L wo E Q DDD kk ll", "03/04/2025 10th 2 1 63 20 Mar 4, 2025"),
    ],
)
def test_time_is_written_in_the_zone_of_the_picture(unit: str, expected: str) -> None:
    """Every unit of times writes a time in the zone of the picture, or relative to now."""
    time = datetime(2025, 3, 5, 1, 15, 30, tzinfo=UTC).timestamp() * 1000
    assert text(unit, time, context=DateContext(ZoneInfo("America/Lima"), NOW)) == expected


@pytest.mark.parametrize(
    ("unit", "milliseconds", "expected"),
    [
        ("dateTimeAsIso", 1.75e15, "57425-04-17 15:06:40"),
        ("dateTimeAsIso", -1e15, "-29719-04-05 22:13:20"),
        ("dateTimeAsIso", 8.64e15, "275760-09-13 00:00:00"),
        ("dateTimeAsIso", 8.64e15 + 1, "Invalid date"),
        ("time:Y YY GG gg x X ddd DDD y N", 1e15, "+33658 58 58 58 1000000000000000 1000000000000 Fri 270 33658 AD"),
        ("time:Y YY y N", -1e15, "-29719 -19 29720 BC"),
        ("dateTimeFromNow", 1.75e15, "in 55400 years"),
        ("dateTimeFromNow", -1e15, "31744 years ago"),
    ],
)
def test_dates_of_javascript_have_texts_in_any_year(unit: str, milliseconds: float, expected: str) -> None:
    """A time beyond the years of ``datetime``, such as a time in microseconds, has the text that browsers show."""
    assert text(unit, milliseconds) == expected


def test_date_is_omitted_on_the_current_day_of_the_zone() -> None:
    """Units without the date of today write only the time of a value on the current day."""
    time = datetime(2025, 3, 5, 1, 15, 30, tzinfo=UTC).timestamp() * 1000
    assert text("dateTimeAsIsoNoDateIfToday", time) == "01:15:30"
    assert text("dateTimeAsUSNoDateIfToday", time) == "1:15:30 am"


def test_milliseconds_are_written_only_in_a_context_with_milliseconds() -> None:
    """A time in the format of the system has milliseconds only if the context asks for them."""
    assert text("dateTimeAsSystem", 1_500, context=DateContext(UTC, NOW, with_milliseconds=True)) == "1970-01-01 00:00:01.500"
    assert text("dateTimeAsSystem", 1_500) == "1970-01-01 00:00:01"


# A negative number of seconds is a time after now.
@pytest.mark.parametrize(
    ("seconds_ago", "expected"),
    [
        (0, "a few seconds ago"),
        (50, "a minute ago"),
        (-150, "in 3 minutes"),
        (3_000, "an hour ago"),
        (80_000, "a day ago"),
        (-86_400 * 10, "in 10 days"),
        (86_400 * 30, "a month ago"),
        (86_400 * 100, "3 months ago"),
        (86_400 * 400, "a year ago"),
        (86_400 * 2_000, "5 years ago"),
    ],
)
def test_relative_time_is_rounded_to_one_unit(seconds_ago: int, expected: str) -> None:
    """The distance of a time from now is a number of one unit, before or after now."""
    assert text("dateTimeFromNow", (NOW.timestamp() - seconds_ago) * 1000) == expected


@pytest.mark.parametrize("decimals", [None, -3, 0, 10_000])
def test_every_number_has_a_bounded_text(decimals: int | None) -> None:
    """In every unit, the text of a strange number has less than 500 characters, for any number of decimals."""
    units = [*VALUE_FORMATS, "si:", "currency:", "time:", "bool:", "count:", "time:X x w gg [", "x" * 10_000]
    for unit in units:
        for number in STRANGE_NUMBERS:
            assert len(text(unit, number, decimals)) < 500, (unit[:50], number)
