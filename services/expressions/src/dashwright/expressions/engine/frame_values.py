"""Conversion of a query's frames to Series, Numbers or NoData, the input of expressions.

A frame that declares its type is read by the data plane contract; other frames by their columns. Raises BadRequest if
neither applies.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine import shape
from dashwright.expressions.engine.axis import Axis, Times
from dashwright.expressions.engine.frame import NUMERIC, Field, FieldType, Frame
from dashwright.expressions.engine.labels import NONE, Labels
from dashwright.expressions.engine.shape import FrameLayout
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import Block, Cells, Mask, NoData, Numbers, Positions, Series, Values

#: Types of data sources whose unlabelled series get their name as the label ``__name__``.
NAMED_BY_LABEL = frozenset({"graphite", "grafana-testdata-datasource", "dynatrace-datasource", "influxdb"})

#: Types of data sources whose typed frames without rows count as no data.
EMPTY_IS_NO_DATA = frozenset({"grafana-postgresql-datasource", "postgres"})

_NAME_LABEL = "__name__"
_NOTHING, _MISSING = np.full(1, np.nan), np.ones(1, np.bool_)


class _Item(NamedTuple):
    """A column that becomes a series (with ``times``) or numbers. A NamedTuple, because there may be very many."""

    field: Field
    labels: Labels
    values: NDArray[Any]
    nulls: Mask | None
    times: Times | None = None

    @property
    def rank(self) -> tuple[str, str]:
        return self.field.name, str(self.labels)

    def at(self, labels: Labels, rows: Positions | slice, times: Times | None = None) -> "_Item":
        """Return some rows of the column as an item with its own labels."""
        return _Item(self.field, labels, self.values[rows], None if self.nulls is None else self.nulls[rows], times)


def values_of(frames: Sequence[Frame], source_type: str = "") -> Values:
    """Return the values of a query's frames; ``source_type`` is the type of its data source."""
    if not frames or (source_type in EMPTY_IS_NO_DATA and not any(frame.rows for frame in frames)):
        return NoData()
    if declared := shape.declared_type(frames[0]):
        return _declared(declared, frames)
    if all(shape.is_instant_vector(frame) for frame in frames):
        return _numbers(item for frame in frames for item in _columns(frame))
    frames = [frame for frame in frames if frame.fields]
    if not frames:
        return NoData()
    if len(frames) == 1 and shape.is_number_table(frames[0]):
        return _numbers(_table_rows(frames[0]))
    return _undeclared_series(frames, source_type)


def values_of_table(ref_id: str, table: Table) -> Values:
    """Return the table of the sql expression ``ref_id`` as values; its text columns are labels.

    A table without rows is NoData. Raises BadRequest if it has no numbers, or a null time.
    """
    frame = table.frames[0]
    if not frame.rows:
        return NoData()
    try:
        if shape.layout_of(frame) is FrameLayout.LONG:
            return _declared("timeseries-long", table.frames)
        if shape.time_field(frame) is None and any(item.type.is_numeric for item in frame.fields):
            return _declared("numeric-long", table.frames)
        return values_of(table.frames)
    except BadRequest as error:
        text = f"failed to read the table of sql expression [{ref_id}] as series or numbers: {error.message}"
        raise BadRequest(text, message_id="sse.readDataError") from error


def _declared(declared: str, frames: Sequence[Frame]) -> Values:
    reader = _READERS.get(declared)
    if reader is None:
        raise BadRequest(f"kind {declared} not supported by server side expressions; use one of {', '.join(_READERS)}")
    if not frames[0].fields:
        return NoData()
    # The contract's readers return items sorted by name, then labels.
    items = sorted(reader(frames), key=attrgetter("rank"))
    return _series(items) if declared.startswith("timeseries") else _numbers(items)


def _wide_series(frames: Sequence[Frame]) -> Iterator[_Item]:
    return _timed(frames[:1])


