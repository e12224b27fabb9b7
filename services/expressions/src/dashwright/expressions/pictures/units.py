"""Values as text: the unit ids that dashboards name, as a fixed table, for texts and for labels of axes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of values."""

    #: The least value of each step, by which values are divided, and the suffix; the smallest first.
    steps: Sequence[tuple[float, str]] = ((1, ""),)
    prefix: str = ""
    factor: float = 1  #: Values are multiplied by it first.

    def text(self, value: float, decimals: int | None = None) -> str:
        """Return the value with its unit."""
        if not math.isfinite(value):
            return "∞" if value > 0 else "-∞" if value < 0 else "-"
        size, suffix = self._step(value * self.factor)
        return self.prefix + _digits(value * self.factor / size, decimals) + suffix

    def label(self, decimals: int | None = None) -> str:
        """Return a Vega expression for the label of a tick, made of this table's words and numbers only."""
        form = ".4~g" if decimals is None else f".{min(max(decimals, 0), 10)}f"
        (size, suffix), *greater = self.steps
        made = self._part(size, suffix, form)
        for least, behind in greater:
            made = f"abs(datum.value) >= {_EDGE * least / self.factor!r} ? {self._part(least, behind, form)} : {made}"
        return f"datum.value == 0 ? {self._part(*self._nought, form)} : {made}"

    def ticks(self, low: float, high: float, count: int) -> list[float]:
        """Return about ``count`` round values from ``low`` to ``high``; empty if decimal values are round in this unit."""
        size, _ = self._step(max(abs(low), abs(high)) * self.factor)
        size /= self.factor
        rough = (high - low) / size / max(count, 1)
        if math.log10(size * self.factor).is_integer() or not 0 < rough < math.inf:
            return []
        power = 10.0 ** math.floor(math.log10(rough))
        step = size * power * next(nice for nice in (1, 2, 5, 10) if nice * power >= rough * _EDGE)
        return [number * step for number in range(math.floor(low / step), math.ceil(high / step) + 1)]

    def _part(self, size: float, suffix: str, form: str) -> str:
        return f"'{self.prefix}' + format(datum.value * {self.factor / size!r}, '{form}') + '{suffix}'"

    @property
    def _nought(self) -> tuple[float, str]:
        """The step in which 0 is shown: that of the unit's own name."""
        return next((step for step in self.steps if step[0] == self.factor), self.steps[0])

    def _step(self, value: float) -> tuple[float, str]:
        if not value:
            return self._nought
        reached = [step for step in self.steps if abs(value) >= _EDGE * step[0]]
        return reached[-1] if reached else self.steps[0]


#: Share of a step from which it is used: a value that would be shown as 1000 is shown as 1 of the next step.
_EDGE: Final = 0.9995


def _si(behind: str = "") -> tuple[tuple[float, str], ...]:
    return tuple((1000.0**power, f" {name}{behind}") for power, name in enumerate(("", "k", "M", "G", "T", "P")))


def _counted(behind: str = "") -> tuple[tuple[float, str], ...]:
    return tuple((1000.0**power, f" {name}".rstrip() + behind) for power, name in enumerate(("", "K", "Mil", "Bil", "Tri")))


def _iec(behind: str) -> tuple[tuple[float, str], ...]:
    return tuple((1024.0**power, f" {name}{behind}") for power, name in enumerate(("", "Ki", "Mi", "Gi", "Ti", "Pi")))


_TIMES: Final = (
    (1e-9, " ns"),
    (1e-6, " µs"),
    (1e-3, " ms"),
    (1.0, " s"),
    (60.0, " min"),
    (3600.0, " hour"),
    (86400.0, " day"),
    (604800.0, " week"),
    (31557600.0, " year"),
)

