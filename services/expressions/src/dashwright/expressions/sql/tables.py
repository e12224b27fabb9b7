"""Tables of refIds that statements select from.

Series and numbers become *full-long* tables: a row for each point, a text column for each label key. Time series have
the columns ``time``, ``__value__`` and ``__metric_name__``, numbers ``__metric_name__`` and ``__value__``; then
``__display_name__`` if a field has one, then the labels by key. Other frames are tables as they are.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine import shape
from dashwright.expressions.engine.axis import Times
from dashwright.expressions.engine.bounds import check_size
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import NONE, Labels
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import Cells, Mask, NoData, Numbers, Positions, Scalar, Series, Values
from dashwright.expressions.sql.relation import Relation, RelationColumn, distinct

TIME: Final = "time"
VALUE: Final = "__value__"
METRIC: Final = "__metric_name__"
DISPLAY: Final = "__display_name__"

#: Most columns of one table, as in MySQL.
MOST_COLUMNS = 4096

_CODE_BYTES = 4
_NO_VALUES = np.empty(0)
_NO_TEXTS = np.empty(0, np.int8)


class _LongItem(NamedTuple):
    """A series (with ``times``) or numbers that become rows of a full-long table."""

    name: str
    labels: Labels
    display: str | None
    values: NDArray[Any]
    nulls: Mask | None
    times: Times | None = None


def relation_of(ref_id: str, held: Values | Table, limits: Limits) -> Relation:
    """Return the table of ``ref_id``. Raises BadRequest if its frames are not a table, TooLarge if it would be too large."""
    match held:
        case Table():
            check_size(ref_id, held, limits)
            return _of_frames(ref_id, held.frames, limits)
        case NoData():
            return _series_table(ref_id, [], limits)
        case Scalar(cells=cells):
            return _number_table(ref_id, [_of_cells(ref_id, NONE, cells.at(None))], limits)
        case Numbers(labels=labels, cells=cells):
            rows = cells.at((slice(None), None))
            return _number_table(ref_id, [_of_cells(ref_id, item, rows.at(row)) for row, item in enumerate(labels)], limits)
        case Series():
            return _series_table(ref_id, list(_of_series(ref_id, held)), limits)


def _of_cells(name: str, labels: Labels, cells: Cells, times: Times | None = None) -> _LongItem:
    return _LongItem(name, labels, None, cells.values, cells.nulls, times)


def _of_series(ref_id: str, series: Series) -> Iterator[_LongItem]:
    for labels, block, row in zip(series.labels, series.block_of.tolist(), series.row_of.tolist(), strict=True):
        yield _of_cells(ref_id, labels, series.blocks[block].cells.at(row), series.blocks[block].axis.times)


def _of_frames(ref_id: str, frames: Sequence[Frame], limits: Limits) -> Relation:
    declared = str((frames[0].meta or {}).get("type") or "") if frames else ""
    if read := _FULL_LONG.get(declared):
        return read(ref_id, frames, limits)
    filled = [frame for frame in frames if frame.fields]
    if not filled:
        return _series_table(ref_id, [], limits)
    if len(filled) > 1:
        raise _unmapped(declared, "has more than one dataframe that can not be automatically mapped to a single table")
    if any(item.labels for item in filled[0].fields):
        raise _unmapped(declared, "has labels in the response that can not be mapped to a table")
    return _plain(filled[0])


def _unmapped(declared: str, reason: str) -> BadRequest:
    kind = f"has an unsupported data type [{declared}]" if declared else "is missing the data type (frame.meta.type)"
    return BadRequest(f"can not convert because the response {kind} and {reason}; declare one of {', '.join(_FULL_LONG)}")


def _timed(ref_id: str, frames: Sequence[Frame], limits: Limits) -> Relation:
    items = []
    for frame in frames:
        if frame.fields:
            times = shape.times_of(frame).values
            items += [_of_field(item, times) for item in frame.fields if item.type.is_numeric]
    return _series_table(ref_id, items, limits)


def _single(ref_id: str, frames: Sequence[Frame], limits: Limits) -> Relation:
    items = []
    for frame in frames:
        if frame.rows > 1:
            raise BadRequest(f"expected no more than one row in the frame, but got {frame.rows}; declare it numeric-long or reduce it")
        items += [_of_field(item) for item in frame.fields if item.type.is_numeric]
    return _number_table(ref_id, items, limits)


_FULL_LONG: dict[str, Callable[[str, Sequence[Frame], Limits], Relation]] = {
    "timeseries-wide": lambda ref_id, frames, limits: _timed(ref_id, frames[:1], limits),
    "timeseries-multi": _timed,
    "timeseries-many": _timed,
    "numeric-wide": lambda ref_id, frames, limits: _single(ref_id, frames[:1], limits),
    "numeric-multi": _single,
}


def _of_field(item: Field, times: Times | None = None) -> _LongItem:
    display = (item.config or {}).get("displayNameFromDS")
    return _LongItem(item.name, item.labels or NONE, str(display) if display else None, item.values, item.nulls, times)


def _plain(frame: Frame) -> Relation:
    """Return the columns unchanged."""
    wanted = [item.name for item in frame.fields]
    names = distinct(wanted)
    if len(names) > MOST_COLUMNS:
        raise _too_wide(len(names))
    renamed = [
        f"column {number} ({old!r}) is {new} in the table: two columns cannot have one name, in whatever case"
        for number, (old, new) in enumerate(zip(wanted, names, strict=True), 1)
        if old != new
    ]
    columns = tuple([_plain_column(name, item) for name, item in zip(names, frame.fields, strict=True)])
    return Relation(columns, frame.rows, tuple(renamed))


def _plain_column(name: str, item: Field) -> RelationColumn:
    if item.type is not FieldType.ENUM:
        return RelationColumn(name, item.type, item.values, item.nulls)
    kind = (item.config or {}).get("type")
    enum = kind.get("enum") if isinstance(kind, dict) else None
    texts = enum.get("text") if isinstance(enum, dict) else None
    if not isinstance(texts, list) or (len(item) and int(item.values.max()) >= len(texts)):
        raise BadRequest(f"field {name} is an enum without a text for each of its values; give them in config.type.enum.text")
    return RelationColumn(name, FieldType.STRING, item.values.astype(np.int32), item.nulls, [str(text) for text in texts])


def _series_table(ref_id: str, items: list[_LongItem], limits: Limits) -> Relation:
    """Return a row for each point, by time, then metric name."""
    items = sorted(items, key=lambda item: item.name)
    _check_room(ref_id, items, limits)
    times, spread = _in_time_order(items)
    value = _values(items, spread)
    metric = _texts(METRIC, [item.name for item in items], spread)
    labels, notices = _labels(ref_id, items, (TIME, VALUE, METRIC, DISPLAY), spread)
    return Relation((RelationColumn(TIME, FieldType.TIME, times), value, metric, *labels), len(times), notices)


def _number_table(ref_id: str, items: list[_LongItem], limits: Limits) -> Relation:
    """Return a row for each number, in their order."""
    _check_room(ref_id, items, limits)
    spread = _RowLayout([len(item.values) for item in items])
    metric = _texts(METRIC, [item.name for item in items], spread)
    labels, notices = _labels(ref_id, items, (METRIC, VALUE, DISPLAY), spread)
    return Relation((metric, _values(items, spread), *labels), spread.rows, notices)


class _RowLayout:
    """The order of points as rows: item after item, or in ``order``."""

    def __init__(self, lengths: Sequence[int], order: Positions | None = None) -> None:
        self._lengths = lengths
        self._order = order
        self.rows = sum(lengths)

    def points(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the rows of arrays that each item has for its points."""
        joined = np.concatenate(parts)
        return joined if self._order is None else joined[self._order]

    def items(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of values that each item has once."""
        repeated = np.repeat(values, self._lengths)
        return repeated if self._order is None else repeated[self._order]


class _SharedTimes(_RowLayout):
    """Items on the same ascending times: their points alternate, without sorting."""

    def __init__(self, count: int, times: int) -> None:
        super().__init__([times] * count)
        self._times = times

    def points(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return np.stack(parts, axis=1).reshape(-1)

    def items(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.tile(values, self._times)


def _in_time_order(items: Sequence[_LongItem]) -> tuple[Times, _RowLayout]:
    axes = [item.times for item in items if item.times is not None]
    if not axes:
        return np.empty(0, np.int64), _RowLayout([])
    first = axes[0]
    # Bytes compare faster than arrays.
    content = first.tobytes()
    if all(times is first or times.tobytes() == content for times in axes) and bool((np.diff(first) > 0).all()):
        return np.repeat(first, len(axes)), _SharedTimes(len(axes), len(first))
    joined = np.concatenate(axes)
    order = np.argsort(joined, kind="stable")
    return joined[order], _RowLayout(list(map(len, axes)), order)


def _values(items: Sequence[_LongItem], spread: _RowLayout) -> RelationColumn:
    if not items:
        return RelationColumn(VALUE, FieldType.FLOAT64, _NO_VALUES)
    values = spread.points([item.values.astype(np.float64, copy=False) for item in items])
    if all(item.nulls is None for item in items):
        return RelationColumn(VALUE, FieldType.FLOAT64, values)
    nulls = [np.zeros(len(item.values), np.bool_) if item.nulls is None else item.nulls for item in items]
    return RelationColumn(VALUE, FieldType.FLOAT64, values, spread.points(nulls))


def _labels(
    ref_id: str, items: Sequence[_LongItem], taken: Sequence[str], spread: _RowLayout
) -> tuple[list[RelationColumn], tuple[str, ...]]:
    """Return the columns of display names and labels, and notices about renamed ones."""
    columns = []
    if any(item.display is not None for item in items):
        columns.append(_texts(DISPLAY, [item.display for item in items], spread))
    keys = sorted({key for item in items for key in item.labels.keys})
    if len(keys) + len(taken) > MOST_COLUMNS:
        raise _too_wide(len(keys) + len(taken))
    names = distinct(keys, taken)
    sets = [dict(item.labels.pairs) for item in items]
    columns += [_texts(name, [labels.get(key) for labels in sets], spread) for key, name in zip(keys, names, strict=True)]
    renamed = [(key, name) for key, name in zip(keys, names, strict=True) if key != name]
    return columns, tuple(
        [f"label {key} of {ref_id} is column {name} in the table, because there is a column {key}" for key, name in renamed]
    )


def _texts(name: str, texts: Sequence[str | None], spread: _RowLayout) -> RelationColumn:
    """Return a column of text, one text for each item; None is null."""
    known = {text: number for number, text in enumerate(dict.fromkeys(text for text in texts if text is not None))}
    codes = np.array([0 if text is None else known[text] for text in texts], _code_type(len(known)))
    missing = np.array([text is None for text in texts], np.bool_)
    nulls = spread.items(missing) if missing.any() else None
    return RelationColumn(name, FieldType.STRING, spread.items(codes) if len(texts) else _NO_TEXTS, nulls, list(known) or [""])


def _code_type(count: int) -> type[np.signedinteger[Any]]:
    if count <= 1 << 7:
        return np.int8
    return np.int16 if count <= 1 << 15 else np.int32


def _check_room(ref_id: str, items: Iterable[_LongItem], limits: Limits) -> None:
    """Raise TooLarge before anything is built: labels multiply, because each key is a column."""
    items = list(items)
    rows = sum(len(item.values) for item in items)
    keys = {key for item in items for key in item.labels.keys}
    size = rows * (16 + _CODE_BYTES * (1 + len(keys)))
    if size > limits.sql_bytes:
        found = f"the table of {ref_id} takes {size} bytes: {rows} rows with {len(keys)} labels"
        raise limits.refusal("sql_bytes", found, "ask for a shorter time range or fewer labels")


def _too_wide(count: int) -> BadRequest:
    return BadRequest(f"the table has {count} columns, more than the {MOST_COLUMNS} that a table may have; let the query drop some")