def _multi_series(frames: Sequence[Frame]) -> Iterator[_Item]:
    return _timed(frame for frame in frames if frame.fields)


def _timed(frames: Iterable[Frame]) -> Iterator[_Item]:
    for frame in frames:
        yield from _columns(frame, shape.times_of(frame).values)


def _long_series(frames: Sequence[Frame]) -> Iterator[_Item]:
    frame = frames[0]
    times = shape.times_of(frame).values
    for labels, rows in _row_groups(frame):
        yield from (item.at(labels, rows, times[rows]) for item in _columns(frame))


def _numeric_columns(frames: Sequence[Frame]) -> Iterator[_Item]:
    for frame in frames:
        if frame.rows > 1:
            raise BadRequest(f"expected no more than one row in the frame, but got {frame.rows}; declare it numeric-long or reduce it")
        yield from (item if len(item.field) else item._replace(values=_NOTHING, nulls=_MISSING) for item in _columns(frame))


def _numeric_rows(frames: Sequence[Frame]) -> Iterator[_Item]:
    for labels, rows in _row_groups(frames[0]):
        for item in _columns(frames[0]):
            yield from (item.at(labels, slice(row, row + 1)) for row in rows.tolist())


_READERS: dict[str, Callable[[Sequence[Frame]], Iterator[_Item]]] = {
    "timeseries-wide": _wide_series,
    "timeseries-multi": _multi_series,
    "timeseries-many": _multi_series,
    "timeseries-long": _long_series,
    "numeric-wide": lambda frames: _numeric_columns(frames[:1]),
    "numeric-multi": _numeric_columns,
    "numeric-long": _numeric_rows,
}


def _columns(frame: Frame, times: Times | None = None) -> Iterator[_Item]:
    """Yield the value columns: numbers, and booleans as 1 and 0."""
    for item in frame.fields:
        if item.type in shape.VALUES:
            yield _Item(item, item.labels or NONE, item.values, item.nulls, times)


def _row_groups(frame: Frame) -> Iterator[tuple[Labels, Positions]]:
    """Yield the rows of a long frame grouped by its text columns, in the order of their first row; null counts as empty."""
    text = [item for item in frame.fields if item.type is FieldType.STRING]
    names = [item.name for item in text]
    groups: dict[tuple[str, ...], list[int]] = {}
    rows = zip(*(item.values.tolist() for item in text), strict=True) if text else [()] * frame.rows
    for number, row in enumerate(rows):
        groups.setdefault(tuple(value or "" for value in row), []).append(number)
    for key, numbers in groups.items():
        yield Labels.of(zip(names, key, strict=True)), np.array(numbers, np.intp)


def _table_rows(frame: Frame) -> Iterator[_Item]:
    """Yield one number a row; the row's non-null texts are its labels."""
    text = [item for item in frame.fields if item.type is FieldType.STRING]
    value = next(_columns(frame))
    for row in range(frame.rows):
        labels = Labels.of((item.name, item.values[row]) for item in text if item.values[row] is not None)
        yield value.at(labels, slice(row, row + 1))


def _undeclared_series(frames: Sequence[Frame], source_type: str) -> Values:
    if source_type == "influxdb":
        frames = [frame for frame in frames if shape.layout_of(frame) is not FrameLayout.NOT]
    # Frames with the same types of columns have the same layout, and those of a query are mostly alike.
    for frame in {tuple([item.type for item in frame.fields]): frame for frame in frames}.values():
        layout = shape.layout_of(frame)
        if layout is not FrameLayout.WIDE:
            raise BadRequest(
                f"input data must be a wide series but got type {layout} (input refid); return one time field and numeric fields with "
                "labels, or declare the frame's type and typeVersion in its meta"
            )
    if source_type not in NAMED_BY_LABEL and not any(frame.name for frame in frames):
        return _series(list(_timed(frames)))
    items = [item for frame in frames for item in _named(list(_timed([frame])), frame)]
    if source_type in NAMED_BY_LABEL:
        items = _labelled_by_name(items, [item for frame in frames for item in frame.fields if item.type in NUMERIC])
    return _series(items)


