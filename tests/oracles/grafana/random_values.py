"""Random values with units, mappings, thresholds and colours, as JSON that Grafana's library reads."""

from collections.abc import Sequence
from random import Random
from typing import Any, Final

#: The current time of all cases, in milliseconds since 1970.
NOW: Final = 1_741_167_000_000
_DAY: Final = 86_400_000
#: The latest time that JavaScript represents, in milliseconds.
_LAST_DATE: Final = 8_640_000_000_000_000
#: The years in which zones are compared, from 1970 to 2037, in milliseconds. For other years, Grafana's table of zones has other rules.
_ZONED_TIMES: Final = (0, 2_145_916_800_000)
_ZONES: Final = ("America/New_York", "Asia/Kolkata", "Europe/Berlin", "Australia/Lord_Howe", "America/Caracas")
#: Lengths of time in milliseconds at which the words of a relative time change.
_SPANS: Final = (44_500, 89_500, 2_699_500, 5_399_500, 79_199_500, 129_599_500, 25.5 * _DAY, 45.5 * _DAY, 319.5 * _DAY, 547.5 * _DAY)
_CUSTOM_UNITS: Final = (
    *("", "furlongs", "x:y", " / sec", "suffix:x", "suffix: y", "prefix:$", "si:mF", "si:µg", "si:kB", "si:", "count:x", "currency:€"),
    *("currency:financial:$", "currency:financial:$:suffix", "currency:financial:", "currency:financial", "bool:a/b", "bool:a/", "bool:a"),
    *("time:", "time:YYYY-MM-DD", "time:HH:mm:ss.SSS", "time:LLLL", "time:[a]x X", "time:dddd Do w W e E Q gg GG Z ZZ", "farenheit"),
    *("time:YY YYYYYY Y N y DDDD", "time:k kk h hh A a SSSS hmm Hmmss", "time:LT LTS L l ll lll llll LL LLL"),
)
_NUMBERS: Final = (0, 1, -1, 0.5, 99.99, 1000, 1024, -5, 1e21, 2**53 + 2, 1e-7, 59.9999, 3600, 86_399, 604_800, 31_536_000)
_TEXTS: Final = ("", "a", "abc", "10", "1", "true", "false", " ", "1e3", "0x10", "NaN", "null", "node-17", "-5", "Infinity", "x\ny", " 7 ")
_NOT_FINITE: Final = ({"special": "NaN"}, {"special": "Infinity"}, {"special": "-Infinity"})
_COLOURS: Final = ("red", "green", "blue", "#123456", "dark-orange", "text", "semi-dark-purple")
_MODES: Final = ("thresholds", "fixed", "palette-classic", "palette-classic-by-name", "continuous-GrYlRd", "continuous-blues", "shades")
#: Units of displays. Counts are not among them, because Grafana shows *undefined* after infinite ones.
_DISPLAY_UNITS: Final = ("short", "bytes", "s", "percent", "percentunit", "bool", "bool_on_off", "string", "none", "hex", "locale", "x", "")


