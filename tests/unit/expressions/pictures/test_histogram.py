"""Histograms: buckets and their counts."""

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.expressions.pictures.panel_samples import draw_panel, numbers, panel_of, props_of, series, svg_of, texts, visible_texts

from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.pictures.panels.drawing import NothingToDraw
from dashwright.expressions.pictures.panels.histogram import HistogramBuckets, buckets_of

WRONG_VALUES: st.SearchStrategy[Any] = st.sampled_from([None, 0, -1, 1e-300, 1e308, "x", "5", [], True, 10_000, 0.1])


def buckets(*frames: Frame, **options: Any) -> HistogramBuckets:
    """Return the buckets of a panel with options."""
    return buckets_of(props_of(panel_of("histogram", options=options), *frames))


@given(values=st.lists(st.floats(-1e308, 1e308), min_size=1, max_size=11), size=WRONG_VALUES, offset=WRONG_VALUES, count=WRONG_VALUES)
def test_each_value_is_in_one_bucket_and_buckets_are_bounded(values: list[float], size: Any, offset: Any, count: Any) -> None:
    """The counts add up to the number of values, and a panel of 400 pixels has at most 202 buckets with ascending edges."""
    result = buckets(series(*values), bucketSize=size, bucketOffset=offset, bucketCount=count)
    (counts,) = result.counts
    assert counts.sum() == len(values)
    assert len(counts) <= 202
    assert len(result.edges) == len(counts) + 1
    assert (np.diff(result.edges) > 0).all()


@pytest.mark.parametrize(
    ("options", "edges"),
    [({"bucketSize": 10}, [0, 10, 20, 30]), ({"bucketSize": "10", "bucketOffset": 5}, [-5, 5, 15, 25]), ({"bucketCount": 2}, [0, 20, 40])],
)
def test_buckets_have_the_configured_size_offset_or_number(options: dict[str, Any], edges: list[float]) -> None:
    """With ``bucketCount``, the size is the next round number above the range divided by the count, as in Grafana."""
    assert buckets(series(0, 3, 12, 24), **options).edges.tolist() == edges


def test_series_have_their_own_counts_unless_they_are_combined() -> None:
    """All series have the same buckets; combined, they are one series named *Count*."""
    frames = [series(1, 2, name="a"), series(1, 15, None, name="b")]
    result = buckets(*frames, bucketSize=10)
    assert list(result.names) == ["a", "b"]
    assert [row.tolist() for row in result.counts] == [[2, 0], [1, 1]]
    combined = buckets(*frames, bucketSize=10, combine=True)
    assert list(combined.names) == ["Count"]
    assert [row.tolist() for row in combined.counts] == [[3, 1]]


def test_buckets_of_a_transformation_are_drawn_as_they_are() -> None:
    """The columns ``xMin`` and ``xMax`` of a frame are the edges of its buckets. Of 10,000 buckets, the first 200 are drawn."""
    result = buckets(Frame([numbers("xMin", 10, 0), numbers("xMax", 20, 10), numbers("n", 4, 7)]))
    assert result.edges.tolist() == [0, 10, 20]
    assert result.counts[0].tolist() == [7, 4]
    many_buckets = Frame([numbers("xMin", *range(10_000)), numbers("xMax", *range(1, 10_001)), numbers("n", *range(10_000))])
    assert buckets(many_buckets).note == "only the first 200 of 10000 buckets"


def test_labels_have_the_unit_and_the_legend_the_series() -> None:
    """The labels of the horizontal axis have the unit of the values. Those of the vertical axis are counts."""
    all_texts = visible_texts(draw_panel("histogram", series(1, 25, name="a"), options={"bucketSize": 10}, defaults={"unit": "percent"}))
    assert all_texts[-5:] == ["0%", "10%", "20%", "30%", "a"]
    assert "1" in all_texts[:-5]


def test_stacked_counts_are_above_each_other() -> None:
    """Two stacked bars of 9 values need an axis with the label 15, and overlapping bars do not."""
    frames = [series(*[1.0] * 9, name="a"), series(*[1.0] * 9, name="b")]

    def labels(stacking: str) -> list[str]:
        """Return the texts of a panel with a mode of stacking."""
        return visible_texts(draw_panel("histogram", *frames, defaults={"custom": {"stacking": {"mode": stacking}}}))

    assert "15" in labels("normal")
    assert "15" not in labels("none")


@given(wrong_value=WRONG_VALUES, values=st.lists(st.sampled_from([None, 0, 1e308, -1e308, 5e-324]), max_size=4))
def test_no_value_breaks_a_histogram(wrong_value: Any, values: list[float | None]) -> None:
    """A histogram of any values with any options is drawn, or shows a message."""
    with contextlib.suppress(NothingToDraw):
        svg = svg_of(
            draw_panel("histogram", series(*values), options={"bucketSize": wrong_value, "combine": wrong_value, "legend": wrong_value})
        )
        assert "nan" not in svg


@pytest.mark.parametrize(
    ("frames", "reason"), [([], "No data"), ([series(None)], "No data"), ([Frame([texts("n", "a")])], "No numbers"), ([Frame()], "No data")]
)
def test_missing_numbers_are_reported(frames: list[Frame], reason: str) -> None:
    """A histogram without numbers shows a message."""
    with pytest.raises(NothingToDraw, match=reason):
        draw_panel("histogram", *frames)
