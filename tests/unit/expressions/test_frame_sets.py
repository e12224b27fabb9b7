"""A frame set equals the list of its frames: in values, sizes, JSON and Arrow."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.expressions.engine.axis import Axis
from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.engine.frame_set import FrameSet
from dashwright.expressions.engine.frames_to_values import values_of
from dashwright.expressions.engine.labels import Labels, LabelSets, LabelSetsBuilder
from dashwright.expressions.engine.values import Block, Cells, NoData, Numbers, Series
from dashwright.expressions.formats import arrow, response
from dashwright.expressions.formats.codec import encode_labels
from dashwright.expressions.formats.response import Result
from dashwright.expressions.sources.prometheus.query import PrometheusQuery

# Texts and keys that JSON escapes, or that a template of the writer could take for placeholders.
TEXTS = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(['","', "\\", 'a"', "%s", "%", "{}", "é", "\x00"])
KEYS = st.sampled_from(["__name__", "a", "b", "%d", 'k"', "zé"])
LABELS = st.dictionaries(KEYS, TEXTS, max_size=3)
# The labels of several items: with any keys, or with the same keys for all of them.
MAPPINGS = st.lists(LABELS, min_size=1, max_size=5) | KEYS.flatmap(
    lambda key: st.lists(st.fixed_dictionaries({key: TEXTS, "b": TEXTS}), min_size=1, max_size=5)
)
VALUES = st.floats() | st.sampled_from([0.0, np.nan, np.inf, -np.inf])
#: Times of several lengths, some with parts of a millisecond.
TIMES = st.lists(st.integers(0, 10**6).map(lambda step: step * 500_000), max_size=4, unique=True)
META = {"type": "timeseries-multi", "typeVersion": [0, 1]}


@st.composite
def frame_sets(draw: st.DrawFn) -> FrameSet:
    """Draw a frame set: series with one to three different axes, or numbers with or without times."""
    labels = LabelSets.of_mappings(draw(MAPPINGS))
    count = len(labels)
    names = draw(st.just(()) | st.lists(TEXTS, min_size=count, max_size=count))
    options: dict[str, Any] = {
        "value_name": draw(TEXTS),
        "value_names": names,
        "ref_id": draw(TEXTS),
        "is_nullable": draw(st.booleans()),
        "has_empty_labels": draw(st.booleans()),
        "time_config": draw(st.none() | st.just({"interval": 15000})),
        "display_names": draw(st.none() | st.just(lambda sets: [f"{item}" for item in sets])),
        "first_meta": draw(st.none() | st.just({"custom": 1})),
    }
    if draw(st.booleans()):
        times = draw(st.none() | st.lists(st.integers(0, 10**15), min_size=count, max_size=count).map(np.array))
        return replace(FrameSet(Numbers(labels, draw(cells((count,)))), META, times=times), **options)
    axes = draw(st.lists(TIMES, min_size=1, max_size=3))
    axis_numbers = draw(st.lists(st.integers(0, len(axes) - 1), min_size=count, max_size=count))
    # A set has blocks only for the axes that a series uses.
    used_axes, block_numbers = np.unique(axis_numbers, return_inverse=True)
    axes = [axes[index] for index in used_axes]
    blocks, row_numbers = [], np.zeros(count, np.intp)
    for index, axis in enumerate(axes):
        members = np.flatnonzero(block_numbers == index)
        # The rows of a block may be in another order than the series of the set.
        row_numbers[members] = draw(st.permutations(range(len(members))))
        blocks.append(Block(Axis(np.array(axis, np.int64)), draw(cells((len(members), len(axis))))))
    if len(axes) == 1 and draw(st.booleans()):
        options |= {"is_wide": True, "meta": {**META, "type": "timeseries-wide"}}
    options["time_name"] = draw(st.sampled_from(["Time", "time"]))
    return replace(FrameSet(Series(labels, tuple(blocks), block_numbers, row_numbers), META), **options)


@st.composite
def cells(draw: st.DrawFn, shape: tuple[int, ...]) -> Cells:
    """Draw values of a shape, with or without nulls."""
    size = int(np.prod(shape))
    values = np.array(draw(st.lists(VALUES, min_size=size, max_size=size)), np.float64).reshape(shape)
    nulls = draw(st.none() | st.lists(st.booleans(), min_size=size, max_size=size))
    return Cells.with_nulls(values, None if nulls is None else np.array(nulls, np.bool_).reshape(shape))


def write_frames(frames: Sequence[Frame]) -> bytes:
    """Return the JSON of a response with these frames."""
    return b"".join(encoded for encoded, _ in response.fragments({"A": Result(frames)}))


@given(frame_sets())
def test_a_set_has_the_bytes_of_its_frames(frames: FrameSet) -> None:
    """A frame set is written as the same JSON as the list of its frames, for all labels, names, values and times."""
    assert write_frames(frames) == write_frames(list(frames))


@pytest.mark.parametrize("count", [1, 7, 3000])
@pytest.mark.parametrize("length", [0, 1, 60, 30_000])
def test_sets_of_any_size_are_written_in_fragments(count: int, length: int) -> None:
    """Few long series and many short ones are written to the same bytes as their frames. No fragment has too many values."""
    # More series of this length would take too much memory.
    if count * length > 1_000_000:
        count = 3
    values = np.random.default_rng(1).random((count, length))
    labels = LabelSets.of_mappings([{"n": str(number)} for number in range(count)])
    frames = FrameSet(Series.stacked(labels, [Block(Axis(np.arange(length) * 10**9), Cells(values))]), META)
    fragments = list(response.fragments({"A": Result(frames)}))
    assert b"".join(encoded for encoded, _ in fragments) == write_frames(list(frames))
    # A fragment has at most 100,000 values, and may exceed that by one short series.
    assert max(cost for _, cost in fragments) <= 101_000


@given(frame_sets())
def test_a_frame_by_index_is_the_one_of_the_iteration(frames: FrameSet) -> None:
    """A frame by index, by slice and by iteration is the same."""
    all_frames = list(frames)
    assert len(all_frames) == len(frames) == (1 if frames.is_wide else len(frames.values))
    for index, frame in enumerate(all_frames):
        assert write_frames([frames[index]]) == write_frames([frame]) == write_frames(frames[index : index + 1])


@given(frame_sets().map(lambda frames: replace(frames, first_meta=None)))
def test_the_values_of_a_set_are_those_of_its_frames(frames: FrameSet) -> None:
    """Expressions read the same items from a frame set as from the list of its frames, in the same order."""
    # Only with this type are numbers read as numbers.
    if isinstance(frames.values, Numbers):
        frames = replace(frames, meta={**META, "type": "numeric-multi"})
    _check_values(frames, "")


@given(
    frame_sets().filter(lambda frames: isinstance(frames.values, Series)),
    st.sampled_from(["", "prometheus", "postgres", "grafana-testdata-datasource"]),
)
def test_a_set_without_a_declared_type_is_read_like_its_frames(frames: FrameSet, source_type: str) -> None:
    """A frame set of an undeclared type is read like the list of its frames, for any type of data source."""
    _check_values(replace(frames, meta={"type": "timeseries-multi"}, first_meta=None), source_type)


@given(frame_sets())
def test_the_size_of_a_set_is_that_of_its_frames(frames: FrameSet) -> None:
    """The maximum number of values is that of the largest frame. Times are not counted."""
    assert frames.max_value_count == max(sum(len(field) for field in frame.fields if field.type is FieldType.FLOAT64) for frame in frames)


def _check_values(frames: FrameSet, source_type: str) -> None:
    """Raise AssertionError unless expressions read the same items from the set and from the list of its frames."""
    values_of_set, values_of_list = values_of(frames, source_type), values_of(list(frames), source_type)
    if isinstance(values_of_list, NoData):
        assert isinstance(values_of_set, NoData)
        return
    assert isinstance(values_of_set, Series | Numbers)
    assert type(values_of_set) is type(values_of_list)
    assert isinstance(values_of_list, Series | Numbers)
    assert values_of_set.labels == values_of_list.labels
    assert tuple(values_of_set.names) == tuple(values_of_list.names)
    for left, right in zip(_rows(values_of_set), _rows(values_of_list), strict=True):
        np.testing.assert_array_equal(left.values, right.values)
        np.testing.assert_array_equal(left.null_mask(), right.null_mask())


def _rows(values: Series | Numbers) -> list[Cells]:
    """Return the values of each series, or of all numbers together."""
    if isinstance(values, Numbers):
        return [values.cells]
    return [values.blocks[block].cells.at(row) for block, row in zip(values.block_of, values.row_of, strict=True)]


@given(MAPPINGS, st.sampled_from(["", "__auto", "{{a}}", "{{b}} of {{ k }}", "fix % {}", "{{none}}"]))
def test_the_names_of_a_set_are_those_of_its_series(mappings: list[dict[str, str]], legend: str) -> None:
    """The display names of all series in one call equal the display name of each series."""
    query = PrometheusQuery("up", 1, 0, 1, 1, is_instant=False, is_range=True, legend=legend)
    labels = LabelSets.of_mappings(mappings)
    assert list(query.display_names(labels)) == [query.display_name(Labels.of(mapping)) for mapping in mappings]


@given(MAPPINGS, st.data())
def test_label_sets_are_those_of_their_mappings(mappings: list[dict[str, str]], data: st.DataObject) -> None:
    """Label sets that are stored in columns have the same labels, texts and JSON as single label sets."""
    labels, expected_sets = LabelSets.of_mappings(mappings), [Labels.of(mapping) for mapping in mappings]
    positions = data.draw(st.lists(st.integers(0, len(expected_sets) - 1)).map(lambda chosen: np.array(chosen, np.intp)))
    chosen = labels.at(positions)
    assert labels.texts() == list(map(str, expected_sets))
    assert encode_labels(labels) == [orjson.dumps(dict(item.pairs)) for item in expected_sets]
    assert labels.max_count == max(map(len, expected_sets))
    assert list(labels) == expected_sets
    assert labels == LabelSets.of(expected_sets)
    assert list(chosen) == [expected_sets[position] for position in positions]
    assert len(set(labels)) == len({item.pairs for item in expected_sets})


@given(MAPPINGS, st.data())
def test_label_sets_of_parts_are_those_of_all_mappings(mappings: list[dict[str, str]], data: st.DataObject) -> None:
    """Label sets do not depend on the parts in which their mappings are added."""
    end = data.draw(st.integers(0, len(mappings)))
    builder = LabelSetsBuilder()
    for part in (mappings[:end], mappings[end:]):
        builder.add(part)
    labels, expected_labels = builder.build(), LabelSets.of_mappings(mappings)
    assert list(labels) == list(expected_labels)
    assert labels.keys == expected_labels.keys
    assert labels.columns == expected_labels.columns


@given(frame_sets())
def test_a_set_equals_its_frames_in_arrow(frames: FrameSet) -> None:
    """The streams of a set, which are made from a template, equal the streams of single frames."""
    encoded_set = b"".join(encoded for encoded, _ in arrow.fragments({"A": Result(frames)}))
    one_by_one = [encoded for frame in frames for encoded, _ in arrow.fragments({"A": Result([frame])})]
    assert encoded_set == b"".join(one_by_one)


def test_a_wide_set_is_one_frame() -> None:
    """The frame of a wide set has a column for each series, and masks only for series with nulls. Its size is that of all columns."""
    nulls = np.array([[False, True], [False, False]])
    series = Series.stacked(LabelSets.of_mappings([{"n": "a"}, {"n": "b"}]), [Block(Axis(np.arange(2)), Cells(np.ones((2, 2)), nulls))])
    frames = FrameSet(series, {**META, "type": "timeseries-wide"}, value_name="v", is_wide=True)
    (frame,) = frames
    assert [field.labels for field in frame.fields[1:]] == [Labels.of({"n": "a"}), Labels.of({"n": "b"})]
    assert [field.nulls is None for field in frame.fields[1:]] == [False, True]
    assert len(frames) == 1
    # Two columns of two values each.
    assert frames.max_value_count == 4


@pytest.mark.parametrize(
    ("source_type", "expected_labels"),
    [("grafana-testdata-datasource", [{"__name__": "x"}, {"__name__": "y"}]), ("prometheus", [{}, {}])],
)
def test_names_become_labels_for_some_data_sources(source_type: str, expected_labels: list[dict[str, str]]) -> None:
    """For some data sources, series of an undeclared type without labels get the label ``__name__``.

    A frame set and the list of its frames have the same labels.
    """
    series = Series.stacked(LabelSets.of_mappings([{}, {}]), [Block(Axis(np.arange(2)), Cells(np.ones((2, 2))))])
    frames = FrameSet(series, {"type": "timeseries-multi"}, value_names=("x", "y"))
    for values in (values_of(frames, source_type), values_of(list(frames), source_type)):
        assert isinstance(values, Series)
        assert [dict(labels.pairs) for labels in values.labels] == expected_labels