class RandomValues:
    """A source of random values and the settings of their display."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def format(self, units: Sequence[str]) -> dict[str, Any]:
        """Return a number with a unit of ``units`` or a custom one."""
        unit = self._random.choice(units) if self._chance(0.8) else self._random.choice(_CUSTOM_UNITS)
        zone, value = "utc", self._number()
        if unit.startswith(("dateTime", "time:")):
            value = self._time()
            if _ZONED_TIMES[0] <= value < _ZONED_TIMES[1] and "Today" not in unit and unit != "dateTimeFromNow" and self._chance(0.5):
                zone = self._random.choice(_ZONES)
        decimals = self._random.choice((None, None, *range(11), 15, 20))
        flags = {"zone": zone, "withMilliseconds": self._chance(0.3)}
        return {"kind": "format", "unit": unit, "value": value, "decimals": decimals, **flags}

    def display(self) -> dict[str, Any]:
        """Return values of a column with mappings, thresholds and colours."""
        type_ = self._random.choice(("number", "number", "number", "string", "boolean", "other"))
        config: dict[str, Any] = {
            "unit": self._random.choice(_DISPLAY_UNITS),
            "decimals": self._random.choice((None, None, 0, 1, 3)),
            "mappings": [self.mapping() for _ in range(self._random.randrange(3))],
            "noValue": self._random.choice(("", "-", "0", "n/a")),
        }
        if self._chance(0.6):
            config["thresholds"] = self.thresholds()
        if self._chance(0.6):
            config["color"] = {"mode": self._random.choice(_MODES), "fixedColor": self._random.choice(_COLOURS)}
        if type_ == "number":
            config |= {"min": self._random.choice((0, -10, 10)), "max": self._random.choice((50, 100, 1000))}
        state = {"seriesIndex": self._random.randrange(70), "displayName": self._random.choice(("x", 'A {host="b"}', "é"))}
        values = [self._cell(type_) for _ in range(4)]
        return {"kind": "display", "field": {"type": type_, "config": config, "state": state}, "values": values}

    def reduce(self, reducers: Sequence[str]) -> dict[str, Any]:
        """Return values that calculations reduce."""
        type_ = self._random.choice(("number", "number", "number", "string", "boolean"))
        values = [self._cell(type_) for _ in range(self._random.choice((0, 1, 2, 3, 5, 8)))]
        return {"kind": "reduce", "type": type_, "values": values, "reducers": list(reducers)}

    def _number(self) -> float:
        """Return a number: a special one, a decimal, of any magnitude, near powers of two or ten, or near a special one."""
        sign = self._random.choice((1, -1))
        kind = self._random.randrange(6)
        if kind == 0:
            return self._random.choice(_NUMBERS)
        if kind == 1:
            return round(self._random.uniform(-1000, 1000), self._random.randrange(5))
        if kind == 2:
            return sign * float(10 ** self._random.uniform(-12, 15))
        if kind == 3:
            return sign * float(2 ** self._random.uniform(-30, 50))
        if kind == 4:
            return sign * self._random.randrange(1, 10) * 10.0 ** self._random.randrange(-10, 15)
        return sign * self._random.choice(_NUMBERS) * self._random.choice((1, 1000, 1e6, 1e-3)) + self._random.choice((0, -1, 0.5))

    def _time(self) -> float:
        """Return a time in milliseconds: at any distance from now, near a change of words, with zones, or any date."""
        sign = self._random.choice((1, -1))
        kind = self._random.randrange(4)
        if kind == 0:
            return NOW + sign * float(10 ** self._random.uniform(0, 13))
        if kind == 1:
            return NOW + sign * self._random.choice(_SPANS) + self._random.randrange(-1000, 1000)
        return self._random.randrange(*_ZONED_TIMES) if kind == 2 else self._random.randrange(-_LAST_DATE, _LAST_DATE + 1)

    def _cell(self, type_: str) -> Any:
        """Return a value of a type of columns, or null."""
        if self._chance(0.12):
            return None
        if type_ == "boolean":
            return self._random.choice((True, False))
        if type_ == "string":
            return self._random.choice(_TEXTS)
        numbers = (*_NUMBERS, *_NOT_FINITE)
        return self._random.choice(numbers if type_ == "number" else (*numbers, *_TEXTS, True, False))

    def mapping(self) -> dict[str, Any]:
        """Return a value mapping of a random type."""
        kind = self._random.choice(("value", "range", "regex", "special"))
        keys = ("0", "1", "10", "a", "true", "false", "", "null", "NaN", "1e+21", "0.5")
        choices: dict[str, dict[str, Any]] = {
            "value": {self._random.choice(keys): self._result() for _ in range(2)},
            "range": {"from": self._random.choice((None, 0, -10, "1")), "to": self._random.choice((None, 10, 100, "50"))},
            "regex": {"pattern": self._random.choice(("a", "/a/", "/(\\d+)/", "/.*/", "^a.*$", "/NODE-(\\d+)/i", "\\d+"))},
            "special": {"match": self._random.choice(("null", "nan", "null+nan", "true", "false", "empty", "x"))},
        }
        options = choices[kind]
        return {"type": kind, "options": options if kind == "value" else {**options, "result": self._result()}}

    def _result(self) -> dict[str, Any]:
        """Return what a mapping shows: a text, a colour, or both."""
        text = {"text": self._random.choice(("T", "", "N/A", "$1", "[$1]"))} if self._chance(0.75) else {}
        return text | ({"color": self._random.choice((*_COLOURS, "transparent"))} if self._chance(0.5) else {})

    def thresholds(self) -> dict[str, Any]:
        """Return up to four thresholds, sorted by their values."""
        values = sorted(self._random.choice((-10, 0, 1, 10, 50, 90, 100)) for _ in range(self._random.randrange(5)))
        steps = [{"value": value, "color": self._random.choice(_COLOURS)} for value in values]
        return {"mode": self._random.choice(("absolute", "percentage")), "steps": steps}

    def _chance(self, share: float) -> bool:
        """Return True with a probability."""
        return self._random.random() < share
