"""Composition of a picture: the title, the panels with their borders, and the notices become one SVG."""

from collections.abc import Sequence
from typing import Final

from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.pictures import svg
from dashwright.expressions.pictures.layout import FOOTER_HEIGHT, INSET, Box, PictureLayout
from dashwright.expressions.pictures.outcomes import PanelOutcome
from dashwright.expressions.pictures.theme import Theme

#: Pixels between the edges of the picture and the texts in its header and notices.
_MARGIN: Final = 12
#: The least number of pixels between the title of the dashboard and the time range.
_RANGE_GAP: Final = 16
#: Pixels from the top of the picture to the baselines of its title and of the time range.
_HEADING_BASELINE: Final = 26
_RANGE_BASELINE: Final = 25
#: Pixels from the baseline of a notice to the lower end of its line.
_NOTICE_DESCENT: Final = 9
# Sizes of fonts are in pixels.
_RANGE_SIZE: Final = 11.0
_NOTICE_SIZE: Final = 12.0
_ROW_TITLE_SIZE: Final = 14.0
_TITLE_SIZE: Final = 13.0
#: Pixels between a title and the borders of its panel, in total.
_TITLE_MARGINS: Final = 16.0
#: Pixels between the left border of a panel and its title, and between its right border and a note or sign.
_HEADING_MARGIN: Final = 10
#: Pixels from the upper border of a panel to the baseline of its title, and to the centre of the sign.
_TITLE_BASELINE: Final = 19
_SIGN_CENTRE: Final = 14.5
#: Pixels between a title and a note, and between a note and a sign.
_NOTE_GAP: Final = 8
_SIGN_GAP: Final = 6
#: Pixels from the left border of the heading of a row to its title, and from its title to the right border.
_ROW_TITLE_LEFT: Final = 24
_ROW_TITLE_RIGHT: Final = 8
_NOTE_SIZE: Final = 11.0
#: The part of a panel's heading that a note may take.
_NOTE_SHARE: Final = 0.6
_HEADING_SIZE: Final = 18.0
#: The radius in pixels of the sign of a description, and the width of the narrowest panel that has the sign.
_SIGN_RADIUS: Final = 6.5
_MIN_WIDTH_WITH_SIGN: Final = 90.0
_MAX_DESCRIPTION_LENGTH: Final = 1_000


def compose(layout: PictureLayout, outcomes: Sequence[PanelOutcome], theme: Theme, title: str, time_range: TimeRange) -> str:
    """Return the SVG of a picture from the outcome of each panel."""
    elements = [svg.rectangle(0, 0, layout.width, layout.height, theme.canvas)]
    if layout.header_height:
        range_text = f"{time_range.start:%Y-%m-%d %H:%M} to {time_range.end:%Y-%m-%d %H:%M} {time_range.end:%Z}"
        title_width = (layout.width - 2 * _MARGIN - svg.text_width(range_text, _RANGE_SIZE) - _RANGE_GAP) / svg.BOLD_WIDTH
        visible_title = svg.truncated(title, _HEADING_SIZE, title_width)
        elements.append(svg.text_element(visible_title, _MARGIN, _HEADING_BASELINE, size=_HEADING_SIZE, colour=theme.text, bold=True))
        right = layout.width - _MARGIN
        elements.append(svg.text_element(range_text, right, _RANGE_BASELINE, size=_RANGE_SIZE, colour=theme.muted, anchor="end"))
    for box, outcome in zip(layout.boxes, outcomes, strict=True):
        elements.append(_panel_with_border(box, outcome, theme))
    if layout.notices:
        # In a picture of a given height, panels may be behind the notices.
        strip = FOOTER_HEIGHT * len(layout.notices)
        elements.append(svg.rectangle(0, layout.height - strip, layout.width, strip, theme.canvas))
    for index, notice in enumerate(reversed(layout.notices)):
        visible_notice = svg.truncated(notice, _NOTICE_SIZE, layout.width - 2 * _MARGIN)
        y = layout.height - _NOTICE_DESCENT - index * FOOTER_HEIGHT
        elements.append(svg.text_element(visible_notice, layout.width / 2, y, size=_NOTICE_SIZE, colour=theme.muted, anchor="middle"))
    return svg.document(elements, layout.width, layout.height)


