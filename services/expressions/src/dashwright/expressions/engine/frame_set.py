"""The frames of a set of series or numbers, which differ only in labels, names, times and values.

A set is either a frame for each item, or one wide frame with a column for each item.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from dashwright.expressions.engine.axis import Times
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels, LabelSets
from dashwright.expressions.engine.values import Cells, Floats, Mask, Numbers, Series

TIME_NAME = "Time"

#: Returns the display name of each item, from the label set of each.
DisplayNames = Callable[[LabelSets], Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class FrameSet(Sequence[Frame]):
    """The frames of a set, which are created when they are read.

    Each item has a frame with one value column, which follows the time column if the item has times. A wide set is one
    frame with the value columns of all series, which share their times.
    """

    values: Series | Numbers
    meta: Mapping[str, Any] | None = None  #: The meta of each frame.
    first_meta: Mapping[str, Any] | None = None  #: The meta of the first frame if it differs.
    ref_id: str = ""
    value_name: str = ""  #: The name of each value column, if all have the same.
    value_names: Sequence[str] = ()  #: The name of each value column, if they differ.
    is_nullable: bool = True  #: True if the schema of the value columns allows nulls.
    has_empty_labels: bool = False  #: True if value columns without labels have ``{}`` as their labels instead of None.
    times: Times | None = None  #: The time of each number. None: the frames of numbers have no time column.
    time_name: str = TIME_NAME  #: The name of each time column.
    time_config: Mapping[str, Any] | None = None  #: The configuration of each time column.
    display_names: DisplayNames | None = None  #: If it is None or a display name is empty, the client chooses the name.
    is_wide: bool = False  #: True if all series are columns of one frame. They then have one axis, and at least one exists.

    def with_ref_id(self, ref_id: str) -> "FrameSet":
        """Return the frames of another refId."""
        return replace(self, ref_id=ref_id)

    def with_first_meta(self, meta: Mapping[str, Any]) -> "FrameSet":
        """Return the frames, of which the first one has another meta."""
        return replace(self, first_meta=meta)

    @property
    def has_times(self) -> bool:
        """True if the frames have a time column."""
        return isinstance(self.values, Series) or self.times is not None

    @property
    def max_row_count(self) -> int:
        """The number of rows of the longest frame."""
        return self.values.longest_length if isinstance(self.values, Series) else 1

    def meta_of(self, index: int) -> Mapping[str, Any] | None:
        """Return the meta of a frame."""
        return self.first_meta if index == 0 and self.first_meta is not None else self.meta

    @property
    def max_value_count(self) -> int:
        """The maximum number of values in a frame, without times."""
        return self.max_row_count * (len(self.values) if self.is_wide else 1)

    @property
    def names(self) -> Sequence[str]:
        """The names of the value columns."""
        return self.value_names or (self.value_name,) * len(self.values)

    def arrays(self) -> Iterator[np.ndarray[Any, Any]]:
        """Yield all arrays of the set."""
        if isinstance(self.values, Series):
            for block in self.values.blocks:
                yield block.axis.times
                yield from _arrays_of(block.cells)
        else:
            yield from _arrays_of(self.values.cells)
        if self.times is not None:
            yield self.times

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> list[Frame]: ...
    def __getitem__(self, index: int | slice) -> Frame | list[Frame]:
        if isinstance(index, slice):
            return list(self)[index]
        position = range(len(self))[index]
        return next(iter(self) if self.is_wide else self._frames(range(position, position + 1)))

    def __iter__(self) -> Iterator[Frame]:
        if not self.is_wide:
            yield from self._frames(range(len(self.values)))
            return
        columns = list(self._fields(range(len(self.values))))
        # All series share their times, so the time column of the first is that of the frame.
        shared_time_column = columns[0][0]
        time_columns = [] if shared_time_column is None else [shared_time_column]
        yield Frame([*time_columns, *(values for _, values in columns)], ref_id=self.ref_id, meta=self.meta_of(0))

    def __len__(self) -> int:
        return 1 if self.is_wide else len(self.values)

    def _frames(self, indexes: range) -> Iterator[Frame]:
        for index, (times, values) in zip(indexes, self._fields(indexes), strict=True):
            yield Frame([values] if times is None else [times, values], ref_id=self.ref_id, meta=self.meta_of(index))

    def _fields(self, indexes: range) -> Iterator[tuple[Field | None, Field]]:
        """Yield the time column and the value column of items."""
        labels = self.values.labels if len(indexes) == len(self.values) else self.values.labels.at(np.array(indexes))
        display_names = self.display_names(labels) if self.display_names else [""] * len(indexes)
        names = self.names
        columns = zip(indexes, labels, display_names, self._columns(indexes), strict=True)
        for index, label_set, display_name, (times, values, nulls) in columns:
            # A block has a mask if any of its series has a null. In a wide set, many series of the block are without nulls.
            mask = None if self.is_wide and nulls is not None and not nulls.any() else nulls
            yield times, self._value_field(names[index], label_set, values, mask, display_name)

    def _columns(self, indexes: range) -> Iterator[tuple[Field | None, Floats, Mask | None]]:
        """Yield the time column, the values and the nulls of items."""
        if isinstance(self.values, Series):
            time_fields = [self._time_field(block.axis.times) for block in self.values.blocks]
            for index in indexes:
                block, row = int(self.values.block_of[index]), int(self.values.row_of[index])
                cells = self.values.blocks[block].cells
                yield time_fields[block], cells.values[row], None if cells.nulls is None else cells.nulls[row]
            return
        cells = self.values.cells
        for index in indexes:
            rows = slice(index, index + 1)
            time_field = None if self.times is None else self._time_field(self.times[rows])
            yield time_field, cells.values[rows], None if cells.nulls is None else cells.nulls[rows]

    def _time_field(self, times: Times) -> Field:
        return Field(self.time_name, FieldType.TIME, times, config=self.time_config)

    def _value_field(self, name: str, labels: Labels, values: Floats, nulls: Mask | None, display_name: str) -> Field:
        return Field(
            name,
            FieldType.FLOAT64,
            values,
            nulls,
            self.is_nullable,
            labels if labels or self.has_empty_labels else None,
            {"displayNameFromDS": display_name} if display_name else None,
        )


def first_meta(frames: Sequence[Frame]) -> Mapping[str, Any] | None:
    """Return the meta of the first frame. ``frames`` must not be empty."""
    return frames.meta_of(0) if isinstance(frames, FrameSet) else frames[0].meta


def with_first_meta(frames: Sequence[Frame], meta: Mapping[str, Any]) -> Sequence[Frame]:
    """Return frames, at least one, of which the first one has another meta."""
    if isinstance(frames, FrameSet):
        return frames.with_first_meta(meta)
    first, *other_frames = frames
    return [replace(first, meta=meta), *other_frames]


def _arrays_of(cells: Cells) -> Iterator[np.ndarray[Any, Any]]:
    yield cells.values
    if cells.nulls is not None:
        yield cells.nulls
