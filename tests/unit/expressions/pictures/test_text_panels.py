"""Text panels: Markdown, HTML and code become text with styles, and never more than that."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.expressions.pictures.panel_samples import HOSTILE, draw_panel, svg_of

from dashwright.expressions.pictures.panels.drawing import PanelDrawing
from dashwright.expressions.pictures.panels.rich_text import TextBlock, html_blocks, markdown_blocks

#: The elements of SVG that a text panel consists of.
SVG_NAMES = {"text", "tspan", "rect", "polyline"}
#: A heading, a paragraph, a list in a list, a quotation, a rule, code and a table.
MARKDOWN = """\
# A
text

- one
  1. two

> said

---
```
x  y
```

|a|b|
|-|-|
|1|2|"""


def plain_text(block: TextBlock) -> str:
    """Return the text of a block without its styles."""
    return "".join(span.text for span in block.spans)


def text_panel(content: object, mode: str = "markdown", height: float = 600) -> PanelDrawing:
    """Return the drawing of a text panel."""
    return draw_panel("text", options={"content": content, "mode": mode}, height=height)


def all_text(drawing: PanelDrawing) -> str:
    """Return the texts of a drawing, separated by spaces."""
    return " ".join("".join(element.itertext()) for element in ET.fromstring(f"<svg>{svg_of(drawing)}</svg>"))


def test_markdown_has_headings_lists_tables_and_code() -> None:
    """Each block of Markdown keeps its kind, its text and its level."""
    blocks = markdown_blocks(MARKDOWN)
    assert [plain_text(block).strip() for block in blocks] == ["A", "text", "one", "two", "said", "", "x  y", ""]
    heading, text, bullet, number, quote, rule, code, table = blocks
    assert heading.spans[0].style.size == 28
    assert text.spans[0].style.size is None
    assert [bullet.marker, number.marker] == ["•", "1."]
    assert [bullet.indent, number.indent, quote.indent] == [1, 2, 1]
    assert quote.is_quoted
    assert rule.is_rule
    assert code.is_code
    assert [["".join(span.text for span in cell) for cell in row] for row in table.rows] == [["a", "b"], ["1", "2"]]


def test_words_have_the_styles_of_their_marks() -> None:
    """Marks and elements for the same style have the same effect."""
    (markdown,) = markdown_blocks("**b** *i* `c` ~~s~~ [l](https://example.com)")
    (html,) = html_blocks("<b>b</b> <em>i</em> <code>c</code> <s>s</s> <a href='https://example.com'>l</a>")
    assert markdown.spans == html.spans
    styles = [span.style for span in html.spans if span.text.strip()]
    names = ["bold", "italic", "code", "struck", "link"]
    # Each of the five texts has exactly one style.
    assert [[name for name in names if getattr(style, name)] for style in styles] == [[name] for name in names]


def test_elements_have_colours_sizes_and_alignment() -> None:
    """Text has the colour, size and alignment of its element, but a size of at most 72 pixels. An invalid colour is ignored."""
    (block,) = html_blocks("<div style='text-align:center; color: #ff0000; font-size: 900px'>x</div>")
    assert block.alignment == "center"
    assert block.spans[0].style.colour == "#ff0000"
    assert block.spans[0].style.size == 72
    assert 'fill="#ff0000"' in svg_of(text_panel("<p style='color:#ff0000'>x</p>", "html"))
    assert "url" not in svg_of(text_panel("<p style='color:url(https://example.com)'>x</p>", "html"))


@pytest.mark.parametrize("mode", ["markdown", "html"])
def test_images_and_pages_are_named_and_scripts_are_omitted(mode: str) -> None:
    """Images and embedded pages are not loaded but named in the text. Scripts and styles are omitted."""
    content = (
        "<p>a <img src='https://example.com' alt='map'></p><iframe src='//example.com'>b</iframe><script>alert(1)</script><style>c</style>"
    )
    drawing = text_panel(content, mode)
    assert all_text(drawing).split() == ["a", "[image:", "map]", "[iframe]"]
    assert "example.com" not in svg_of(drawing)


@pytest.mark.parametrize(
    ("style", "fills"),
    [
        ("background: #ff0000", ["#ff0000"]),
        ("padding: 1px; background-color: rgb(0, 0, 255)", ["#0000ff"]),
        ("background: linear-gradient(to right, Gold 10%, #000 90%)", ["#ffd700"]),
        ("background: oklch(44.3% 0.11 240.79)", ["#00598a"]),
        ("background: linear-gradient(90deg, hsl(240 100% 50%), red)", ["#0000ff"]),
        ("background: url(https://example.com/a.png) no-repeat", []),
        ("background: transparent", []),
        ("border-color: red", []),
    ],
)
def test_boxes_of_html_have_their_backgrounds(style: str, fills: list[str]) -> None:
    """A box with the first colour of the background is behind the text of its element. A background without a colour has no box."""
    svg = svg_of(text_panel(f'<p>before</p><div style="{style}"><p>one</p><p>two</p></div><p>after</p>', "html"))
    boxes = re.findall(r'<rect x="4.0" y="([\d.]+)" width="392.0" height="([\d.]+)" rx="4" fill="(#\w+)"', svg)
    assert [background for *_, background in boxes] == fills
    before, first, second, after = (float(y) for y in re.findall(r'<text x="[\d.]+" y="([\d.]+)"', svg))
    for top, height, _ in boxes:
        bottom = float(top) + float(height)
        assert before <= float(top) < first
        assert second < bottom <= after
    assert "url(" not in svg


def test_a_box_has_its_padding_around_its_text_if_it_fits() -> None:
    """The text of a box has its padding as distance from the edges, unless the panel is too low for that."""

    def text_in_box(height: float) -> tuple[float, float]:
        """Return the distance of the text from the left edge of its box, and the height of the box."""
        svg = svg_of(text_panel('<div style="background: blue; padding: 16px">text</div>', "html", height))
        ((box_x, box_height),) = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="[\d.]+" height="([\d.]+)" rx="4"', svg)
        (text_x,) = re.findall(r'<text x="([\d.]+)" y="[\d.]+"', svg)
        return float(text_x) - float(box_x), float(box_height)

    padding = 16
    inset, height = text_in_box(100)
    assert inset == padding
    # A line is 1.4 times as high as a font of 14 pixels.
    assert height == round(2 * padding + 14 * 1.4, 1)
    _, reduced_height = text_in_box(30)
    assert reduced_height < 30


def test_blocks_move_closer_before_text_is_omitted() -> None:
    """In a panel that is slightly too low, all lines are drawn. In a lower one, the last line is omitted."""
    content = "\n\n".join(f"line {index}" for index in range(6))
    assert all_text(text_panel(content, height=145)).endswith("line 5")
    assert "line 5" not in all_text(text_panel(content, height=130))


def test_elements_in_a_row_have_gaps() -> None:
    """Spaces separate the elements of a flex row. In other elements, words that the HTML does not separate are one word."""
    content = "<div{}><span>left</span><span>right</span></div>"
    assert plain_text(html_blocks(content.format(' style="display: flex"'))[0]) == "left   right"
    assert plain_text(html_blocks(content.format(""))[0]) == "leftright"


@pytest.mark.parametrize(
    ("style", "width", "columns"),
    [
        ("display: flex", 400, ["0.0", "133.3", "266.7"]),
        ("display: grid; gap: 8px", 400, ["0.0", "133.3", "266.7"]),
        ("display: flex; flex-direction: column", 400, []),
        ("display: block", 400, []),
        ("display: flex", 250, []),
    ],
)
def test_children_of_a_row_are_next_to_each_other_if_they_fit(style: str, width: float, columns: list[str]) -> None:
    """The children of a row are columns if the panel is wide enough. Text after the row is below all of them."""
    cards = "".join(f"<div><p>{name}</p>{'<p>more</p>' * count}</div>" for count, name in enumerate("abc"))
    drawing = draw_panel(
        "text", options={"content": f'<div style="{style}">{cards}</div><p>end</p>', "mode": "html"}, width=width, height=600
    )
    assert re.findall(r"translate\(([\d.]+) ", svg_of(drawing)) == columns
    tops = [float(y) for y in re.findall(r'<text x="[\d.]+" y="([\d.]+)"', svg_of(drawing))]
    assert tops[-1] == max(tops)
    texts = re.findall(r">([a-z]+)</tspan>", svg_of(drawing))
    assert texts == ["a", "b", "more", "c", "more", "more", "end"]


def test_elements_that_are_displayed_as_blocks_have_lines_of_their_own() -> None:
    """An inline element that is displayed as a block begins and ends a line, and adds no empty line."""
    (block,) = html_blocks('<p>a<span style="display:block">b</span>c<span>d</span></p>')
    assert plain_text(block) == "a\nb\ncd"
    assert plain_text(html_blocks('<p><a style="display: block">first</a></p>')[0]) == "first"


def test_text_in_a_box_is_legible() -> None:
    """Text without a colour of its own is dark on a light background, and light on a dark one."""
    colour_on_white, colour_on_black = (
        re.findall(r'fill="(#\w+)">text', svg_of(text_panel(f'<div style="background:{background}">text</div>', "html")))[0]
        for background in ("white", "black")
    )
    # In hexadecimal notation, a dark grey is smaller than a light one.
    assert colour_on_white < colour_on_black
    text_with_own_colour = svg_of(text_panel('<div style="background:white;color:#abcdef">text</div>', "html"))
    assert 'fill="#abcdef">text' in text_with_own_colour


def test_code_is_not_interpreted() -> None:
    """The lines of code are kept with their spaces and marks."""
    assert all_text(text_panel("**a**\n    <b>", "code")).endswith("**a**     <b>")


def test_marks_of_html_are_not_text_of_the_picture() -> None:
    """Comments are omitted, entities are characters, and an element that does not end is text."""
    assert [plain_text(block) for block in html_blocks("<!-- <b>no</b> -->1 &lt; 2 &amp; 3 < 4 <a")] == ["1 < 2 & 3 < 4 <a"]


def test_text_that_does_not_fit_is_reported() -> None:
    """If the text does not fit, the heading says that more text follows."""
    assert text_panel("a\n\n" * 100, height=100).notes == ["more text than fits"]
    assert text_panel("a").notes == ()
    assert text_panel("").elements == []


ELEMENTS = "< > </ <b> </b> <td> <table> <tr> <li> <ol> </ol> </table> <p/style='color:red'> <!-- --> <br> <pre> </pre> <a/href=x>"
MARKDOWN_SIGNS = "& &#0; ** ` [ ]( ) | - # text"
#: Parts of texts that may begin, end or interrupt elements and marks.
FRAGMENTS = st.sampled_from([*ELEMENTS.split(), *MARKDOWN_SIGNS.split(), "\0", "\ud800", "\n", "> ", "- ", "# ", "\t", HOSTILE])


@given(fragments=st.lists(FRAGMENTS, max_size=25), mode=st.sampled_from(["markdown", "html", "code", "x"]), height=st.integers(1, 300))
def test_any_text_is_drawn_with_known_elements(fragments: list[str], mode: str, height: int) -> None:
    """The drawing of any text is valid, and has only texts, lines and rectangles."""
    drawing = text_panel("".join(fragments), mode, height)
    assert {element.tag for element in ET.fromstring(f"<svg>{svg_of(drawing)}</svg>").iter()} - {"svg"} <= SVG_NAMES


@pytest.mark.parametrize(
    "fragment", ["[", "<a ", "<!--", "**a *b ", "|a\n|-\n", "> ", "<table><tr><td>", "<ul><li>", "<div>", "`a``", "&#x", "字"]
)
@pytest.mark.parametrize("mode", ["markdown", "html"])
def test_long_texts_are_cut(fragment: str, mode: str) -> None:
    """A text of a million characters is drawn as far as it fits, in a small drawing."""
    drawing = text_panel((fragment * 1_000_000)[:1_000_000], mode, 2_000)
    assert len(svg_of(drawing)) < 1_000_000


@pytest.mark.parametrize("content", [None, 3, [], {"a": 1}])
def test_content_that_is_not_text_is_empty(content: object) -> None:
    """A panel without text is empty."""
    assert text_panel(content).elements == []


def test_each_line_is_inside_the_panel() -> None:
    """The lines of a long text are above the lower edge of the panel."""
    drawing = text_panel("# a\n" + "- item\n" * 50 + "\n```\n" + "x\n" * 50 + "```\n", height=150)
    assert max(float(y) for y in re.findall(r'<text x="[^"]*" y="([^"]*)"', svg_of(drawing))) <= 150
