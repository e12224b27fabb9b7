"""Extents of texts, estimated so generously that they contain the letters of the fonts of pictures."""

import re
from collections.abc import Iterable
from typing import Final

#: A ``<text>`` element of ``svg.text_element``, as far as its extent depends on it.
_TEXT: Final = re.compile(r'<text x="([-\d.]+)" y="([-\d.]+)"[^>]* font-size="([\d.]+)"[^>]* text-anchor="(\w+)"[^>]*>([^<]*)</text>')
_NARROW: Final = frozenset("iIjlftr.,:;!|'()[]{}- ")
_WIDE: Final = frozenset("mwMW@%")
#: The largest widths of letters in font sizes: of the narrow ones, the wide ones, capitals, and all others.
_NARROW_WIDTH, _WIDE_WIDTH, _CAPITAL_WIDTH, _WIDTH = 0.4, 1.05, 0.85, 0.68
#: The parts of the font size above and below the baseline.
_ASCENT, _DESCENT = 1.0, 0.3


def texts_fit(elements: Iterable[str], width: float, height: float) -> bool:
    """Return whether all texts are certain to be within a width and a height in pixels.

    The widths of letters outside of ASCII depend on fonts, so that texts with such letters, and turned texts, are never certain to fit.
    """
    content = "".join(elements)
    if not content.isascii() or "<tspan" in content or "rotate(" in content:
        return False
    for x, y, size, anchor, text in _TEXT.findall(content):
        font_size, baseline = float(size), float(y)
        length = font_size * sum(map(_largest_width, text))
        left = float(x) - length * _SHARES_TO_THE_LEFT[anchor]
        if left < 0 or left + length > width or baseline < font_size * _ASCENT or baseline + font_size * _DESCENT > height:
            return False
    return True


_SHARES_TO_THE_LEFT: Final = {"start": 0.0, "middle": 0.5, "end": 1.0}


def _largest_width(character: str) -> float:
    if character in _NARROW:
        return _NARROW_WIDTH
    if character in _WIDE:
        return _WIDE_WIDTH
    return _CAPITAL_WIDTH if character.isupper() else _WIDTH
