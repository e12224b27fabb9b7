"""Text panels: Markdown and HTML with a few styles, or code. Images and embedded pages are named, never loaded."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final, Literal

from dashwright.common.json_shapes import string_of
from dashwright.expressions.pictures.display.colour_math import text_colour_on
from dashwright.expressions.pictures.panels.drawing import PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.rich_text import MAX_LENGTH, Span, TextBlock, TextStyle, html_blocks, markdown_blocks
from dashwright.expressions.pictures.svg import (
    BASELINE,
    BOLD_WIDTH,
    CODE_CHARACTER_WIDTH,
    TextRun,
    moved,
    polyline,
    rectangle,
    rich_text_element,
    text_element,
    text_width,
    truncated,
    wrapped_lines,
)
from dashwright.expressions.pictures.theme import Theme, colour_of

#: The height of a line in font sizes.
_LINE_HEIGHT: Final = 1.4
# In pixels.
_SIZE: Final = 14.0
_CODE_SIZE: Final = 13.0
_MARGIN: Final = 10.0
_INDENT: Final = 22.0
_GAP: Final = 8.0
_CELL_PADDING: Final = 8.0
#: The gap between blocks that would not fit with the usual one.
_SMALL_GAP: Final = 3.0
#: Further columns of a table are left out.
_MAX_COLUMNS: Final = 20
#: Above the first block of a page or cell.
_CELL_TOP: Final = 6.0
#: Between a box with a background and the border of the panel.
_BOX_MARGIN: Final = 4.0
#: The minimum width of texts that are next to each other; narrower ones are below each other.
_MIN_CELL_WIDTH: Final = 110.0
#: From the baseline to the lower end of a line: of code in font sizes, and of a row of a table in pixels.
_CODE_DESCENT: Final = 0.4
_ROW_DESCENT: Final = 8
#: The height that a row of a table has in addition to its line.
_ROW_PADDING: Final = 6
#: The bar at the left of a quotation: its distance from the text, and its width.
_QUOTE_DISTANCE: Final = 12
_QUOTE_WIDTH: Final = 3
#: The font size of messages, and the font size of messages in panels up to the height ``_LOW_HEIGHT``.
_MESSAGE_SIZE: Final = 13.0
_SMALL_MESSAGE_SIZE: Final = 10.0
_LOW_HEIGHT: Final = 40
#: The height of a line of a message with its gap, in font sizes.
_MESSAGE_LINE_HEIGHT: Final = 1.5
_WORD: Final = re.compile(r"\n| +|[^ \n]+")


def draw(props: PanelProps) -> PanelDrawing:
    """Return as much of the panel's text as fits into its height."""
    content, mode = string_of(props.panel.options.get("content"))[:MAX_LENGTH], props.panel.options.get("mode")
    if mode == "code":
        blocks = [TextBlock([Span(content.expandtabs(4), TextStyle(code=True))], is_code=True)] if content.strip() else []
    else:
        blocks = html_blocks(content) if mode == "html" else markdown_blocks(content)
    page = _filled_page(props, blocks, _GAP)
    if page.is_full:
        # Less space between blocks may be enough.
        page = _filled_page(props, blocks, _SMALL_GAP)
    return PanelDrawing(page.finish(), notes=["more text than fits"] if page.is_full else ())


def _filled_page(props: PanelProps, blocks: Sequence[TextBlock], gap: float) -> "_Page":
    """Return a page with the blocks that fit, with gaps in pixels between them."""
    page = _Page(props, gap)
    for index, (row, group) in enumerate(groupby(blocks, key=lambda block: block.row)):
        row_blocks = list(group)
        cells = [list(cell) for _, cell in groupby(row_blocks, key=lambda block: block.cell)]
        # The cells of a row are next to each other if they are wide enough.
        if row and 1 < len(cells) <= props.width // _MIN_CELL_WIDTH:
            page.add_cells(cells, gap=gap if index else 0.0)
            continue
        for position, block in enumerate(row_blocks):
            is_first_of_page = index == 0 and position == 0
            page.add(block, gap=0.0 if block.is_tight or is_first_of_page else gap)
            if page.is_full:
                return page
    return page


@dataclass(frozen=True, slots=True)
class _Box:
    """The background that the current blocks have in common."""

    number: int = 0
    colour: str = ""  #: Empty for none.
    first: int = 0  #: The position of its first element among the elements of the page.
    top: float = 0.0  #: In pixels.
    padding: float = 0.0  #: Above and below the blocks, in pixels.
    inset: float = 0.0  #: Additional pixels at the left and right of the blocks.


