"""Extents of texts, estimated so generously that they contain the letters of the fonts of pictures."""

import re
from collections.abc import Iterable
from typing import Final

from dashwright.expressions.pictures.svg import text_width

#: A ``<text>`` element of ``svg.text_element``, as far as its extent depends on it.
_TEXT: Final = re.compile(r'<text x="([-\d.]+)" y="([-\d.]+)"[^>]* font-size="([\d.]+)"[^>]* text-anchor="(\w+)"[^>]*>([^<]*)</text>')
#: The largest widths of letters, relative to the font of pictures. Browsers may use another font.
_WIDTH_MARGIN: Final = 1.15
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
        length = text_width(text, font_size) * _WIDTH_MARGIN
        left = float(x) - length * _SHARES_TO_THE_LEFT[anchor]
        if left < 0 or left + length > width or baseline < font_size * _ASCENT or baseline + font_size * _DESCENT > height:
            return False
    return True


#: The part of a text to the left of its position, by ``text-anchor``.
_SHARES_TO_THE_LEFT: Final = {"start": 0.0, "middle": 0.5, "end": 1.0}
