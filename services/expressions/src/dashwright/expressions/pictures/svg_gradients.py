"""Gradients of SVG, whose ids follow from their content, so that equal ones of different panels do not clash."""

import hashlib
import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from dashwright.expressions.pictures.display.thresholds import TRANSPARENT

#: The colours of a series or step that is not drawn.
_INVISIBLE: Final = frozenset({TRANSPARENT, "none"})


class Stop(NamedTuple):
    """A place on a gradient, and the colour there."""

    offset: float  #: From 0 at the start to 1 at the end.
    colour: str
    opacity: float = 1.0


def linear_gradient(stops: Sequence[Stop], start: tuple[float, float], end: tuple[float, float], *, is_in_pixels: bool) -> tuple[str, str]:
    """Return the element of a gradient between two points, and the paint that refers to it, for ``fill`` and ``stroke``.

    The points are in pixels, or relative to the element that is filled.
    """
    units = "userSpaceOnUse" if is_in_pixels else "objectBoundingBox"
    (x1, y1), (x2, y2) = start, end
    return _gradient("linearGradient", f'gradientUnits="{units}" x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}"', stops)


def radial_gradient(stops: Sequence[Stop]) -> tuple[str, str]:
    """Return the element of a gradient from the middle of an element to its corners, and the paint that refers to it."""
    # The distance from the middle of a unit square to its corners.
    return _gradient("radialGradient", f'r="{math.sqrt(0.5):.4f}"', stops)


def _gradient(element: str, attributes: str, stops: Sequence[Stop]) -> tuple[str, str]:
    """Return the element of a gradient and the paint that refers to it."""
    content = "".join(_stop_element(stop) for stop in stops)
    name = "gradient-" + hashlib.sha256((attributes + content).encode()).hexdigest()[:16]
    return f'<{element} id="{name}" {attributes}>{content}</{element}>', f"url(#{name})"


def _stop_element(stop: Stop) -> str:
    """Return the element of a stop. An invisible colour becomes a transparent one."""
    colour, opacity = ("#000000", 0.0) if stop.colour in _INVISIBLE else (stop.colour, stop.opacity)
    return f'<stop offset="{stop.offset:.4f}" stop-color="{colour}"' + (f' stop-opacity="{opacity:g}"/>' if opacity < 1 else "/>")