def _panel_with_border(box: Box, outcome: PanelOutcome, theme: Theme) -> str:
    """Return the SVG of a panel: its content with a border and its title, or only the title if the panel is the heading of a row."""
    if box.panel.type == "row":
        return _row_heading(box, theme)
    border = ""
    if not box.panel.is_transparent:
        # A line is drawn half on each side of its path, so that a path half a pixel inside fills whole pixels.
        border = svg.rectangle(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1, theme.panel, border=theme.border, radius=3)
    width, height = box.content_size
    heading = _heading(box, outcome.note, theme) if box.has_title else ""
    x, y = box.x + INSET, box.y + box.height - height - INSET
    # Clipping takes more time in a PNG than the content of most panels.
    content = svg.moved([outcome.content], x, y) if outcome.is_contained else svg.nested([outcome.content], x, y, width, height)
    return border + heading + content


def _heading(box: Box, note: str, theme: Theme) -> str:
    """Return the title of a panel, with a note and the sign of a description to the right of it."""
    right, sign_width, heading = box.x + box.width - _HEADING_MARGIN, 0.0, ""
    if box.panel.description and box.width >= _MIN_WIDTH_WITH_SIGN:
        heading = _description_sign(box.panel.description, right - _SIGN_RADIUS, box.y + _SIGN_CENTRE, theme)
        sign_width = 2 * _SIGN_RADIUS + _SIGN_GAP
    baseline = box.y + _TITLE_BASELINE
    note_limit = (box.width - 2 * _HEADING_MARGIN) * _NOTE_SHARE - sign_width
    visible_note = svg.truncated(note, _NOTE_SIZE, note_limit) if note else ""
    note_width = svg.text_width(visible_note, _NOTE_SIZE) + _NOTE_GAP if note else 0
    title_width = box.width - _TITLE_MARGINS - sign_width - note_width
    visible_title = svg.truncated(box.panel.title, _TITLE_SIZE, title_width / svg.BOLD_WIDTH)
    heading += svg.text_element(visible_title, box.x + _HEADING_MARGIN, baseline, size=_TITLE_SIZE, colour=theme.text, bold=True)
    if note:
        heading += svg.text_element(visible_note, right - sign_width, baseline, size=_NOTE_SIZE, colour=theme.muted, anchor="end")
    return heading


def _description_sign(description: str, x: float, y: float, theme: Theme) -> str:
    """Return a letter i in a circle around a point. A browser that shows the SVG alone shows the description next to the pointer."""
    circle = svg.circle(x, y, _SIGN_RADIUS, theme.muted)
    letter = svg.text_element("i", x, y + 4, size=_NOTE_SIZE, colour=theme.muted, anchor="middle", bold=True)
    return svg.titled([circle, letter], description[:_MAX_DESCRIPTION_LENGTH])


def _row_heading(box: Box, theme: Theme) -> str:
    """Return the title of a row after a sign, which points to the right if the row is collapsed, else down."""
    middle = box.y + box.height / 2
    # The arrow is 10 pixels long and 5 pixels high, or the other way round.
    left, top = box.x + 6, middle - 2.5
    if box.panel.is_collapsed:
        corners = [(left + 2, middle - 5), (left + 7, middle), (left + 2, middle + 5)]
    else:
        corners = [(left, top), (left + 5, top + 5), (left + 10, top)]
    visible_title = svg.truncated(box.panel.title, _ROW_TITLE_SIZE, (box.width - _ROW_TITLE_LEFT - _ROW_TITLE_RIGHT) / svg.BOLD_WIDTH)
    x = box.x + _ROW_TITLE_LEFT
    title = svg.text_element(visible_title, x, middle + 5, size=_ROW_TITLE_SIZE, colour=theme.text, bold=True)
    return svg.polyline(corners, theme.muted, 1.6) + title
