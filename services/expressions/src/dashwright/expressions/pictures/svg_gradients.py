"""Linear gradients of SVG, whose ids follow from their content, so that equal ones of different panels do not clash."""

import hashlib
from collections.abc import Sequence

#: A place on a gradient from 0 to 1, and the colour there.
Stop = tuple[float, str]


def linear_gradient(stops: Sequence[Stop], start: tuple[float, float], end: tuple[float, float], *, is_in_pixels: bool) -> tuple[str, str]:
    """Return the element of a gradient between two points, and the value of ``fill`` that refers to it.

    The points are in pixels, or relative to the element that is filled.
    """
    units = "userSpaceOnUse" if is_in_pixels else "objectBoundingBox"
    (x1, y1), (x2, y2) = start, end
    content = "".join(f'<stop offset="{offset:.4f}" stop-color="{colour}"/>' for offset, colour in stops)
    attributes = f'gradientUnits="{units}" x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}"'
    name = "gradient-" + hashlib.sha256((attributes + content).encode()).hexdigest()[:16]
    return f'<linearGradient id="{name}" {attributes}>{content}</linearGradient>', f"url(#{name})"
