"""Widths of the characters of the font of pictures, Arimo, which are those of Arial and Liberation Sans."""

import unicodedata
from functools import lru_cache
from typing import Final

#: The characters of each width, in thousandths of the font size.
_CHARACTERS: Final = {
    191: "'",
    222: "ijl",
    260: "|",
    278: " !,./:;I[\\]ft\xa0",
    333: "()-`r²³·“”",
    334: "{}",
    350: "•",
    355: '"',
    389: "*",
    400: "°",
    469: "^",
    500: "Jcksvxyz",
    549: "±≤≥≠",
    556: "#$0123456789?L_abdeghnopqu\u2013€",
    576: "µμ",
    584: "+<=>~\xd7÷\u2212",
    611: "FTZ",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
    1000: "—…→←",
    1015: "@",
}
#: The width of each of these characters in font sizes.
_WIDTHS: Final = {character: width / 1000 for width, characters in _CHARACTERS.items() for character in characters}
#: The first code point of each range of other characters, with their width in font sizes; the highest range is first.
_OTHER_WIDTHS: Final = ((0x1F000, 1.27), (0x2E80, 1.0), (0x2190, 0.9), (0x0700, 0.6), (0x0590, 0.55), (0x0370, 0.64), (0, 0.56))
#: The Unicode categories of characters that change or join the one before them.
_WITHOUT_WIDTH: Final = frozenset({"Mn", "Me", "Cf"})


@lru_cache(maxsize=4_096)
def character_width(character: str) -> float:
    """Return the width of a character in font sizes. Those of scripts that the font lacks are approximate."""
    if (width := _WIDTHS.get(character)) is not None:
        return width
    if unicodedata.category(character) in _WITHOUT_WIDTH:
        return 0.0
    base = unicodedata.normalize("NFD", character)[0]
    if base != character and base in _WIDTHS:
        return _WIDTHS[base]
    return next(width for first, width in _OTHER_WIDTHS if ord(character) >= first)
