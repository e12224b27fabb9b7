"""Conversion of a query's frames to Series, Numbers or NoData, the input of expressions.

A frame that declares its type in ``meta`` is read as Grafana's data plane contract says. Other frames are read by the
types of their columns. Raises BadRequest if the frames are neither series nor numbers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine import frame_layout
from dashwright.expressions.engine.axis import Axis, Times
from dashwright.expressions.engine.frame import NUMERIC, Field, FieldType, Frame
from dashwright.expressions.engine.frame_layout import FrameLayout
from dashwright.expressions.engine.frame_set import FrameSet
from dashwright.expressions.engine.labels import NO_LABELS, Labels, LabelSets
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import Block, Cells, Mask, NoData, Numbers, Positions, Series, Values

#: Types of data sources whose series, if none has labels, get the label ``__name__`` with the name of their field.
NAME_LABEL_SOURCES = frozenset({"graphite", "grafana-testdata-datasource", "dynatrace-datasource", "influxdb"})

#: Types of data sources whose frames count as no data if none has rows.
EMPTY_IS_NO_DATA_SOURCES = frozenset({"grafana-postgresql-datasource", "postgres"})

_NAME_LABEL = "__name__"
#: The type of frames with native histograms, which are neither series nor numbers.
_HEATMAP_CELLS = "heatmap-cells"
#: The values and the null mask of a single null.
_NULL_VALUES, _NULL_MASK = np.full(1, np.nan), np.ones(1, np.bool_)


class _ValueColumn(NamedTuple):
    """The values of a column, or of some of its rows, that become one series or number.

    It is a NamedTuple because there may be very many, and a dataclass takes longer to create.
    """

    field: Field
    labels: Labels
    values: NDArray[Any]
    nulls: Mask | None
    times: Times | None = None  #: The times of a series; None for numbers.

    @property
    def sort_key(self) -> tuple[str, str]:
        return self.field.name, str(self.labels)

    def select(self, labels: Labels, rows: Positions | slice, times: Times | None = None) -> "_ValueColumn":
        """Return some rows of the column, with the labels and times of those rows."""
        nulls = None if self.nulls is None else self.nulls[rows]
        return _ValueColumn(self.field, labels, self.values[rows], nulls, times)


def values_of(frames: Sequence[Frame], source_type: str = "") -> Values:
    """Return the values of a query's frames; ``source_type`` is the type of the query's data source."""
    if isinstance(frames, FrameSet):
        is_empty = not frames.max_row_count if source_type in EMPTY_IS_NO_DATA_SOURCES else not len(frames)
        return NoData() if is_empty else _values_of_set(frames, source_type)
    if not frames or (source_type in EMPTY_IS_NO_DATA_SOURCES and not any(frame.row_count for frame in frames)):
        return NoData()
    without_histograms = [frame for frame in frames if (frame.meta or {}).get("type") != _HEATMAP_CELLS]
    if len(without_histograms) < len(frames):
        return values_of(without_histograms, source_type)
    if declared_type := frame_layout.declared_type(frames[0].meta):
        return _values_of_declared(declared_type, frames)
    if all(frame_layout.is_instant_vector(frame) for frame in frames):
        return _numbers(column for frame in frames for column in _value_columns(frame))
    frames = [frame for frame in frames if frame.fields]
    if not frames:
        return NoData()
    if len(frames) == 1 and frame_layout.is_number_table(frames[0]):
        return _numbers(_number_table_rows(frames[0]))
    return _undeclared_series(frames, source_type)


def values_of_table(ref_id: str, table: Table) -> Values:
    """Return the table of the sql expression ``ref_id`` as values; its string columns are labels.

    A table without rows is NoData. Raises BadRequest if the table has no numbers, or a null time.
    """
    frame = table.frames[0]
    if not frame.row_count:
        return NoData()
    try:
        if frame_layout.layout_of(frame) is FrameLayout.LONG:
            return _values_of_declared("timeseries-long", table.frames)
        if frame.time_field is None and any(field.type.is_numeric for field in frame.fields):
            return _values_of_declared("numeric-long", table.frames)
        return values_of(table.frames)
    except BadRequest as error:
        message = f"failed to read the table of sql expression [{ref_id}] as series or numbers: {error.message}"
        raise BadRequest(message, message_id="sse.readDataError") from error


def _values_of_declared(declared_type: str, frames: Sequence[Frame]) -> Values:
    """Return the values of frames of a type of the data plane contract."""
    reader = _READERS.get(declared_type)
    if reader is None:
        raise BadRequest(f"kind {declared_type} not supported by server side expressions; use one of {', '.join(_READERS)}")
    if not frames[0].fields:
        return NoData()
    # As in Grafana, the items of declared frames are sorted by name, then labels.
    columns = sorted(reader(frames), key=attrgetter("sort_key"))
    return _series(columns) if declared_type.startswith("timeseries") else _numbers(columns)


def _values_of_set(frames: FrameSet, source_type: str) -> Values:
    """Return the values of a set. If its type is declared, its items are sorted by name, then labels."""
    names = frames.names
    if not frame_layout.declared_type(frames.meta):
        return replace(frames.values, labels=_undeclared_labels(frames, source_type), names=tuple(names))
    label_texts = frames.values.labels.texts()
    # Equal names do not affect the order.
    sort_keys = list(zip(names, label_texts, strict=True)) if frames.value_names else label_texts
    order = sorted(range(len(names)), key=sort_keys.__getitem__)
    is_sorted = order == list(range(len(names)))
    values = frames.values if is_sorted else frames.values.at(np.array(order, np.intp))
    return replace(values, names=tuple(names) if is_sorted else tuple([names[index] for index in order]))


def _undeclared_labels(frames: FrameSet, source_type: str) -> LabelSets:
    """Return the labels of series of an undeclared type, as ``_undeclared_series`` does."""
    labels = frames.values.labels
    if source_type not in NAME_LABEL_SOURCES or labels.max_count:
        return labels
    fields = [field for frame in frames for field in frame.fields if field.type in NUMERIC]
    name_of = _unique_name(fields)
    return labels if name_of is None else LabelSets.of_mappings([{_NAME_LABEL: name_of(field)} for field in fields])


def _read_wide_series(frames: Sequence[Frame]) -> Iterator[_ValueColumn]:
    return _columns_with_times(frames[:1])


def _read_multi_series(frames: Sequence[Frame]) -> Iterator[_ValueColumn]:
    return _columns_with_times(frame for frame in frames if frame.fields)


def _columns_with_times(frames: Iterable[Frame]) -> Iterator[_ValueColumn]:
    """Yield the value columns of all frames, each with the times of its frame."""
    for frame in frames:
        yield from _value_columns(frame, frame_layout.times_of(frame).values)


def _read_long_series(frames: Sequence[Frame]) -> Iterator[_ValueColumn]:
    frame = frames[0]
    times = frame_layout.times_of(frame).values
    for labels, rows in _rows_by_labels(frame):
        for column in _value_columns(frame):
            yield column.select(labels, rows, times[rows])


def _read_wide_numbers(frames: Sequence[Frame]) -> Iterator[_ValueColumn]:
    return _read_multi_numbers(frames[:1])


def _read_multi_numbers(frames: Sequence[Frame]) -> Iterator[_ValueColumn]:
    for frame in frames:
        if frame.row_count > 1:
            raise BadRequest(f"expected no more than one row in the frame, but got {frame.row_count}; declare it numeric-long or reduce it")
        for column in _value_columns(frame):
            yield column if len(column.field) else column._replace(values=_NULL_VALUES, nulls=_NULL_MASK)


def _read_long_numbers(frames: Sequence[Frame]) -> Iterator[_ValueColumn]:
    for labels, rows in _rows_by_labels(frames[0]):
        for column in _value_columns(frames[0]):
            for row in rows.tolist():
                yield column.select(labels, slice(row, row + 1))


#: Readers of the types of the data plane contract. Each yields the series or numbers of the frames.
_READERS: dict[str, Callable[[Sequence[Frame]], Iterator[_ValueColumn]]] = {
    "timeseries-wide": _read_wide_series,
    "timeseries-multi": _read_multi_series,
    "timeseries-many": _read_multi_series,  # A former name of ``timeseries-multi``.
    "timeseries-long": _read_long_series,
    "numeric-wide": _read_wide_numbers,
    "numeric-multi": _read_multi_numbers,
    "numeric-long": _read_long_numbers,
}


def _value_columns(frame: Frame, times: Times | None = None) -> Iterator[_ValueColumn]:
    """Yield the columns of numbers and of booleans, which count as 1 and 0."""
    for field in frame.fields:
        if field.type in frame_layout.VALUE_TYPES:
            yield _ValueColumn(field, field.labels or NO_LABELS, field.values, field.nulls, times)


def _rows_by_labels(frame: Frame) -> Iterator[tuple[Labels, Positions]]:
    """Yield each distinct label set of the string columns with the positions of its rows, in the order of the first rows.

    A null string counts as empty.
    """
    string_fields = [field for field in frame.fields if field.type is FieldType.STRING]
    names = [field.name for field in string_fields]
    columns = [field.values.tolist() for field in string_fields]
    rows = zip(*columns, strict=True) if columns else [()] * frame.row_count
    groups: dict[tuple[str, ...], list[int]] = {}
    for position, row in enumerate(rows):
        groups.setdefault(tuple(value or "" for value in row), []).append(position)
    for values, positions in groups.items():
        yield Labels.of(zip(names, values, strict=True)), np.array(positions, np.intp)


def _number_table_rows(frame: Frame) -> Iterator[_ValueColumn]:
    """Yield one number per row; the row's strings that are not null are its labels."""
    string_fields = [field for field in frame.fields if field.type is FieldType.STRING]
    column = next(_value_columns(frame))
    for row in range(frame.row_count):
        labels = Labels.of((field.name, field.values[row]) for field in string_fields if field.values[row] is not None)
        yield column.select(labels, slice(row, row + 1))