class _Page:
    """The area of a panel that text fills from top to bottom."""

    def __init__(self, props: PanelProps, gap: float) -> None:
        self.elements: list[str] = []
        self.is_full = False
        self._theme = props.theme
        self._width, self._height = props.width, props.height
        self._props, self._gap = props, gap
        self._y = _CELL_TOP
        self._box = _Box()
        self._text_colour = props.theme.text

    def add(self, block: TextBlock, *, gap: float) -> None:
        """Add a block below those before, as far as it fits."""
        if block.box != self._box.number:
            self._end_box()
            self._y += gap
            self._begin_box(block)
        else:
            self._y += gap
        left = _MARGIN + self._box.inset + block.indent * _INDENT
        width = max(self._width - left - _MARGIN - self._box.inset, _INDENT)
        if block.is_rule:
            self._y += 4
            self.elements.append(polyline([(left, self._y), (left + width, self._y)], self._theme.border))
        elif block.rows:
            self._add_table(block, left, width)
        elif block.is_code:
            self._add_code("".join(span.text for span in block.spans), left, width)
        else:
            self._add_lines(block, left, width)

    def add_cells(self, cells: Sequence[Sequence[TextBlock]], *, gap: float) -> None:
        """Add blocks in cells of equal width, which are next to each other below the blocks before."""
        self._end_box()
        # The page of each cell has space at its top.
        self._y = max(self._y + gap - _CELL_TOP, 0.0)
        width = self._width / len(cells)
        pages = [_filled_page(replace(self._props, width=width, height=self._height - self._y), cell, self._gap) for cell in cells]
        for index, page in enumerate(pages):
            self.elements.append(moved(page.finish(), index * width, self._y))
            self.is_full = self.is_full or page.is_full
        self._y += max(page.bottom for page in pages)

    @property
    def bottom(self) -> float:
        """The position below the last block, in pixels."""
        return self._y

    def finish(self) -> list[str]:
        """End the last box, and return the elements of all blocks."""
        self._end_box()
        return self.elements

    def _begin_box(self, block: TextBlock) -> None:
        """Begin the box around a block. Its background is drawn when it ends."""
        colour = colour_of(block.background.lower(), self._theme) or ""
        # By default, padding depends on the gap between blocks, which may be reduced.
        padding, inset = self._gap - 2, 0.0
        # If gaps are reduced to make text fit, configured padding is not kept either.
        if block.padding is not None and self._gap == _GAP:
            padding, inset = block.padding, max(_BOX_MARGIN + block.padding - _MARGIN, 0.0)
        self._box = _Box(block.box, colour, len(self.elements), self._y, padding, inset if colour else 0.0)
        # Text without a colour of its own is legible on any background.
        self._text_colour = text_colour_on(colour) if colour else self._theme.text
        if colour:
            self._y += padding

    def _end_box(self) -> None:
        """Draw the background of the current box behind the blocks in it."""
        box = self._box
        if box.colour and self._y > box.top:
            self._y += box.padding
            width, height = self._width - 2 * _BOX_MARGIN, min(self._y, self._height) - box.top
            self.elements.insert(box.first, rectangle(_BOX_MARGIN, box.top, width, height, box.colour, radius=4))
        self._box = _Box()
        self._text_colour = self._theme.text

    def _add_lines(self, block: TextBlock, left: float, width: float) -> None:
        """Add the wrapped lines of a block, with its marker before the first line, or with the bar of a quotation at the left."""
        top = self._y
        anchor, x = _anchor(block.alignment, left, width)
        colour = self._theme.muted if block.is_quoted and not self._box.colour else self._text_colour
        for index, line in enumerate(_lines(block.spans, width)):
            size = max((span.style.size or _SIZE for span in line), default=_SIZE)
            if not self._advance(size * _LINE_HEIGHT):
                break
            baseline = self._y - size * (_LINE_HEIGHT - 1)
            if block.marker and index == 0:
                marker = text_element(block.marker, left - 6, baseline, size=_SIZE, colour=self._text_colour, anchor="end")
                self.elements.append(marker)
            self.elements.append(rich_text_element(text_runs(line, self._theme, colour), x, baseline, anchor=anchor))
        if block.is_quoted:
            self.elements.append(rectangle(left - _QUOTE_DISTANCE, top, _QUOTE_WIDTH, self._y - top, self._theme.border))

    def _add_code(self, code: str, left: float, width: float) -> None:
        """Add lines of code on a background of their own."""
        lines = code.rstrip("\n").split("\n")
        style = TextStyle(code=True)
        height = min(len(lines) * _CODE_SIZE * _LINE_HEIGHT + _GAP, self._height - self._y)
        self.elements.append(rectangle(left, self._y, width, height, self._theme.canvas, border=self._theme.border, radius=2))
        self._y += _GAP / 2
        for line in lines:
            if not self._advance(_CODE_SIZE * _LINE_HEIGHT):
                return
            visible = Span(_fitting_code(line, width - 2 * _GAP), style)
            self.elements.append(rich_text_element(text_runs([visible], self._theme), left + _GAP, self._y - _CODE_SIZE * _CODE_DESCENT))
        self._y += _GAP / 2

    def _add_table(self, block: TextBlock, left: float, width: float) -> None:
        """Add a table, whose columns are as wide as their texts, or narrowed in proportion if they do not fit."""
        column_count = min(max(len(row) for row in block.rows), _MAX_COLUMNS)
        texts = [["".join(span.text for span in cell) for cell in row[:column_count]] for row in block.rows]
        widths = [
            max(text_width(row[column], _SIZE) if column < len(row) else 0.0 for row in texts) + 2 * _CELL_PADDING
            for column in range(column_count)
        ]
        scale = min(1.0, width / sum(widths))
        row_height = _SIZE * _LINE_HEIGHT + _ROW_PADDING
        for cells in block.rows:
            if not self._advance(row_height):
                return
            x = left
            for cell, cell_width in zip(cells, widths, strict=False):
                line = next(_lines(cell, cell_width * scale - _CELL_PADDING), [])
                runs = text_runs(line, self._theme, self._text_colour)
                self.elements.append(rich_text_element(runs, x + _CELL_PADDING, self._y - _ROW_DESCENT))
                x += cell_width * scale
            self.elements.append(polyline([(left, self._y), (left + sum(widths) * scale, self._y)], self._theme.border))

    def _advance(self, height: float) -> bool:
        """Move down by a height in pixels. Return False without moving if it does not fit."""
        if self._y + height > self._height:
            self.is_full = True
            return False
        self._y += height
        return True


