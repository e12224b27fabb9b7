"""Laws of the tables of Prometheus queries."""

import math
from dataclasses import replace

import pytest
from tests.unit.expressions.pictures.panel_samples import series

from dashwright.common.errors import DashwrightError
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.pictures.prometheus_tables import with_tables
from dashwright.expressions.transformations.context import Context


def frame_of(ref_id: str, frame: Frame) -> Frame:
    """Return the frame as a result of a query."""
    frame.ref_id = ref_id
    return frame


def target(ref_id: str, format_: str = "table", source_type: str = "prometheus") -> dict[str, object]:
    """Return a query in a format."""
    return {"refId": ref_id, "format": format_, "datasource": {"type": source_type, "uid": "p"}}


def rows_of(frame: Frame) -> list[tuple[object, ...]]:
    """Return the rows of a frame."""
    return list(zip(*[field.values.tolist() for field in frame.fields], strict=True))


def test_the_series_of_a_query_become_one_table_with_columns_of_labels() -> None:
    """Rows are in order of time, and columns in order of labels. A label that a series lacks is empty."""
    frames = [frame_of("A", series(1, 2, zone="eu", host="web")), frame_of("A", series(3, 4, host="db", disk="sda"))]
    [table] = with_tables(frames, [target("A")], Context())
    assert [field.name for field in table.fields] == ["Time", "host", "zone", "disk", "Value"]
    minute = 60_000_000_000
    assert rows_of(table) == [
        (0, "web", "eu", "", 1),
        (0, "db", "", "sda", 3),
        (minute, "web", "eu", "", 2),
        (minute, "db", "", "sda", 4),
    ]


@pytest.mark.parametrize(
    ("second", "names"),
    [
        (target("B"), ["Value #A", "Value #B"]),
        (target("B", "time_series"), ["Value", "Value"]),
        (target("B", source_type="loki"), ["Value", "Value"]),
    ],
    ids=["two tables", "a table and series", "another data source"],
)
def test_values_are_named_after_their_query_if_there_are_two_tables(second: dict[str, object], names: list[str]) -> None:
    """The column of values has the name of its query only if another query becomes a table, too."""
    frames = with_tables([frame_of("A", series(1, host="web")), frame_of("B", series(2, host="web"))], [target("A"), second], Context())
    assert sorted(frame.fields[-1].name for frame in frames) == names


def test_series_are_in_front_of_tables() -> None:
    """The tables of a panel follow its series, whatever the order of its queries."""
    # The first query has the format of a table, and the second one that of series.
    frames = [frame_of("A", series(1)), frame_of("B", series(2))]
    assert [frame.ref_id for frame in with_tables(frames, [target("A"), target("B", "time_series")], Context())] == ["B", "A"]


def test_bounds_of_buckets_are_numbers() -> None:
    """The column of the label ``le`` has numbers. A bound that is not a number is NaN."""
    frames = [frame_of("A", series(1, le=bound)) for bound in ("0.5", "+Inf", "many")]
    [table] = with_tables(frames, [target("A")], Context())
    assert table.fields[1].values[:2].tolist() == [0.5, math.inf]
    assert math.isnan(table.fields[1].values[2])


def test_nulls_are_kept() -> None:
    """A null of a series is a null in the row of its time."""
    [table] = with_tables([frame_of("A", series(1, None)), frame_of("A", series(2))], [target("A")], Context())
    assert table.fields[-1].nulls is not None
    assert table.fields[-1].nulls.tolist() == [False, False, True]


def test_a_table_with_too_many_cells_is_rejected() -> None:
    """The error of a table with more than the allowed 5 cells names their number: two rows with time, label and value."""
    limits = replace(Limits(), transformation_cells=5)
    with pytest.raises(DashwrightError, match="6 cells"):
        with_tables([frame_of("A", series(1, 2, host="web"))], [target("A")], Context(limits))