def _undeclared_series(frames: Sequence[Frame], source_type: str) -> Values:
    """Return the series of wide frames without a declared type. Raises BadRequest for another layout."""
    # As in Grafana, frames of InfluxDB that are not series are ignored.
    if source_type == "influxdb":
        frames = [frame for frame in frames if frame_layout.layout_of(frame) is not FrameLayout.OTHER]
    _check_is_wide(frames)
    if source_type not in NAME_LABEL_SOURCES and not any(frame.name for frame in frames):
        return _series(list(_columns_with_times(frames)))
    columns = [column for frame in frames for column in _named_by_frame(list(_columns_with_times([frame])), frame)]
    if source_type in NAME_LABEL_SOURCES and not any(column.labels for column in columns):
        columns = _labelled_by_name(columns, [field for frame in frames for field in frame.fields if field.type in NUMERIC])
    return _series(columns)


def _check_is_wide(frames: Sequence[Frame]) -> None:
    """Raise BadRequest if a frame is not wide."""
    # Frames with the same types of columns have the same layout, and most frames of a query have the same types.
    frames_by_types = {tuple([field.type for field in frame.fields]): frame for frame in frames}
    for frame in frames_by_types.values():
        layout = frame_layout.layout_of(frame)
        if layout is not FrameLayout.WIDE:
            raise BadRequest(
                f"input data must be a wide series but got type {layout} (input refid); return one time field and numeric fields with "
                "labels, or declare the frame's type and typeVersion in its meta"
            )


