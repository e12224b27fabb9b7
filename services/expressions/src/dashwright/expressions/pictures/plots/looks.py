"""Looks of series: the settings of time series panels that lines, bars and points are drawn with, and their defaults in Grafana."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.json_shapes import list_of, number_of, object_of, string_of

# The first value of each setting is its default.
_DRAW_STYLES: Final = ("line", "bars", "points")
_INTERPOLATIONS: Final = ("linear", "smooth", "stepBefore", "stepAfter")
_GRADIENTS: Final = ("none", "opacity", "hue", "scheme")
_POINT_MODES: Final = ("auto", "never", "always")
_TRANSFORMS: Final = ("", "negative-Y", "constant")
_STACK_MODES: Final = ("", "normal", "percent")
_MAX_LINE_WIDTH: Final = 20.0
_MAX_POINT_SIZE: Final = 40.0
_MAX_BAR_WIDTH: Final = 200.0
_MAX_DASHES: Final = 16
# The default lengths of dashes and gaps, in pixels. A dot is a dash of no length with round ends.
_DASH: Final = (10.0, 10.0)
_DOTS: Final = (0.0, 10.0)
#: The opacity of the area down to another series if none is set.
_OPACITY_TO_SERIES: Final = 35.0


@dataclass(frozen=True, slots=True)
class Look:
    """How a series is drawn."""

    draw_style: str = "line"  #: ``line``, ``bars`` or ``points``.
    interpolation: str = "linear"  #: ``linear``, ``smooth``, ``stepBefore`` or ``stepAfter``.
    line_width: float = 1.0  #: In pixels.
    fill_opacity: float = 0.0  #: From 0 to 1.
    gradient: str = "none"  #: ``none``, ``opacity``, ``hue`` or ``scheme``.
    dash: tuple[float, ...] = ()  #: Lengths of dashes and gaps in pixels; empty for a continuous line.
    has_round_ends: bool = False  #: True for dashes with round ends, which make dots.
    spanned_distance: float = 0.0  #: Gaps shorter than this are spanned, in milliseconds.
    points: str = "auto"  #: Whether a line has points: ``always``, ``never``, or ``auto`` if they are far enough apart.
    point_size: float = 5.0  #: In pixels.
    bar_alignment: float = 0.0  #: -1 for bars before their times, 0 for centred ones, 1 for bars after their times.
    bar_share: float = 0.6  #: The width of a bar as a share of the distance of points.
    max_bar_width: float = _MAX_BAR_WIDTH  #: In pixels.
    stack_mode: str = ""  #: ``normal``, ``percent`` or empty.
    stack_group: Hashable = None  #: Series with the same mode and group are stacked.
    transform: str = ""  #: ``negative-Y``, ``constant`` or empty.
    fills_to: str = ""  #: The name of the series down to which the area is filled.
    is_hidden: bool = False  #: True if the series is not drawn.
    is_in_legend: bool = True

    @staticmethod
    def of(custom: Mapping[str, Any]) -> "Look":
        """Return the look that the custom settings of a field configuration describe."""
        stacking, hidden = object_of(custom.get("stacking")), object_of(custom.get("hideFrom"))
        line_style = object_of(custom.get("lineStyle"))
        group, fills_to = stacking.get("group"), string_of(custom.get("fillBelowTo"))
        opacity = _bounded(custom.get("fillOpacity"), 0, 0, 100)
        fill = line_style.get("fill")
        return Look(
            draw_style=_choice(custom.get("drawStyle"), _DRAW_STYLES),
            interpolation=_choice(custom.get("lineInterpolation"), _INTERPOLATIONS),
            line_width=_bounded(custom.get("lineWidth"), 1, 0, _MAX_LINE_WIDTH),
            fill_opacity=(opacity or (_OPACITY_TO_SERIES if fills_to else 0)) / 100,
            gradient=_choice(custom.get("gradientMode"), _GRADIENTS),
            dash=_dash(line_style.get("dash"), _DOTS if fill == "dot" else _DASH) if fill in ("dash", "dot") else (),
            has_round_ends=fill == "dot",
            spanned_distance=_spanned_distance(custom.get("spanNulls")),
            points=_choice(custom.get("showPoints"), _POINT_MODES),
            point_size=_bounded(custom.get("pointSize"), 5, 0, _MAX_POINT_SIZE),
            bar_alignment=_bounded(custom.get("barAlignment"), 0, -1, 1),
            bar_share=_bounded(custom.get("barWidthFactor"), 0.6, 0.01, 1),
            max_bar_width=_bounded(custom.get("barMaxWidth"), _MAX_BAR_WIDTH, 1, _MAX_BAR_WIDTH),
            stack_mode=_choice(stacking.get("mode"), _STACK_MODES),
            stack_group=group if isinstance(group, Hashable) else None,
            transform=_choice(custom.get("transform"), _TRANSFORMS),
            fills_to=fills_to,
            is_hidden=hidden.get("viz") is True,
            is_in_legend=hidden.get("legend") is not True,
        )

    def stack_key(self, scale: Hashable) -> Hashable:
        """Return the key that is equal for all series on a scale that are stacked on each other."""
        # Lines or bars of different shape are not stacked, because the lower edge of one would not fit the upper edge of the other.
        details = {"line": self.interpolation, "bars": self.bar_alignment}
        return (self.stack_mode, self.stack_group, scale, self.draw_style, details.get(self.draw_style))


def _choice(value: Any, choices: tuple[str, ...]) -> str:
    """Return the value if it is one of the choices, else the first of them."""
    return value if isinstance(value, str) and value in choices else choices[0]


def _bounded(value: Any, default: float, low: float, high: float) -> float:
    """Return a number limited to the range from ``low`` to ``high``, or the default for any other value."""
    number = number_of(value)
    return default if number is None else min(max(number, low), high)


def _dash(value: Any, default: tuple[float, ...]) -> tuple[float, ...]:
    """Return the configured lengths of dashes and gaps, or the default if all are zero."""
    lengths = tuple(_bounded(length, 0, 0, 1_000) for length in list_of(value)[:_MAX_DASHES])
    return lengths if any(lengths) else default


def _spanned_distance(value: Any) -> float:
    """Return the milliseconds below which gaps are spanned, from the setting ``spanNulls``: true for all gaps, or a number."""
    return math.inf if value is True else max(number_of(value) or 0.0, 0.0)