_PLAIN: Final = Unit()
_SHORT: Final = Unit(_counted())
#: Units by the id in a field's configuration. Values with an unknown id are plain numbers.
UNITS: Final = {
    "": _PLAIN,
    "none": _PLAIN,
    "short": _SHORT,
    "sishort": Unit(_si()),
    "locale": _PLAIN,
    "percent": Unit(((1, "%"),)),
    "percentunit": Unit(((1, "%"),), factor=100),
    "humidity": Unit(((1, " %H"),)),
    "dB": Unit(((1, " dB"),)),
    "bytes": Unit(_iec("B")),
    "decbytes": Unit(_si("B")),
    "bits": Unit(_iec("b")),
    "decbits": Unit(_si("b")),
    "kbytes": Unit(_iec("B"), factor=1024),
    "mbytes": Unit(_iec("B"), factor=1024**2),
    "gbytes": Unit(_iec("B"), factor=1024**3),
    "deckbytes": Unit(_si("B"), factor=1000),
    "decmbytes": Unit(_si("B"), factor=1e6),
    "decgbytes": Unit(_si("B"), factor=1e9),
    "bps": Unit(_si("b/s")),
    "Bps": Unit(_si("B/s")),
    "binBps": Unit(_iec("B/s")),
    "binbps": Unit(_iec("b/s")),
    "KBs": Unit(_si("B/s"), factor=1000),
    "MBs": Unit(_si("B/s"), factor=1e6),
    "Kbits": Unit(_si("b/s"), factor=1000),
    "Mbits": Unit(_si("b/s"), factor=1e6),
    "pps": Unit(_si("p/s")),
    "ns": Unit(_TIMES, factor=1e-9),
    "µs": Unit(_TIMES, factor=1e-6),
    "ms": Unit(_TIMES, factor=1e-3),
    "s": Unit(_TIMES),
    "m": Unit(_TIMES, factor=60),
    "h": Unit(_TIMES, factor=3600),
    "d": Unit(_TIMES, factor=86400),
    "dtdurations": Unit(_TIMES),
    "dtdurationms": Unit(_TIMES, factor=1e-3),
    "ops": Unit(_counted(" ops/s")),
    "reqps": Unit(_counted(" req/s")),
    "rps": Unit(_counted(" rd/s")),
    "wps": Unit(_counted(" wr/s")),
    "iops": Unit(_counted(" io/s")),
    "cps": Unit(_counted(" c/s")),
    "eps": Unit(_counted(" evt/s")),
    "opm": Unit(_counted(" ops/m")),
    "rpm": Unit(_counted(" rd/m")),
    "hertz": Unit(_si("Hz")),
    "rotrpm": Unit(((1, " rpm"),)),
    "celsius": Unit(((1, " °C"),)),
    "fahrenheit": Unit(((1, " °F"),)),
    "kelvin": Unit(((1, " K"),)),
    "watt": Unit(_si("W")),
    "kwatt": Unit(_si("W"), factor=1000),
    "watth": Unit(_si("Wh")),
    "volt": Unit(_si("V")),
    "amp": Unit(_si("A")),
    "joule": Unit(_si("J")),
    "lengthm": Unit(_si("m")),
    "pressurehpa": Unit(((1, " hPa"),)),
    "degree": Unit(((1, "°"),)),
    "currencyUSD": Unit(_counted(), "$"),
    "currencyEUR": Unit(_counted(), "€"),
    "currencyGBP": Unit(_counted(), "£"),
    "currencyJPY": Unit(_counted(), "¥"),
    "currencyCHF": Unit(_counted(" CHF")),
    "currencyRUB": Unit(_counted(" ₽")),
}


def unit_of(name: str) -> Unit:
    """Return the unit with an id, or the plain one."""
    return UNITS.get(name, _PLAIN)


def _digits(number: float, decimals: int | None) -> str:
    """Return the number with ``decimals``, else with three or four significant digits without trailing zeros."""
    if decimals is not None:
        return f"{number:.{min(max(decimals, 0), 10)}f}"
    if number and (abs(number) >= 1e15 or abs(number) < 1e-6):
        return f"{number:.3g}"
    places = 0 if abs(number) >= 1000 else 1 if abs(number) >= 100 else 2 if abs(number) >= 0.1 else 6
    text = f"{number:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