def _named_by_frame(columns: list[_ValueColumn], frame: Frame) -> list[_ValueColumn]:
    """Return the columns; if there is one and its frame has a name, the column gets that name."""
    if frame.name and len(columns) == 1:
        return [columns[0]._replace(field=replace(columns[0].field, name=frame.name))]
    return columns


def _labelled_by_name(columns: list[_ValueColumn], fields: list[Field]) -> list[_ValueColumn]:
    """Return the columns with their unique name as the label ``__name__``. Without unique names, the columns are unchanged."""
    name_of = _unique_name(fields)
    if name_of is None:
        return columns
    return [column._replace(labels=Labels.of({_NAME_LABEL: name_of(column.field)})) for column in columns]


def _unique_name(fields: Sequence[Field]) -> Callable[[Field], str] | None:
    """Return the first function that returns a different name for each field, or None.

    The functions return ``displayNameFromDS``, ``displayName`` and the name of the field.
    """
    for name_of in (_config_member("displayNameFromDS"), _config_member("displayName"), attrgetter("name")):
        names = [name_of(field) for field in fields]
        if all(names) and len(set(names)) == len(names):
            return name_of
    return None


def _config_member(key: str) -> Callable[[Field], str]:
    return lambda field: str((field.config or {}).get(key) or "")


