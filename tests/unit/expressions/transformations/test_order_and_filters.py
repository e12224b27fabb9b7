"""The order in which transformations are applied, and the frames that they apply to."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.expressions.transformations.tables import apply_all, cells, column, frame

from dashwright.expressions.transformations.names import DisplayNames
from dashwright.expressions.transformations.pipeline import read_steps

#: Frames of three queries, with the values 0, 1 and 2.
A, B, C = (frame(ref_id, v=[index]) for index, ref_id in enumerate("ABC"))
DOUBLE_VALUES = {
    "id": "calculateField",
    "options": {"mode": "binary", "binary": {"left": "v", "operator": "+", "right": "v"}, "replaceFields": True},
}


def test_transformations_apply_in_order() -> None:
    """A later transformation refers to the names that an earlier one gave."""
    rename = {"id": "organize", "options": {"renameByName": {"v": "w"}}}
    assert cells(apply_all([B], rename, {"id": "filterFieldsByName", "options": {"include": {"names": ["w"]}}})) == [{"w": [1]}]
    assert cells(apply_all([B], {"id": "filterFieldsByName", "options": {"include": {"names": ["w"]}}}, rename)) == []


@pytest.mark.parametrize("setting", [{"disabled": True}, {"topic": "annotations"}, {"id": "unknown"}])
def test_disabled_and_unknown_transformations_change_nothing(setting: dict[str, Any]) -> None:
    """Frames are unchanged by a transformation that is disabled, for annotations or unknown."""
    assert cells(apply_all([B], {**DOUBLE_VALUES, **setting})) == [{"v": [1]}]


def test_a_filter_selects_the_frames_of_a_transformation() -> None:
    """The frames that the filter does not match are unchanged. They follow the first frames of the result, as in Grafana."""
    only_b = {**DOUBLE_VALUES, "filter": {"id": "byRefId", "options": "B"}}
    assert [(item.ref_id, cells([item])) for item in apply_all([A, B, C], only_b)] == [
        ("B", [{"v + v": [2]}]),
        ("A", [{"v": [0]}]),
        ("C", [{"v": [2]}]),
    ]
    # A filter without a refId does not restrict the frames.
    without_options = {**DOUBLE_VALUES, "filter": {"id": "byRefId", "options": ""}}
    assert [cells([item]) for item in apply_all([A, B], without_options)] == [[{"v + v": [0]}], [{"v + v": [2]}]]


def test_columns_of_several_frames_have_distinct_names() -> None:
    """Names of frames and labels distinguish columns; equal names in one frame are numbered."""
    series = [frame("A", column("Value", [1], host=host), name=name) for host, name in (("a", "f"), ("b", "g"))]
    assert [DisplayNames(series).of_frame(item) for item in series] == [["f a"], ["g b"]]
    frame_with_equal_names = frame("A", column("Value", [1]), column("Value", [2]), column("x", [3], a="1", b="2"))
    assert DisplayNames([frame_with_equal_names]).of_frame(frame_with_equal_names) == ["Value 1", "Value 2", 'x {a="1", b="2"}']


def test_columns_keep_their_display_names_in_later_steps() -> None:
    """After a join, the second of two equal names is known by its number, even when the first is removed."""
    series = [frame(ref_id, time=[1], Value=[index]) for index, ref_id in enumerate("AB")]
    organize = {"id": "organize", "options": {"excludeByName": {"Value 1": True}, "renameByName": {"Value 2": "second"}}}
    assert cells(apply_all(series, {"id": "joinByField"}, organize)) == [{"time": [1], "second": [1]}]


JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=3), lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=8), inner)
)


@given(JSON)
def test_any_json_is_read(value: Any) -> None:
    """Any JSON instead of the transformations of a panel is read without an error."""
    assert isinstance(read_steps(value), list)
    assert isinstance(read_steps([{"id": value, "options": value, "filter": value, "disabled": value, "topic": value}]), list)
