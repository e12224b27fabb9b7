"""Text panels as plain text: Markdown marks and HTML elements are removed, not interpreted."""

import html
import re
from typing import Final

from dashwright.common.json_shapes import text_of
from dashwright.expressions.pictures.kinds.drawing import PanelDrawing, Sheet
from dashwright.expressions.pictures.svg import shortened, text, wrapped

_LONGEST: Final = 20_000
_ELEMENT: Final = re.compile(r"<[^<>]{1,500}>")
_LINK: Final = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()]{0,500}\)")
_MARK: Final = re.compile(r"[*_`]{1,3}")
_HEADING: Final = re.compile(r"#{1,6} ")
_BULLET: Final = re.compile(r"[-*+] ")


def draw(sheet: Sheet) -> PanelDrawing:
    """Return the text in lines."""
    parts: list[str] = []
    y = 4.0
    for given in text_of(sheet.panel.options.get("content"))[:_LONGEST].split("\n"):
        heading = _HEADING.match(given.lstrip())
        size = 13.0 if heading is None else 17.0
        for line in wrapped(_plain(given.lstrip()), size, sheet.width - 24, max(1, int((sheet.height - y) // (size * 1.4)))):
            y += size * 1.4
            if y > sheet.height:
                return PanelDrawing(parts)
            parts.append(text(line, 12, y - size * 0.2, size=size, colour=sheet.theme.text, bold=heading is not None))
        y += 3.0
    return PanelDrawing(parts)


def message(sheet: Sheet, words: str, colour: str) -> PanelDrawing:
    """Return a few words in the middle of the sheet: that there is no data, or what is wrong."""
    size = 13.0 if sheet.height > 40 else 10.0
    lines = wrapped(words, size, sheet.width - 24, max(1, int(sheet.height // (size * 1.5))))
    top = sheet.height / 2 - (len(lines) - 1) * size * 0.7 + size * 0.36
    return PanelDrawing(
        [
            text(shortened(line, size, sheet.width - 8), sheet.width / 2, top + row * size * 1.4, size=size, colour=colour, anchor="middle")
            for row, line in enumerate(lines)
        ]
    )


def _plain(line: str) -> str:
    bulleted = _BULLET.match(line)
    line = _BULLET.sub("", line, count=1) if bulleted else _HEADING.sub("", line, count=1)
    plain = _MARK.sub("", _LINK.sub(r"\1", _ELEMENT.sub("", line)))
    return ("• " if bulleted else "") + html.unescape(plain)
