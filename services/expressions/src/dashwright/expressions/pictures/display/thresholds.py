"""Thresholds of a field configuration: steps from which values have another colour."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.json_shapes import number_of, object_of, objects_of
from dashwright.expressions.pictures.theme import Theme, colour_of

#: The colour of a threshold that is not drawn.
TRANSPARENT: Final = "transparent"
#: The colour of values without a configured or known colour, as in Grafana.
FALLBACK_COLOUR: Final = "#808080"
#: Further steps are ignored.
_MAX_STEPS: Final = 200


@dataclass(frozen=True, slots=True)
class ColourStep:
    """A step of thresholds: the colour of values from ``start`` up to the next step."""

    start: float  #: Negative infinity for the first step.
    colour: str


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds of a column, in the order of the configuration."""

    steps: Sequence[ColourStep]
    is_percentage: bool = False  #: True if the steps are percentages of the range of the column.

    def colour(self, value: float, share: float) -> str:
        """Return the colour of a value: that of the last step before the first step that starts above the value.

        ``share`` is the place of the value in the range of the column, 0 at its start and 1 at its end.
        """
        colour = self.steps[0].colour if self.steps else FALLBACK_COLOUR
        compared = share * 100 if self.is_percentage else value
        for step in self.steps:
            if compared < step.start:
                break
            colour = step.colour
        return colour

    def starts(self, low: float, high: float) -> list[float]:
        """Return the value at which each step starts. Percentages are relative to the range from ``low`` to ``high``."""
        if not self.is_percentage:
            return [step.start for step in self.steps]
        return [low + (high - low) * step.start / 100 for step in self.steps]


def thresholds_of(config: Mapping[str, Any], theme: Theme) -> Thresholds:
    """Return the thresholds of a field configuration."""
    settings = object_of(config.get("thresholds"))
    sources = objects_of(settings.get("steps"))[:_MAX_STEPS]
    starts = [_start(step, is_first=not index) for index, step in enumerate(sources)]
    steps = [ColourStep(start, step_colour(step.get("color"), theme)) for start, step in zip(starts, sources, strict=True)]
    return Thresholds(steps, settings.get("mode") == "percentage")


def step_colour(value: Any, theme: Theme) -> str:
    """Return the colour of a step, ``TRANSPARENT`` if it is not drawn."""
    return TRANSPARENT if value == TRANSPARENT else colour_of(value, theme) or FALLBACK_COLOUR


def _start(step: Mapping[str, Any], *, is_first: bool) -> float:
    """Return the start of a step. As in Grafana, null is 0, and steps after one without a value are not reached."""
    # The first step applies to all values below the second step; its own value is ignored.
    if is_first:
        return -math.inf
    number = number_of(step.get("value"))
    if number is not None:
        return number
    is_null = "value" in step and step["value"] is None
    return 0.0 if is_null else math.inf