def _anchor(alignment: str, left: float, width: float) -> tuple[Literal["start", "middle", "end"], float]:
    """Return the ``text-anchor`` of an alignment, and its position in a line of a width."""
    if alignment == "center":
        return "middle", left + width / 2
    return ("end", left + width) if alignment == "right" else ("start", left)


def _fitting_code(line: str, width: float) -> str:
    """Return the start of a line of code, whose characters are 0.6 font sizes wide, with its spaces."""
    count = max(int(width / (_CODE_SIZE * CODE_CHARACTER_WIDTH)), 1)
    return line if len(line) <= count else line[: count - 1] + "…"


def _lines(spans: Sequence[Span], width: float) -> Iterator[list[Span]]:
    """Yield lines of a width in pixels, each as spans; a word that is wider is shortened."""
    line: list[Span] = []
    used = 0.0
    for span in spans:
        size, is_code = _size_of(span.style), span.style.code
        for word in _WORD.findall(span.text):
            word_width = text_width(word, size, code=is_code) * (BOLD_WIDTH if span.style.bold and not is_code else 1.0)
            # A word that does not fit begins a line. White space may exceed it, and is left out at its start.
            if word == "\n" or (used + word_width > width and line and word.strip()):
                yield line
                line, used = [], 0.0
                if word == "\n":
                    continue
            if not line and not word.strip():
                continue
            line.append(Span(truncated(word, size, width, code=is_code) if word_width > width else word, span.style))
            used += word_width
    if line:
        yield line


def _size_of(style: TextStyle) -> float:
    """Return the size of a text in pixels."""
    return style.size or (_CODE_SIZE if style.code else _SIZE)


def text_runs(line: Sequence[Span], theme: Theme, default_colour: str = "") -> list[TextRun]:
    """Return the texts of a line in their styles; neighbours of one style are one text. The default colour is that of the theme."""
    runs = []
    for style, spans in groupby(line, key=lambda span: span.style):
        colour = colour_of(style.colour.strip(), theme) or (theme.link if style.link else default_colour or theme.text)
        size = _size_of(style)
        text = "".join(span.text for span in spans)
        runs.append(TextRun(text, size, colour, bold=style.bold, italic=style.italic, code=style.code, struck=style.struck))
    return runs


def message(props: PanelProps, text: str, colour: str) -> PanelDrawing:
    """Return a short text in the middle of the panel, such as an error."""
    size = _MESSAGE_SIZE if props.height > _LOW_HEIGHT else _SMALL_MESSAGE_SIZE
    lines = wrapped_lines(text, size, props.width - 24, max(1, int(props.height // (size * _MESSAGE_LINE_HEIGHT))))
    top = props.height / 2 - (len(lines) - 1) * size * _LINE_HEIGHT / 2 + size * BASELINE
    return PanelDrawing(
        [
            text_element(
                truncated(line, size, props.width - 8),
                props.width / 2,
                top + index * size * _LINE_HEIGHT,
                size=size,
                colour=colour,
                anchor="middle",
            )
            for index, line in enumerate(lines)
        ]
    )
