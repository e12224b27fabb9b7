"""Panels that are drawn without clipping, and the estimate of the extents of texts that decides about clipping."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.expressions.pictures.panel_samples import draw_panel, panel_of, series

from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.pictures.composition import compose
from dashwright.expressions.pictures.extents import texts_fit
from dashwright.expressions.pictures.layout import lay_out
from dashwright.expressions.pictures.outcomes import PanelOutcome, State
from dashwright.expressions.pictures.svg import text_element
from dashwright.expressions.pictures.theme import THEMES

RANGE = TimeRange(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "x", "y", "anchor", "fits"),
    [
        ("load", 10, 20, "start", True),
        ("load", 80, 20, "start", False),
        ("load", 80, 20, "end", True),
        ("load", 10, 20, "end", False),
        ("load", 10, 20, "middle", False),
        ("WWWWWWWWW", 10, 20, "start", False),
        ("lllllllll", 10, 20, "start", True),
        ("load", 10, 5, "start", False),
        ("load", 10, 49, "start", False),
        ("læd", 10, 20, "start", False),
    ],
)
def test_texts_fit_if_their_largest_extent_is_inside(text: str, x: float, y: float, anchor: Any, *, fits: bool) -> None:
    """A text fits if its maximum extent is inside. Letters beyond ASCII may have any width, so texts with them never fit."""
    panel_width, panel_height = 100, 50
    assert texts_fit([text_element(text, x, y, size=12, colour="#000000", anchor=anchor)], panel_width, panel_height) is fits


def test_rotated_texts_are_not_certain_to_fit() -> None:
    """The extent of a rotated text is not estimated, so that its panel is clipped."""
    rotated_text = f'<g transform="rotate(-90 10.0 20.0)">{text_element("a", 10, 20, size=9, colour="#000000")}</g>'
    assert not texts_fit([rotated_text], 100, 50)


@pytest.mark.parametrize(
    ("settings", "size", "is_contained"),
    [
        ({}, {}, True),
        ({"max": 2}, {}, True),
        ({"custom": {"drawStyle": "bars"}}, {}, True),
        ({"custom": {"lineWidth": 10, "pointSize": 40}}, {}, False),
        ({"custom": {"axisLabel": "Requests"}}, {}, False),
        ({"custom": {"fillBelowTo": "other"}}, {}, False),
        ({"displayName": "ÅNGSTRÖM"}, {}, False),
        ({"displayName": "LOAD OF " * 40}, {}, False),
        ({}, {"height": 20}, False),
        ({}, {"width": 30}, False),
    ],
)
def test_time_series_are_clipped_unless_they_are_certain_to_be_inside(
    settings: dict[str, Any], size: dict[str, Any], *, is_contained: bool
) -> None:
    """Usual lines, bars and texts are inside; thick lines, labels of axes, fills between lines, wide names and small panels may not be."""
    assert draw_panel("timeseries", series(1, 2, 3, name="load"), defaults=settings, **size).is_contained is is_contained


@pytest.mark.parametrize("is_contained", [True, False])
def test_a_panel_is_clipped_unless_it_is_contained(*, is_contained: bool) -> None:
    """A panel that is not contained is in a nested SVG, which clips it. A contained panel has the same position without clipping."""
    layout = lay_out([panel_of("timeseries")], 600, None, is_single_panel=False)
    picture = compose(layout, [PanelOutcome("<g/>", State.DRAWN, is_contained=is_contained)], THEMES["dark"], "", RANGE)
    if is_contained:
        assert '<g transform="translate(10.0 62.0)"><g/></g>' in picture
        assert 'overflow="hidden"' not in picture
    else:
        assert '<svg x="10.0" y="62.0"' in picture
        assert 'overflow="hidden"' in picture