def _named(items: list[_Item], frame: Frame) -> list[_Item]:
    """Return the items; the name of a frame with a single series replaces the name of its value field."""
    if frame.name and len(items) == 1:
        return [items[0]._replace(field=replace(items[0].field, name=frame.name))]
    return items


def _labelled_by_name(items: list[_Item], fields: list[Field]) -> list[_Item]:
    if any(item.labels for item in items):
        return items
    for name_of in (_config("displayNameFromDS"), _config("displayName"), attrgetter("name")):
        names = [name_of(field) for field in fields]
        if all(names) and len(set(names)) == len(names):
            return [item._replace(labels=Labels.of({_NAME_LABEL: name_of(item.field)})) for item in items]
    return items


def _config(key: str) -> Callable[[Field], str]:
    return lambda field: str((field.config or {}).get(key) or "")


def _numbers(items: Iterable[_Item]) -> Numbers:
    items = list(items)
    return Numbers(tuple([item.labels for item in items]), _joined(items) if items else Cells(np.empty(0)), _names(items))


def _series(items: Sequence[_Item]) -> Series:
    """Return the items as series; items with equal times share a block, and the order of the items is kept."""
    axes = _Axes()
    for position, item in enumerate(items):
        assert item.times is not None
        axes.members(item.times).append(position)
    blocks: list[Block] = []
    block_of, row_of = np.empty(len(items), np.intp), np.empty(len(items), np.intp)
    for axis, members in axes.groups:
        block_of[members], row_of[members] = len(blocks), np.arange(len(members))
        cells = _joined([items[position] for position in members])
        size = len(members), len(axis)
        blocks.append(Block(axis, Cells(cells.values.reshape(size), None if cells.nulls is None else cells.nulls.reshape(size))))
    return Series(tuple([item.labels for item in items]), tuple(blocks), block_of, row_of, _names(items))


def _names(items: Sequence[_Item]) -> tuple[str, ...]:
    return tuple([item.field.name for item in items])


class _Axes:
    """The distinct time axes found so far, each with the positions of its items."""

    def __init__(self) -> None:
        self.groups: list[tuple[Axis, list[int]]] = []
        self._latest, self._latest_content = 0, b""
        self._by_array: dict[int, list[int]] = {}
        self._by_content: dict[bytes, int] = {}

    def members(self, times: Times) -> list[int]:
        # Columns of one frame share the array of times: its identity finds the group without comparing any time.
        found = self._by_array.get(id(times))
        if found is None:
            found = self._by_array[id(times)] = self._group(times)
        return found

    def _group(self, times: Times) -> list[int]:
        if not self.groups:
            return self._opened(times)
        if not self._by_content:
            self._latest_content = self.groups[0][0].times.tobytes()
            self._by_content[self._latest_content] = 0
        # Bytes compare faster than arrays. Hashing costs more than one comparison but less than many, so the latest axis is
        # compared first.
        content = times.tobytes()
        if content != self._latest_content:
            self._latest, self._latest_content = self._by_content.setdefault(content, len(self.groups)), content
        return self.groups[self._latest][1] if self._latest < len(self.groups) else self._opened(times)

    def _opened(self, times: Times) -> list[int]:
        self.groups.append((Axis(times), []))
        return self.groups[-1][1]


def _joined(items: Sequence[_Item]) -> Cells:
    """Return the cells of the items, one item after the other."""
    if len(items) == 1 and items[0].values.dtype == np.float64:
        return Cells(items[0].values, items[0].nulls)
    values = np.concatenate([item.values for item in items], dtype=np.float64)
    if all(item.nulls is None for item in items):
        return Cells(values)
    return Cells.of(values, np.concatenate([_mask(item) for item in items]))


def _mask(item: _Item) -> Mask:
    return np.zeros(len(item.values), np.bool_) if item.nulls is None else item.nulls
