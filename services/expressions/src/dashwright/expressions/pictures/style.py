"""Style of a panel's values: units, decimals, bounds, thresholds, mappings and colours, with overrides by name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.json_shapes import object_of, objects_of, text_of
from dashwright.expressions.pictures.dashboard import Panel, number_of
from dashwright.expressions.pictures.series import PlotSeries
from dashwright.expressions.pictures.theme import PALETTE, Theme, colour_of
from dashwright.expressions.pictures.units import Unit, unit_of

_LONGEST_NAME: Final = 200
_MOST_DECIMALS: Final = 10
TRANSPARENT: Final = "transparent"


@dataclass(frozen=True, slots=True)
class ThresholdStep:
    """The colour from a value upwards."""

    value: float | None  #: None for the first step.
    colour: str


@dataclass(frozen=True, slots=True)
class Style:
    """The field configuration of a panel or series: the defaults, with overrides applied."""

    configured: Mapping[str, Any]
    theme: Theme

    @property
    def unit(self) -> Unit:
        """The unit of the values."""
        return unit_of(text_of(self.configured.get("unit")))

    @property
    def decimals(self) -> int | None:
        """The number of decimals, or None."""
        number = number_of(self.configured.get("decimals"))
        return None if number is None else min(max(int(number), 0), _MOST_DECIMALS)

    @property
    def least(self) -> float | None:
        """The configured minimum, or None."""
        return number_of(self.configured.get("min"))

    @property
    def most(self) -> float | None:
        """The configured maximum, or None."""
        return number_of(self.configured.get("max"))

    @property
    def custom(self) -> Mapping[str, Any]:
        """The custom settings of the panel's type."""
        return object_of(self.configured.get("custom"))

    def custom_kind(self, name: str, member: str) -> str:
        """Return the text ``member`` of an object among the custom settings."""
        return text_of(object_of(self.custom.get(name)).get(member))

    def text(self, value: float | None) -> str:
        """Return the text of a value, by a mapping if one matches, else with its unit."""
        if (mapped := self._mapped(value)) and isinstance(mapped.get("text"), str) and mapped["text"]:
            return str(mapped["text"])[:_LONGEST_NAME]
        if value is None:
            return text_of(self.configured.get("noValue"))[:_LONGEST_NAME] or "No data"
        return self._with_given_unit(self.unit.text(value, self.decimals))

    def colour(self, value: float | None) -> str:
        """Return the colour of a value: by a mapping, else the fixed colour, else by the thresholds."""
        if (mapped := self._mapped(value)) and (found := colour_of(mapped.get("color"), self.theme)):
            return found
        if fixed := self.fixed_colour:
            return fixed
        return threshold_of(self.thresholds(least=self.least or 0, most=100 if self.most is None else self.most), value, self.theme)

    @property
    def fixed_colour(self) -> str | None:
        """The fixed colour, or None."""
        configured = object_of(self.configured.get("color"))
        return colour_of(configured.get("fixedColor"), self.theme) if configured.get("mode") in ("fixed", "shades") else None

    def thresholds(self, *, least: float, most: float) -> list[ThresholdStep]:
        """Return the steps sorted by value; percentages are of the way from ``least`` to ``most``."""
        configured = object_of(self.configured.get("thresholds"))
        found = []
        for step in objects_of(configured.get("steps")):
            value = number_of(step.get("value"))
            if value is not None and configured.get("mode") == "percentage":
                value = least + (most - least) * value / 100
            found.append(ThresholdStep(value, _colour_of_step(step.get("color"), self.theme)))
        return sorted(found, key=lambda step: float("-inf") if step.value is None else step.value)

    def _mapped(self, value: float | None) -> Mapping[str, Any] | None:
        return next(_mappings(objects_of(self.configured.get("mappings")), value), None)

    def _with_given_unit(self, text: str) -> str:
        """Return the text with a user-defined unit, ``suffix:`` or ``prefix:`` followed by any text."""
        kind, colon, words = text_of(self.configured.get("unit")).partition(":")
        if colon and kind == "suffix":
            return f"{text} {words[:20]}"
        return f"{words[:20]}{text}" if colon and kind in ("prefix", "currency") else text


def style_of(panel: Panel, theme: Theme, series: PlotSeries | None = None) -> Style:
    """Return the style of the panel, or of one of its series."""
    if series is None:
        return Style(panel.defaults, theme)
    configured: dict[str, Any] = dict(panel.defaults)
    for override in panel.overrides:
        if _matches(object_of(override.get("matcher")), series):
            for item in objects_of(override.get("properties")):
                _set(configured, text_of(item.get("id")), item.get("value"))
    return Style(configured, theme)


def shown_name(style: Style, series: PlotSeries) -> str:
    """Return the configured display name, or the name of the series."""
    given = text_of(style.configured.get("displayName"))
    return (given if given and "${__" not in given else series.name)[:_LONGEST_NAME]


def series_colours(styles: Sequence[Style]) -> list[str]:
    """Return the fixed colours, and for the other series the palette in turn."""
    return [style.fixed_colour or PALETTE[number % len(PALETTE)] for number, style in enumerate(styles)]


def threshold_of(steps: Sequence[ThresholdStep], value: float | None, theme: Theme) -> str:
    """Return the colour of the last step that the value reaches."""
    reached = [step for step in steps if step.value is None or (value is not None and value >= step.value)]
    return reached[-1].colour if reached else PALETTE[0] if not steps else theme.text


def _colour_of_step(given: Any, theme: Theme) -> str:
    return TRANSPARENT if given == TRANSPARENT else colour_of(given, theme) or theme.text


def _matches(matcher: Mapping[str, Any], series: PlotSeries) -> bool:
    """Return whether a matcher selects the series by name or query; a user's regular expression is never run."""
    kind, wanted = matcher.get("id"), matcher.get("options")
    return (kind == "byName" and wanted == series.name) or (kind == "byFrameRefID" and wanted == series.ref_id)


def _set(configured: dict[str, Any], name: str, value: Any) -> None:
    if name.startswith("custom."):
        configured["custom"] = {**object_of(configured.get("custom")), name.removeprefix("custom."): value}
    else:
        configured[name] = value


def _mappings(listed: Sequence[Mapping[str, Any]], value: float | None) -> Iterator[Mapping[str, Any]]:
    for item in listed:
        kind, options = item.get("type"), object_of(item.get("options"))
        if kind == "value":
            for wanted, result in options.items():
                if value is not None and number_of(wanted) == value and isinstance(result, dict):
                    yield result
        elif kind == "range":
            start, end = number_of(options.get("from")), number_of(options.get("to"))
            if value is not None and (start is None or start <= value) and (end is None or value <= end):
                yield object_of(options.get("result"))
        elif kind == "special" and value is None and options.get("match") in ("null", "null+nan"):
            yield object_of(options.get("result"))
