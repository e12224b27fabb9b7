"""How the values of a panel are shown: units, decimals, bounds, thresholds, mappings and colours, with the overrides by name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashwright.expressions.pictures.dashboard import Panel, items_of, mapping_of, number_of, text_of
from dashwright.expressions.pictures.series import PlotSeries
from dashwright.expressions.pictures.theme import PALETTE, Theme, colour_of
from dashwright.expressions.pictures.units import Unit, unit_of

_LONGEST_NAME: Final = 200
_MOST_DECIMALS: Final = 10
TRANSPARENT: Final = "transparent"


@dataclass(frozen=True, slots=True)
class ThresholdStep:
    """The colour from a value on; the first has no value."""

    value: float | None
    colour: str


@dataclass(frozen=True, slots=True)
class Style:
    """``configured`` is the field configuration that holds: the defaults, and over them what an override says."""

    configured: Mapping[str, Any]
    theme: Theme

    @property
    def unit(self) -> Unit:
        return unit_of(text_of(self.configured.get("unit")))

    @property
    def decimals(self) -> int | None:
        number = number_of(self.configured.get("decimals"))
        return None if number is None else min(max(int(number), 0), _MOST_DECIMALS)

    @property
    def least(self) -> float | None:
        return number_of(self.configured.get("min"))

    @property
    def most(self) -> float | None:
        return number_of(self.configured.get("max"))

    @property
    def custom(self) -> Mapping[str, Any]:
        return mapping_of(self.configured.get("custom"))

    def custom_kind(self, name: str, member: str) -> str:
        """Of an object among the custom settings, what its ``member`` says."""
        return text_of(mapping_of(self.custom.get(name)).get(member))

    def text(self, value: float | None) -> str:
        """By a mapping where one fits, else with its unit."""
        if (mapped := self._mapped(value)) and isinstance(mapped.get("text"), str) and mapped["text"]:
            return str(mapped["text"])[:_LONGEST_NAME]
        if value is None:
            return text_of(self.configured.get("noValue"))[:_LONGEST_NAME] or "No data"
        return self._with_given_unit(self.unit.text(value, self.decimals))

    def colour(self, value: float | None) -> str:
        """By a mapping, else the fixed colour, else by the thresholds."""
        if (mapped := self._mapped(value)) and (found := colour_of(mapped.get("color"), self.theme)):
            return found
        if fixed := self.fixed_colour:
            return fixed
        return threshold_of(self.thresholds(least=self.least or 0, most=100 if self.most is None else self.most), value, self.theme)

    @property
    def fixed_colour(self) -> str | None:
        told = mapping_of(self.configured.get("color"))
        return colour_of(told.get("fixedColor"), self.theme) if told.get("mode") in ("fixed", "shades") else None

    def thresholds(self, *, least: float, most: float) -> list[ThresholdStep]:
        """By their values; percentages are of the way from ``least`` to ``most``."""
        told = mapping_of(self.configured.get("thresholds"))
        found = []
        for step in items_of(told.get("steps")):
            value = number_of(step.get("value"))
            if value is not None and told.get("mode") == "percentage":
                value = least + (most - least) * value / 100
            found.append(ThresholdStep(value, _colour_of_step(step.get("color"), self.theme)))
        return sorted(found, key=lambda step: float("-inf") if step.value is None else step.value)

    def _mapped(self, value: float | None) -> Mapping[str, Any] | None:
        return next(_mappings(items_of(self.configured.get("mappings")), value), None)

    def _with_given_unit(self, text: str) -> str:
        """Units that users make up: ``suffix:`` and ``prefix:`` with any text."""
        kind, colon, words = text_of(self.configured.get("unit")).partition(":")
        if colon and kind == "suffix":
            return f"{text} {words[:20]}"
        return f"{words[:20]}{text}" if colon and kind in ("prefix", "currency") else text


def style_of(panel: Panel, theme: Theme, series: PlotSeries | None = None) -> Style:
    """Of the panel, or of one series of it."""
    if series is None:
        return Style(panel.defaults, theme)
    configured: dict[str, Any] = dict(panel.defaults)
    for override in panel.overrides:
        if _matches(mapping_of(override.get("matcher")), series):
            for item in items_of(override.get("properties")):
                _set(configured, text_of(item.get("id")), item.get("value"))
    return Style(configured, theme)


def shown_name(style: Style, series: PlotSeries) -> str:
    given = text_of(style.configured.get("displayName"))
    return (given if given and "${__" not in given else series.name)[:_LONGEST_NAME]


def series_colours(styles: Sequence[Style]) -> list[str]:
    """The fixed ones, and for the others the palette in turn."""
    return [style.fixed_colour or PALETTE[number % len(PALETTE)] for number, style in enumerate(styles)]


def threshold_of(steps: Sequence[ThresholdStep], value: float | None, theme: Theme) -> str:
    reached = [step for step in steps if step.value is None or (value is not None and value >= step.value)]
    return reached[-1].colour if reached else PALETTE[0] if not steps else theme.text


def _colour_of_step(given: Any, theme: Theme) -> str:
    return TRANSPARENT if given == TRANSPARENT else colour_of(given, theme) or theme.text


def _matches(matcher: Mapping[str, Any], series: PlotSeries) -> bool:
    """By name or query; a pattern of a user is not run."""
    kind, wanted = matcher.get("id"), matcher.get("options")
    return (kind == "byName" and wanted == series.name) or (kind == "byFrameRefID" and wanted == series.ref_id)


def _set(configured: dict[str, Any], name: str, value: Any) -> None:
    if name.startswith("custom."):
        configured["custom"] = {**mapping_of(configured.get("custom")), name.removeprefix("custom."): value}
    else:
        configured[name] = value


def _mappings(listed: Sequence[Mapping[str, Any]], value: float | None) -> Iterator[Mapping[str, Any]]:
    for item in listed:
        kind, options = item.get("type"), mapping_of(item.get("options"))
        if kind == "value":
            for wanted, result in options.items():
                if value is not None and number_of(wanted) == value and isinstance(result, dict):
                    yield result
        elif kind == "range":
            start, end = number_of(options.get("from")), number_of(options.get("to"))
            if value is not None and (start is None or start <= value) and (end is None or value <= end):
                yield mapping_of(options.get("result"))
        elif kind == "special" and value is None and options.get("match") in ("null", "null+nan"):
            yield mapping_of(options.get("result"))
