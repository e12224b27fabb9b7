"""Writer of the SVG of panels: text, boxes, arcs and lines. All text of users is escaped."""

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, Literal
from xml.sax.saxutils import escape, quoteattr

from dashwright.expressions.pictures.theme import FONT

_UNSHOWABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_NARROW: Final = frozenset("iIjlftr.,:;!|'()[]{}- ")
_WIDE: Final = frozenset("mwMW@%—")


def width_of(words: str, size: float) -> float:
    """Return the approximate width of a text in pixels."""
    return size * sum(0.31 if sign in _NARROW else 0.86 if sign in _WIDE else 1.0 if ord(sign) > 0x2E7F else 0.57 for sign in words)


def shortened(words: str, size: float, width: float) -> str:
    """Return the part of a text that fits into a width, with an ellipsis if it was cut."""
    words = " ".join(words[:2_000].split())
    if width_of(words, size) <= width:
        return words
    ends = list(accumulate(width_of(sign, size) for sign in words))
    kept = bisect_right(ends, width - size)
    return words[:kept].rstrip() + "…" if kept else ""


def wrapped(words: str, size: float, width: float, lines: int) -> list[str]:
    """Return a text in at most ``lines`` lines; the last one is shortened."""
    found: list[str] = []
    line = ""
    rest = words[:10_000].split()
    for number, word in enumerate(rest):
        longer = f"{line} {word}".strip()
        if line and width_of(longer, size) > width:
            if len(found) + 1 == lines:
                return [*found, shortened(" ".join([line, *rest[number:]]), size, width)]
            found.append(line)
            line = word
        else:
            line = longer
    return [shortened(each, size, width) for each in [*found, line] if each][:lines]


def text(
    words: str,
    x: float,
    y: float,
    *,
    size: float,
    colour: str,
    anchor: Literal["start", "middle", "end"] = "start",
    bold: bool = False,
) -> str:
    """Return a text element."""
    weight = ' font-weight="bold"' if bold else ""
    shown = escape(_UNSHOWABLE.sub("", words))
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-family={quoteattr(FONT)} font-size="{size:.1f}" fill="{colour}"'
        f' text-anchor="{anchor}"{weight}>{shown}</text>'
    )


def box(x: float, y: float, width: float, height: float, fill: str, *, border: str = "none", radius: float = 0, opacity: float = 1) -> str:
    """Return a rectangle."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}" rx="{radius:g}" fill="{fill}"'
        f' stroke="{border}" fill-opacity="{opacity:g}"/>'
    )


def line(points: Iterable[tuple[float, float]], colour: str, width: float = 1) -> str:
    """Return a line through points."""
    coordinates = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{coordinates}" fill="none" stroke="{colour}" stroke-width="{width:g}"/>'


def arc(centre: tuple[float, float], radius: float, part: tuple[float, float], colour: str, width: float) -> str:
    """Return a part of the half circle above its centre: from 0 on the left to 1 on the right."""
    (start, end), (x, y) = part, centre
    ends = [(x - radius * math.cos(math.pi * at), y - radius * math.sin(math.pi * at)) for at in (start, end)]
    (left, top), (right, bottom) = ends
    return (
        f'<path d="M {left:.1f} {top:.1f} A {radius:.1f} {radius:.1f} 0 0 1 {right:.1f} {bottom:.1f}" fill="none" stroke="{colour}"'
        f' stroke-width="{width:.1f}"/>'
    )


def placed(parts: Sequence[str], x: float, y: float, width: float, height: float) -> str:
    """Return the parts in a nested picture, which clips what exceeds it."""
    inner = "".join(parts)
    return (
        f'<svg x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" viewBox="0 0 {width:.1f} {height:.1f}"'
        f' overflow="hidden">{inner}</svg>'
    )


def whole(parts: Sequence[str], width: int, height: int) -> str:
    """Return the complete picture."""
    inner = "".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">{inner}</svg>'
    )
