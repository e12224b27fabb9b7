"""Text panels as plain text. The marks of Markdown and the tags of HTML are removed rather than interpreted."""

import html
import re
from typing import Final

from dashwright.common.json_shapes import string_of
from dashwright.expressions.pictures.panels.drawing import PanelDrawing, PanelProps
from dashwright.expressions.pictures.svg import text_element, truncated, wrapped_lines

_MAX_LENGTH: Final = 20_000
_ELEMENT: Final = re.compile(r"<[^<>]{1,500}>")
_LINK: Final = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()]{0,500}\)")
_MARK: Final = re.compile(r"[*_`]{1,3}")
_HEADING: Final = re.compile(r"#{1,6} ")
_BULLET: Final = re.compile(r"[-*+] ")


def draw(props: PanelProps) -> PanelDrawing:
    """Return the lines of the panel's text that fit into its height."""
    elements: list[str] = []
    bottom = 4.0
    for source_line in string_of(props.panel.options.get("content"))[:_MAX_LENGTH].split("\n"):
        heading = _HEADING.match(source_line.lstrip())
        size = 13.0 if heading is None else 17.0
        line_limit = max(1, int((props.height - bottom) // (size * 1.4)))
        for line in wrapped_lines(_plain_text(source_line.lstrip()), size, props.width - 24, line_limit):
            bottom += size * 1.4
            if bottom > props.height:
                return PanelDrawing(elements)
            elements.append(text_element(line, 12, bottom - size * 0.2, size=size, colour=props.theme.text, bold=heading is not None))
        bottom += 3.0
    return PanelDrawing(elements)


def message(props: PanelProps, text: str, colour: str) -> PanelDrawing:
    """Return a short text in the middle of the panel, such as an error."""
    size = 13.0 if props.height > 40 else 10.0
    lines = wrapped_lines(text, size, props.width - 24, max(1, int(props.height // (size * 1.5))))
    top = props.height / 2 - (len(lines) - 1) * size * 0.7 + size * 0.36
    return PanelDrawing(
        [
            text_element(
                truncated(line, size, props.width - 8), props.width / 2, top + index * size * 1.4, size=size, colour=colour, anchor="middle"
            )
            for index, line in enumerate(lines)
        ]
    )


def _plain_text(source_line: str) -> str:
    bullet = _BULLET.match(source_line)
    source_line = _BULLET.sub("", source_line, count=1) if bullet else _HEADING.sub("", source_line, count=1)
    text = _MARK.sub("", _LINK.sub(r"\1", _ELEMENT.sub("", source_line)))
    return ("• " if bullet else "") + html.unescape(text)
