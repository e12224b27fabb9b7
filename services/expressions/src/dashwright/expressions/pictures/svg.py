"""SVG elements of panels: text, rectangles, arcs and lines. Text of users is escaped."""

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal
from xml.sax.saxutils import escape, quoteattr

from dashwright.expressions.pictures.text_widths import character_width
from dashwright.expressions.pictures.theme import CODE_FONT, FONT

_INVALID_CHARACTERS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
#: The distance from the middle of a line of text to its baseline, in font sizes.
BASELINE: Final = 0.36
#: The width of bold text relative to that of regular text.
BOLD_WIDTH: Final = 1.08
#: The width of each character in the font of code, in font sizes.
CODE_CHARACTER_WIDTH: Final = 0.6
_ELLIPSIS: Final = "…"
#: The maximum number of characters of a line, and of a text that is wrapped; further characters are omitted.
_MAX_LINE_LENGTH: Final = 2_000
_MAX_TEXT_LENGTH: Final = 10_000


def text_width(text: str, size: float, *, code: bool = False) -> float:
    """Return the width of a text in pixels, at a font ``size`` in pixels. Bold text is wider, except in the font of code."""
    return size * (CODE_CHARACTER_WIDTH * len(text) if code else sum(map(character_width, text)))


def truncated(text: str, size: float, width: float, *, code: bool = False) -> str:
    """Return the start of a text that fits into a width in pixels, with an ellipsis if it is truncated."""
    text = " ".join(text[:_MAX_LINE_LENGTH].split())
    if text_width(text, size, code=code) <= width:
        return text
    end_positions = list(accumulate(text_width(character, size, code=code) for character in text))
    ellipsis_width = text_width(_ELLIPSIS, size, code=code)
    count = bisect_right(end_positions, width - ellipsis_width)
    return text[:count].rstrip() + _ELLIPSIS if count else ""


def truncated_in_middle(text: str, size: float, width: float) -> str:
    """Return the start and the end of a text that together fit into a width in pixels, with an ellipsis between them."""
    text = " ".join(text[:_MAX_LINE_LENGTH].split())
    if text_width(text, size) <= width:
        return text
    # Both parts have equal widths: half of what the ellipsis, as wide as ``size``, does not need.
    start = truncated(text, size, (width + size) / 2).removesuffix("…")
    end = truncated(text[::-1], size, width - text_width(start, size)).removesuffix("…")[::-1]
    return f"{start}…{end}" if start and end else truncated(text, size, width)


def wrapped_lines(text: str, size: float, width: float, line_limit: int) -> list[str]:
    """Return a text in at most ``line_limit`` lines of a width in pixels; the last one is truncated."""
    lines: list[str] = []
    current_line = ""
    words = text[:_MAX_TEXT_LENGTH].split()
    for index, word in enumerate(words):
        longer_line = f"{current_line} {word}".strip()
        if current_line and text_width(longer_line, size) > width:
            if len(lines) + 1 == line_limit:
                return [*lines, truncated(" ".join([current_line, *words[index:]]), size, width)]
            lines.append(current_line)
            current_line = word
        else:
            current_line = longer_line
    return [truncated(line, size, width) for line in [*lines, current_line] if line][:line_limit]


def text_element(
    text: str,
    x: float,
    y: float,
    *,
    size: float,
    colour: str,
    anchor: Literal["start", "middle", "end"] = "start",
    bold: bool = False,
) -> str:
    """Return a ``<text>`` element. ``x`` is the position of its ``anchor``, and ``y`` that of the baseline, in pixels."""
    weight = ' font-weight="bold"' if bold else ""
    escaped = escape(_INVALID_CHARACTERS.sub("", text))
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-family={quoteattr(FONT)} font-size="{size:.1f}" fill="{colour}"'
        f' text-anchor="{anchor}"{weight}>{escaped}</text>'
    )


@dataclass(frozen=True, slots=True)
class TextRun:
    """A part of a line of text, in one style."""

    text: str
    size: float  #: In pixels.
    colour: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    struck: bool = False