def _numbers(columns: Iterable[_ValueColumn]) -> Numbers:
    """Return columns that have one value each as numbers."""
    columns = list(columns)
    cells = _concatenate(columns) if columns else Cells(np.empty(0))
    return Numbers(LabelSets.of([column.labels for column in columns]), cells, _names(columns))


def _series(columns: Sequence[_ValueColumn]) -> Series:
    """Return the columns as series in the same order. Columns with equal times share a block."""
    columns_by_axis = _ColumnsByAxis()
    for position, column in enumerate(columns):
        assert column.times is not None
        columns_by_axis.positions_of(column.times).append(position)
    blocks: list[Block] = []
    block_of, row_of = np.empty(len(columns), np.intp), np.empty(len(columns), np.intp)
    for axis, positions in columns_by_axis.groups:
        block_of[positions], row_of[positions] = len(blocks), np.arange(len(positions))
        cells = _concatenate([columns[position] for position in positions])
        shape = len(positions), len(axis)
        blocks.append(Block(axis, Cells(cells.values.reshape(shape), None if cells.nulls is None else cells.nulls.reshape(shape))))
    return Series(LabelSets.of([column.labels for column in columns]), tuple(blocks), block_of, row_of, _names(columns))


def _names(columns: Sequence[_ValueColumn]) -> tuple[str, ...]:
    return tuple([column.field.name for column in columns])


class _ColumnsByAxis:
    """Columns grouped by equal times."""

    def __init__(self) -> None:
        self.groups: list[tuple[Axis, list[int]]] = []  #: The distinct axes, each with the positions of its columns.
        # The index of the previous column's group in ``groups``, and the bytes of its times.
        self._latest_index, self._latest_bytes = 0, b""
        self._positions_by_array_id: dict[int, list[int]] = {}
        self._index_by_bytes: dict[bytes, int] = {}

    def positions_of(self, times: Times) -> list[int]:
        """Return the positions of the columns with these times, a list that the caller extends."""
        # Columns of one frame share the array of times: its id finds the group without comparing any time. The id is not
        # reused, because the columns keep the array alive.
        positions = self._positions_by_array_id.get(id(times))
        if positions is None:
            positions = self._positions_by_array_id[id(times)] = self._find_or_add(times)
        return positions

    def _find_or_add(self, times: Times) -> list[int]:
        """Return the positions of the columns with equal times, an empty list if the times are new."""
        if not self.groups:
            return self._add(times)
        if not self._index_by_bytes:
            # Postponed until there are two arrays of times, because most queries have only one.
            self._latest_bytes = self.groups[0][0].times.tobytes()
            self._index_by_bytes[self._latest_bytes] = 0
        # Bytes compare faster than arrays. Hashing costs more than one comparison but less than many, so the latest axis is
        # compared first.
        times_bytes = times.tobytes()
        if times_bytes != self._latest_bytes:
            self._latest_index = self._index_by_bytes.setdefault(times_bytes, len(self.groups))
            self._latest_bytes = times_bytes
        is_new = self._latest_index == len(self.groups)
        return self._add(times) if is_new else self.groups[self._latest_index][1]

    def _add(self, times: Times) -> list[int]:
        positions: list[int] = []
        self.groups.append((Axis(times), positions))
        return positions


def _concatenate(columns: Sequence[_ValueColumn]) -> Cells:
    """Return the cells of all columns, one column after the other."""
    if len(columns) == 1 and columns[0].values.dtype == np.float64:
        return Cells(columns[0].values, columns[0].nulls)
    values = np.concatenate([column.values for column in columns], dtype=np.float64)
    if all(column.nulls is None for column in columns):
        return Cells(values)
    return Cells.with_nulls(values, np.concatenate([_null_mask(column) for column in columns]))


def _null_mask(column: _ValueColumn) -> Mask:
    return np.zeros(len(column.values), np.bool_) if column.nulls is None else column.nulls
