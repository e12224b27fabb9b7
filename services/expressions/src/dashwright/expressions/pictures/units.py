"""Units of values by the ids that dashboards use, and the formatting of values and axis labels with them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of values."""

    #: The steps of the unit, such as B, KiB and MiB: the size and the suffix of each, by ascending size. A value is divided by
    #: the size of the largest step that it reaches.
    steps: Sequence[tuple[float, str]] = ((1, ""),)
    prefix: str = ""  #: Precedes the value, such as a currency sign.
    factor: float = 1  #: The size of the unit of the values. They are multiplied by it before they are compared with the steps.

    def label_expression(self, decimals: int | None = None) -> str:
        """Return a Vega expression for the label of an axis tick. It contains only strings and numbers of ``UNITS``."""
        number_format = ".4~g" if decimals is None else f".{min(max(decimals, 0), 10)}f"
        smallest_step, *greater_steps = self.steps
        expression = self._label_part(*smallest_step, number_format)
        for size, suffix in greater_steps:
            is_reached = f"abs(datum.value) >= {_STEP_SHARE * size / self.factor!r}"
            expression = f"{is_reached} ? {self._label_part(size, suffix, number_format)} : {expression}"
        return f"datum.value == 0 ? {self._label_part(*self._step_of_zero, number_format)} : {expression}"

    def ticks(self, low: float, high: float, count: int) -> list[float]:
        """Return about ``count`` values from ``low`` to ``high`` that are round in the step of the larger one.

        Return no values if the size of this step is a power of ten, because the ticks of Vega are round then.
        """
        step_size, _ = self._step(max(abs(low), abs(high)) * self.factor)
        step_size /= self.factor
        # Distances between two ticks, in steps of this size.
        rough_distance = (high - low) / step_size / max(count, 1)
        if math.log10(step_size * self.factor).is_integer() or not 0 < rough_distance < math.inf:
            return []
        power = 10.0 ** math.floor(math.log10(rough_distance))
        multiple = next(multiple for multiple in (1, 2, 5, 10) if multiple * power >= rough_distance * _STEP_SHARE)
        distance = step_size * power * multiple
        return [index * distance for index in range(math.floor(low / distance), math.ceil(high / distance) + 1)]

    def _label_part(self, size: float, suffix: str, number_format: str) -> str:
        """Return a Vega expression for a label in the step with this size and suffix."""
        return f"'{self.prefix}' + format(datum.value * {self.factor / size!r}, '{number_format}') + '{suffix}'"

    @property
    def _step_of_zero(self) -> tuple[float, str]:
        """The step in which 0 is shown: that of the unit of the values, such as KiB for values in KiB."""
        return next((step for step in self.steps if step[0] == self.factor), self.steps[0])

    def _step(self, value: float) -> tuple[float, str]:
        """Return the largest step that a value reaches, after its multiplication by ``factor``."""
        if not value:
            return self._step_of_zero
        reached = [step for step in self.steps if abs(value) >= _STEP_SHARE * step[0]]
        return reached[-1] if reached else self.steps[0]


#: The share of a step's size from which the step is used, so that 999.6 is shown as *1 k* rather than as *1000*.
_STEP_SHARE: Final = 0.9995


def _si_steps(suffix: str = "") -> tuple[tuple[float, str], ...]:
    return tuple((1000.0**exponent, f" {prefix}{suffix}") for exponent, prefix in enumerate(("", "k", "M", "G", "T", "P")))


def _short_scale(suffix: str = "") -> tuple[tuple[float, str], ...]:
    return tuple((1000.0**exponent, f" {prefix}".rstrip() + suffix) for exponent, prefix in enumerate(("", "K", "Mil", "Bil", "Tri")))


def _iec_steps(suffix: str) -> tuple[tuple[float, str], ...]:
    return tuple((1024.0**exponent, f" {prefix}{suffix}") for exponent, prefix in enumerate(("", "Ki", "Mi", "Gi", "Ti", "Pi")))


