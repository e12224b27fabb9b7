"""Display names of columns and frames: the rules of Grafana."""

import numpy as np
import pytest

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.pictures.display_names import ColumnNames, frame_display_name
from dashwright.expressions.pictures.series import series_of


def column(name: str = "Value", config: dict[str, str] | None = None, **labels: str) -> Field:
    """Return a column of one number with labels."""
    return Field(name, FieldType.FLOAT64, np.ones(1), labels=Labels.of(labels) if labels else None, config=config)


def displayed_names(*frames: Frame) -> list[str]:
    """Return the display names of all columns."""
    display_names = ColumnNames(frames)
    return [display_names.of_field(field, frame, field.config or {}) for frame in frames for field in frame.fields]


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        # Names that the panel or the data source configures.
        ([Frame([column(config={"displayName": "mine", "displayNameFromDS": "theirs"}, pod="a")])], ["mine"]),
        ([Frame([column(config={"displayName": "", "displayNameFromDS": "theirs"}, pod="a")])], ["theirs"]),
        # Labels: only the value if all columns have one label with the same name.
        ([Frame([column(pod="a")]), Frame([column(pod="b")])], ["a", "b"]),
        ([Frame([column(pod="a", zone="x")])], ['{pod="a", zone="x"}']),
        ([Frame([column(pod="a")]), Frame([column(zone="x")])], ['{pod="a"}', '{zone="x"}']),
        ([Frame([column("load", pod="a")])], ["load a"]),
        # Names of frames, if they differ. The name ``Value`` distinguishes nothing.
        ([Frame([column("load")], "web"), Frame([column("load")], "db")], ["web load", "db load"]),
        ([Frame([column("load")], "web"), Frame([column("load")], "web")], ["load", "load"]),
        ([Frame([column()], "web")], ["web"]),
        ([Frame([column()])], ["Value"]),
        # Equal names in a frame are numbered.
        ([Frame([column("load"), column("load"), column("rate")])], ["load 1", "load 2", "rate"]),
        # Frames of a query for another time range.
        ([Frame([column("load")], meta={"timeCompare": {"isTimeShiftQuery": True}})], ["load (comparison)"]),
        ([Frame([column(config={"displayName": "L"})], meta={"timeCompare": {"isTimeShiftQuery": True}})], ["L (comparison)"]),
    ],
)
def test_columns_are_named_by_what_distinguishes_them(frames: list[Frame], expected: list[str]) -> None:
    """A column has its configured name, or else those parts that distinguish it: the name of the frame, its own name, and the labels."""
    assert displayed_names(*frames) == expected
    assert [series.name for series in series_of(frames)] == expected


def test_times_are_named_by_their_column() -> None:
    """A column of times has its own name, or ``Time`` without a name, even if another column has labels."""
    times = np.zeros(1, dtype=np.int64)
    frame = Frame([Field("at", FieldType.TIME, times), Field("", FieldType.TIME, times), column(pod="a")])
    assert displayed_names(frame) == ["at", "Time", "a"]


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (Frame([column("load")], "web"), "web"),
        (Frame([column("load")]), "load"),
        (Frame([column("a"), column("b")], ref_id="Q"), "Series (Q)"),
        (Frame([column("a"), column("b")]), "Series (4)"),
    ],
)
def test_frames_are_named_by_name_or_column_or_query(frame: Frame, expected: str) -> None:
    """A frame has its name, or the name of its only column. A frame with several columns has the name of its query or its index."""
    index = 4
    assert frame_display_name(frame, index) == expected