def rich_text_element(runs: Iterable[TextRun], x: float, y: float, *, anchor: Literal["start", "middle", "end"] = "start") -> str:
    """Return a ``<text>`` element with a line of text in several styles."""
    spans = []
    for run in runs:
        attributes = [f'font-family={quoteattr(CODE_FONT if run.code else FONT)} font-size="{run.size:.1f}" fill="{run.colour}"']
        attributes += ['font-weight="bold"'] * run.bold + ['font-style="italic"'] * run.italic
        attributes += ['text-decoration="line-through"'] * run.struck
        spans.append(f"<tspan {' '.join(attributes)}>{escape(_INVALID_CHARACTERS.sub('', run.text))}</tspan>")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" xml:space="preserve">{"".join(spans)}</text>'


def rectangle(
    x: float, y: float, width: float, height: float, fill: str, *, border: str = "none", radius: float = 0, opacity: float = 1
) -> str:
    """Return a ``<rect>`` element."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}" rx="{radius:g}" fill="{fill}"'
        f' stroke="{border}" fill-opacity="{opacity:g}"/>'
    )


def circle(x: float, y: float, radius: float, colour: str) -> str:
    """Return a ``<circle>`` element without a fill."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="none" stroke="{colour}"/>'


def titled(elements: Sequence[str], title: str) -> str:
    """Return the elements as a group with a title, which browsers show next to the pointer."""
    return f"<g><title>{escape(_INVALID_CHARACTERS.sub('', title))}</title>{''.join(elements)}</g>"


def polyline(points: Iterable[tuple[float, float]], colour: str, width: float = 1) -> str:
    """Return a ``<polyline>`` element through points."""
    coordinates = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{coordinates}" fill="none" stroke="{colour}" stroke-width="{width:g}"/>'


def path(description: str, *, fill: str = "none", opacity: float = 1, stroke: str = "none", width: float = 1) -> str:
    """Return a ``<path>`` element; ``description`` is its ``d``, which contains only numbers and commands."""
    return f'<path d="{description}" fill="{fill}" fill-opacity="{opacity:g}" stroke="{stroke}" stroke-width="{width:g}"/>'


def cells_path(cells: Iterable[tuple[float, float, float, float]], fill: str, opacity: float = 1) -> str:
    """Return one element with many rectangles of one colour. Each has a left and a top edge, a width and a height."""
    corners = "".join(f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h{-width:.1f}z" for x, y, width, height in cells)
    return path(corners, fill=fill, opacity=opacity)


def rotated(element: str, degrees: float, x: float, y: float) -> str:
    """Return an element turned clockwise around a point."""
    return f'<g transform="rotate({degrees:.1f} {x:.1f} {y:.1f})">{element}</g>'


def arc(centre: tuple[float, float], radius: float, shares: tuple[float, float], colour: str, width: float) -> str:
    """Return an arc on the upper half of a circle around ``centre``, between two shares of the half, 0 (left) to 1 (right)."""
    centre_x, centre_y = centre
    (start_x, start_y), (end_x, end_y) = (
        (centre_x - radius * math.cos(math.pi * share), centre_y - radius * math.sin(math.pi * share)) for share in shares
    )
    return (
        f'<path d="M {start_x:.1f} {start_y:.1f} A {radius:.1f} {radius:.1f} 0 0 1 {end_x:.1f} {end_y:.1f}" fill="none" stroke="{colour}"'
        f' stroke-width="{width:.1f}"/>'
    )


def nested(elements: Sequence[str], x: float, y: float, width: float, height: float) -> str:
    """Return the elements in a nested ``<svg>`` element, which clips them to its size."""
    content = "".join(elements)
    return (
        f'<svg x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" viewBox="0 0 {width:.1f} {height:.1f}"'
        f' overflow="hidden">{content}</svg>'
    )


def moved(elements: Sequence[str], x: float, y: float) -> str:
    """Return the elements with their origin moved to a position."""
    return f'<g transform="translate({x:.1f} {y:.1f})">{"".join(elements)}</g>'


def document(elements: Sequence[str], width: int, height: int) -> str:
    """Return the SVG document with the elements."""
    content = "".join(elements)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">'
        f"{content}</svg>"
    )
