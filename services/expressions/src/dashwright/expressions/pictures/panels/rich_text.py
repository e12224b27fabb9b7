"""Markdown and HTML as blocks of plain text with a few styles.

Nothing of the HTML itself is kept: elements become headings, lists, tables, emphasis and colours, or are omitted with their content.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import Any, Final

from markdown_it import MarkdownIt

from dashwright.expressions.pictures.css_colours import CSS_COLOURS
from dashwright.expressions.pictures.css_functions import NOTATION

#: The content that is read; the rest would not fit into a panel.
MAX_LENGTH: Final = 10_000
#: The maximum number of characters of HTML that are read, because a short Markdown may produce a long HTML.
_MAX_HTML_LENGTH: Final = 100_000
#: Elements that are nested more deeply add only their text.
_MAX_DEPTH: Final = 60
_MAX_INDENT: Final = 6
_BREAK: Final = "\n"
#: The values of ``display`` with which the children of an element are next to each other.
_ROWS: Final = frozenset({"flex", "inline-flex", "grid", "inline-grid"})
#: The text between children that are next to each other.
_ROW_GAP: Final = "   "
#: The font sizes of headings in pixels, as in Grafana.
_HEADING_SIZES: Final = {"h1": 28.0, "h2": 24.0, "h3": 22.0, "h4": 18.0, "h5": 16.0, "h6": 14.0}
#: Elements that have no content and no end tag.
_VOID_ELEMENTS: Final = frozenset({"br", "hr", "img", "input", "meta", "link", "wbr", "source", "col", "embed"})
#: Elements whose content is not text.
_OMITTED_ELEMENTS: Final = frozenset(
    {"script", "style", "svg", "iframe", "object", "head", "template", "noscript", "canvas", "video", "audio"}
)
_BLOCK_ELEMENTS: Final = frozenset(
    {"p", "div", "section", "article", "header", "footer", "main", "nav", "ul", "ol", "li", "dl", "dt", "dd", "blockquote", "pre", "center"}
    | {"table", "thead", "tbody", "tr", "td", "th", "hr", "form", "figure", "details", "summary", *_HEADING_SIZES}
)
#: The bounds of configured font sizes in pixels.
_MIN_SIZE: Final = 8.0
_MAX_SIZE: Final = 72.0
#: Further characters of the attributes ``style`` and ``alt`` are ignored.
_MAX_STYLE_LENGTH: Final = 500
_MAX_DESCRIPTION_LENGTH: Final = 200
_BOLD_ELEMENTS: Final = frozenset({"b", "strong", "th", "h6", "summary", "dt"})
_ITALIC_ELEMENTS: Final = frozenset({"i", "em", "cite", "var"})
_CODE_ELEMENTS: Final = frozenset({"code", "kbd", "samp", "tt", "pre"})
#: The declarations of CSS that are read.
_DECLARATION: Final = re.compile(
    r"(?<![\w-])(background(?:-color)?|color|display|flex-direction|font-size|padding|text-align|font-weight)\s*:\s*([^;]{1,200})",
    re.IGNORECASE,
)
#: Possible colours in a background: a number, a function such as ``rgb()``, or a word.
_COLOUR: Final = re.compile(rf"#[0-9a-f]{{3,8}}\b|{NOTATION}|(?<![\w-])[a-z]{{3,20}}\b(?![-(])", re.IGNORECASE)
_PIXELS: Final = re.compile(r"(\d{1,3})(?:\.\d+)?px")
#: The maximum padding of a box in pixels.
_MAX_PADDING: Final = 48.0
_COMMENT: Final = re.compile("<!--.*?-->", re.DOTALL)
#: A ``<`` without a ``>`` after it.
_UNENDED: Final = re.compile("<(?![^<>]{1,2000}>)")
_MARKDOWN: Final = MarkdownIt("commonmark", {"html": True, "breaks": True}).enable(["table", "strikethrough"])


@dataclass(frozen=True, slots=True)
class TextStyle:
    """The style of a piece of text."""

    bold: bool = False
    italic: bool = False
    code: bool = False
    struck: bool = False
    link: bool = False
    colour: str = ""  #: As the user wrote it; empty for the colour of the theme.
    size: float | None = None  #: In pixels; None for the size of the panel's text.


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text in one style."""

    text: str
    style: TextStyle


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A paragraph, heading, item of a list, rule, piece of code, or table."""

    spans: Sequence[Span] = ()
    marker: str = ""  #: The bullet or number of an item of a list.
    indent: int = 0  #: The number of lists and quotations around the block.
    alignment: str = ""  #: ``center``, ``right`` or empty.
    is_code: bool = False  #: Lines are kept as they are.
    is_quoted: bool = False
    is_rule: bool = False
    is_tight: bool = False  #: Follows the previous block without a gap, such as an item of a list.
    rows: Sequence[Sequence[Sequence[Span]]] = ()  #: The rows of a table, with the spans of each cell.
    background: str = ""  #: The colour behind the block, as the user wrote it.
    box: int = 0  #: The number of the element with the background. Neighbours of one box have a common background.
    padding: float | None = None  #: Between the edges of the box and its content, in pixels; None for a small one.
    row: int = 0  #: The number of the outermost element whose children are next to each other; 0 for none.
    cell: int = 0  #: The number of the child of that element in which the block is.


def markdown_blocks(content: str) -> list[TextBlock]:
    """Return the blocks of Markdown (CommonMark with tables and strikethrough), which may contain HTML."""
    return html_blocks(_MARKDOWN.render(content[:MAX_LENGTH]))


def html_blocks(content: str) -> list[TextBlock]:
    """Return the blocks of HTML."""
    reader = _Reader()
    # The parser is slow if an element does not end, so that a ``<`` without a ``>`` is text.
    reader.feed(_UNENDED.sub("&lt;", _COMMENT.sub("", content[:_MAX_HTML_LENGTH])))
    reader.close()
    reader.flush()
    return reader.blocks


@dataclass(frozen=True, slots=True)
class _Element:
    """An open element with the style that it gives to its text."""

    name: str
    style: TextStyle = field(default_factory=TextStyle)
    alignment: str = ""
    indent: int = 0
    is_omitted: bool = False
    is_code: bool = False
    is_quoted: bool = False
    in_table: bool = False
    background: str = ""
    box: int = 0
    padding: float | None = None
    is_row: bool = False  #: The elements in it are next to each other, with gaps.
    is_line: bool = False  #: Its text begins and ends on lines of its own.
    row: int = 0  #: The number of the outermost row around it.
    cell: int = 0  #: The number of the child of that row which the element is, or in which it is.


class _Reader(HTMLParser):
    """A reader of HTML that collects blocks."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[TextBlock] = []
        self._stack = [_Element("")]
        self._spans: list[Span] = []
        self._marker = ""
        # The number of the last item of each open list; None for a list with bullets.
        self._counters: list[int | None] = []
        self._rows: list[list[list[Span]]] = []
        self._element_count = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        attributes = {name: value or "" for name, value in attrs}
        if tag in _BLOCK_ELEMENTS:
            self.flush()
        if tag in _VOID_ELEMENTS:
            self._add_void(tag, attributes)
            return
        if len(self._stack) > _MAX_DEPTH:
            return
        if tag in ("ul", "ol"):
            self._counters.append(0 if tag == "ol" else None)
        elif tag == "li":
            self._marker = self._next_marker()
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows = self._rows or [[]]
            self._rows[-1].append([])
        elif tag in ("iframe", "video", "object"):
            self._add(f"[{tag}]")
        if self._stack[-1].is_row and self._spans and not self._spans[-1].text.endswith((" ", _BREAK)):
            self._add(_ROW_GAP)
        self._element_count += 1
        element = _opened(self._stack[-1], tag, attributes, self._element_count)
        if element.is_line:
            self._break_line()
        self._stack.append(element)

    def handle_endtag(self, tag: str) -> None:
        """Close an element and those in it that are still open."""
        if tag not in [element.name for element in self._stack]:
            return
        if tag in _BLOCK_ELEMENTS:
            self.flush()
        name = ""
        while name != tag:
            element = self._stack.pop()
            name = element.name
            if element.is_line:
                self._break_line()
        if tag in ("ul", "ol") and self._counters:
            self._counters.pop()
        elif tag == "table" and not self._stack[-1].in_table:
            rows = [row for row in self._rows if row]
            self._rows = []
            if rows:
                self.blocks.append(self._block(rows=rows))

    def _break_line(self) -> None:
        """Begin a line of the current block, unless it has no text yet."""
        if self._spans and not self._spans[-1].text.endswith(_BREAK):
            self._add(_BREAK)

    def handle_data(self, data: str) -> None:
        """Add text to the current block."""
        element = self._stack[-1]
        if element.is_omitted:
            return
        self._add(data if element.is_code else re.sub(r"\s+", " ", data))

    def _add(self, text: str) -> None:
        """Add text in the style of the current element."""
        element = self._stack[-1]
        # Text between the start of a table and its first row has no cell.
        if element.in_table and not self._rows:
            return
        self._spans.append(Span(text, element.style))

    def _add_void(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Add an element without content: a line break, a rule, or the description of an image."""
        element = self._stack[-1]
        if element.is_omitted:
            return
        if tag == "br":
            self._spans.append(Span(_BREAK, element.style))
        elif tag == "hr":
            self.blocks.append(self._block(is_rule=True))
        elif tag == "img":
            description = attributes.get("alt", "").strip()[:_MAX_DESCRIPTION_LENGTH]
            self._add(f"[image: {description}]" if description else "[image]")

    def _next_marker(self) -> str:
        """Return the marker of the next item: a bullet, or its number in the innermost list."""
        if not self._counters or self._counters[-1] is None:
            return "•"
        self._counters[-1] += 1
        return f"{self._counters[-1]}."

    def flush(self) -> None:
        """End the current block."""
        spans, self._spans = _trimmed(self._spans), []
        element = self._stack[-1]
        if element.in_table:
            if spans and self._rows and self._rows[-1]:
                cell = self._rows[-1][-1]
                cell += [Span(" ", element.style), *spans] if cell else spans
            return
        if not spans:
            return
        marker, self._marker = self._marker, ""
        alignment, is_tight = element.alignment, bool(self._counters)
        settings = {"alignment": alignment, "is_code": element.is_code, "is_quoted": element.is_quoted, "is_tight": is_tight}
        self.blocks.append(self._block(spans=spans, marker=marker, **settings))

    def _block(self, **members: Any) -> TextBlock:
        """Return a block with the indent and the background of the current element."""
        element = self._stack[-1]
        return TextBlock(
            **members,
            indent=element.indent,
            background=element.background,
            box=element.box,
            padding=element.padding,
            row=element.row,
            cell=element.cell,
        )


def _opened(parent: _Element, tag: str, attributes: Mapping[str, str], number: int) -> _Element:
    """Return an element that inherits the style of its parent. ``number`` is the position of the element among all elements."""
    declarations = {name.lower(): value.strip() for name, value in _DECLARATION.findall(attributes.get("style", "")[:_MAX_STYLE_LENGTH])}
    pixels = _PIXELS.match(declarations.get("font-size", ""))
    style = parent.style
    style = replace(
        style,
        bold=style.bold or tag in _BOLD_ELEMENTS or declarations.get("font-weight", "") in ("bold", "600", "700", "800", "900"),
        italic=style.italic or tag in _ITALIC_ELEMENTS,
        code=style.code or tag in _CODE_ELEMENTS,
        struck=style.struck or tag in ("s", "del", "strike"),
        link=style.link or (tag == "a" and bool(attributes.get("href"))),
        colour=declarations.get("color", "") or (attributes.get("color", "") if tag == "font" else "") or style.colour,
        size=min(max(float(pixels[1]), _MIN_SIZE), _MAX_SIZE) if pixels else _HEADING_SIZES.get(tag, style.size),
    )
    background = _background(
        declarations.get("background-color", "") or declarations.get("background", "") or attributes.get("bgcolor", "")
    )
    is_row = declarations.get("display", "").lower() in _ROWS and not declarations.get("flex-direction", "").lower().startswith("column")
    return _Element(
        name=tag,
        style=style,
        alignment=_alignment(parent, tag, declarations.get("text-align", "") or attributes.get("align", "")),
        indent=min(parent.indent + (tag in ("ul", "ol", "blockquote", "dd")), _MAX_INDENT),
        is_omitted=parent.is_omitted or tag in _OMITTED_ELEMENTS,
        is_code=parent.is_code or tag == "pre",
        is_quoted=parent.is_quoted or tag == "blockquote",
        in_table=parent.in_table or tag == "table",
        background=background or parent.background,
        box=number if background else parent.box,
        padding=_padding(declarations.get("padding", "")) if background else parent.padding,
        is_row=is_row,
        is_line=declarations.get("display", "").lower() == "block" and tag not in _BLOCK_ELEMENTS,
        row=parent.row or (number if is_row else 0),
        cell=parent.cell or (number if parent.row else 0),
    )


def _alignment(parent: _Element, tag: str, configured: str) -> str:
    """Return ``center``, ``right`` or an empty string: the configured alignment, else that of the element or of its parent."""
    alignment = (configured or ("center" if tag == "center" else "")).lower()
    if not alignment:
        return parent.alignment
    return alignment if alignment in ("center", "right") else ""


def _background(value: str) -> str:
    """Return the first colour of a background, for example of a gradient, or an empty string."""
    return next((colour for colour in _COLOUR.findall(value) if not colour.isalpha() or colour.lower() in CSS_COLOURS), "")


def _padding(value: str) -> float | None:
    """Return the padding that a declaration begins with, in pixels."""
    pixels = _PIXELS.match(value)
    return min(float(pixels[1]), _MAX_PADDING) if pixels else None


def _trimmed(spans: Sequence[Span]) -> list[Span]:
    """Return the spans without white space at both ends; without any text there are no spans."""
    if not any(span.text.strip() for span in spans):
        return []
    trimmed = list(spans)
    while not trimmed[0].text.strip():
        trimmed.pop(0)
    while not trimmed[-1].text.strip():
        trimmed.pop()
    # Further white space at the start, such as ``&nbsp;``, may be an indent.
    trimmed[0] = replace(trimmed[0], text=trimmed[0].text.lstrip(" \n"))
    trimmed[-1] = replace(trimmed[-1], text=trimmed[-1].text.rstrip())
    return trimmed