_TIME_STEPS: Final = (
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
_SHORT_SCALE: Final = Unit(_short_scale())
#: Units by the id in a field's configuration. Values with an unknown id are plain numbers.
UNITS: Final = {
    "": _PLAIN,
    "none": _PLAIN,
    "short": _SHORT_SCALE,
    "sishort": Unit(_si_steps()),
    "locale": _PLAIN,
    "percent": Unit(((1, "%"),)),
    "percentunit": Unit(((1, "%"),), factor=100),
    "humidity": Unit(((1, " %H"),)),
    "dB": Unit(((1, " dB"),)),
    "bytes": Unit(_iec_steps("B")),
    "decbytes": Unit(_si_steps("B")),
    "bits": Unit(_iec_steps("b")),
    "decbits": Unit(_si_steps("b")),
    "kbytes": Unit(_iec_steps("B"), factor=1024),
    "mbytes": Unit(_iec_steps("B"), factor=1024**2),
    "gbytes": Unit(_iec_steps("B"), factor=1024**3),
    "deckbytes": Unit(_si_steps("B"), factor=1000),
    "decmbytes": Unit(_si_steps("B"), factor=1e6),
    "decgbytes": Unit(_si_steps("B"), factor=1e9),
    "bps": Unit(_si_steps("b/s")),
    "Bps": Unit(_si_steps("B/s")),
    "binBps": Unit(_iec_steps("B/s")),
    "binbps": Unit(_iec_steps("b/s")),
    "KBs": Unit(_si_steps("B/s"), factor=1000),
    "MBs": Unit(_si_steps("B/s"), factor=1e6),
    "Kbits": Unit(_si_steps("b/s"), factor=1000),
    "Mbits": Unit(_si_steps("b/s"), factor=1e6),
    "pps": Unit(_si_steps("p/s")),
    "ns": Unit(_TIME_STEPS, factor=1e-9),
    "µs": Unit(_TIME_STEPS, factor=1e-6),
    "ms": Unit(_TIME_STEPS, factor=1e-3),
    "s": Unit(_TIME_STEPS),
    "m": Unit(_TIME_STEPS, factor=60),
    "h": Unit(_TIME_STEPS, factor=3600),
    "d": Unit(_TIME_STEPS, factor=86400),
    "dtdurations": Unit(_TIME_STEPS),
    "dtdurationms": Unit(_TIME_STEPS, factor=1e-3),
    "ops": Unit(_short_scale(" ops/s")),
    "reqps": Unit(_short_scale(" req/s")),
    "rps": Unit(_short_scale(" rd/s")),
    "wps": Unit(_short_scale(" wr/s")),
    "iops": Unit(_short_scale(" io/s")),
    "cps": Unit(_short_scale(" c/s")),
    "eps": Unit(_short_scale(" evt/s")),
    "opm": Unit(_short_scale(" ops/m")),
    "rpm": Unit(_short_scale(" rd/m")),
    "hertz": Unit(_si_steps("Hz")),
    "rotrpm": Unit(((1, " rpm"),)),
    "celsius": Unit(((1, " °C"),)),
    "fahrenheit": Unit(((1, " °F"),)),
    "kelvin": Unit(((1, " K"),)),
    "watt": Unit(_si_steps("W")),
    "kwatt": Unit(_si_steps("W"), factor=1000),
    "watth": Unit(_si_steps("Wh")),
    "volt": Unit(_si_steps("V")),
    "amp": Unit(_si_steps("A")),
    "joule": Unit(_si_steps("J")),
    "lengthm": Unit(_si_steps("m")),
    "pressurehpa": Unit(((1, " hPa"),)),
    "degree": Unit(((1, "°"),)),
    "currencyUSD": Unit(_short_scale(), "$"),
    "currencyEUR": Unit(_short_scale(), "€"),
    "currencyGBP": Unit(_short_scale(), "£"),
    "currencyJPY": Unit(_short_scale(), "¥"),
    "currencyCHF": Unit(_short_scale(" CHF")),
    "currencyRUB": Unit(_short_scale(" ₽")),
}


def unit_of(unit_id: str) -> Unit:
    """Return the unit with an id, or plain numbers if the id is unknown."""
    return UNITS.get(unit_id, _PLAIN)
