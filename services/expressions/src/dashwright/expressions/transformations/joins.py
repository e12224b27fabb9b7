"""Joins of the values of several frames by the values of a key column."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from dashwright.expressions.javascript.comparisons import difference
from dashwright.expressions.javascript.sorting import sorted_by
from dashwright.expressions.javascript.values import UNDEFINED, is_missing, key_of, text_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import Cells, CellType, Column, DataFrame, Frames
from dashwright.expressions.transformations.matchers.fields import FieldMatcher, MatchedColumn, field_matcher
from dashwright.expressions.transformations.names import VALUE_NAME, DisplayNames
from dashwright.expressions.transformations.sort_by import sorted_frame

#: The number of keys that are compared to see whether a frame is already sorted.
_SAMPLES: Final = 50

#: The largest index of a JavaScript array.
_MAX_ARRAY_INDEX: Final = 2**32 - 2


class JoinNulls(Enum):
    """The treatment of nulls in an outer join."""

    REMOVE = "remove"  #: A null becomes undefined, so that lines connect its neighbours.
    RETAIN = "retain"
    EXPAND = "expand"  #: A null makes the undefined values next to it null as well, so that lines have a gap.


@dataclass(frozen=True, slots=True)
class JoinTable:
    """The columns of one frame that a join reads."""

    key: Column
    columns: Sequence[Column]


#: Returns the columns of joined tables: the key, then the columns of each table.
Joiner = Callable[[Sequence[JoinTable], Context], Sequence[Cells]]


def join_frames(frames: Frames, context: Context, key: FieldMatcher | None, join: Joiner | None = None) -> DataFrame | None:
    """Return the frames joined by the first column of each that ``key`` matches, by default with an outer join.

    Frames without a key are left out. A single frame is only sorted by its key. Without frames, the result is ``None``.
    """
    if not frames:
        return None
    names = DisplayNames(frames)
    matches = key or _default_key(frames[0])
    if len(frames) == 1:
        return _sorted_by_key(frames[0], names, matches)
    tables = [table for frame in frames if (table := _table(frame, names, matches))]
    if not tables:
        return DataFrame()
    columns = (join or outer_join)(tables, context)
    originals = [tables[0].key, *(column for table in tables for column in table.columns)]
    joined_columns = [column.with_values(values) for column, values in zip(originals, columns, strict=False)]
    return DataFrame(joined_columns, len(columns[0]))


def _default_key(frame: DataFrame) -> FieldMatcher:
    """Return the matcher of the first time column. If the first frame has no times, no column is a key, as in Grafana."""
    return field_matcher({"id": "firstTimeField" if frame.time_column else "neverMatch"})


def _sorted_by_key(frame: DataFrame, names: DisplayNames, matches: FieldMatcher) -> DataFrame:
    """Return the frame sorted by its key, unless it has none, or a key of text, or seems to be sorted."""
    key = next((column for column in frame.columns if matches(MatchedColumn(column, frame, names))), None)
    if key is None or key.type is CellType.STRING or _seems_ascending(key.values):
        return frame
    return sorted_frame(frame, key)


def _table(frame: DataFrame, names: DisplayNames, matches: FieldMatcher) -> JoinTable | None:
    """Return the first column that matches as the key, with the other columns; None without a key."""
    key: Column | None = None
    columns = []
    for column in frame.columns:
        if key is None and matches(MatchedColumn(column, frame, names)):
            key = column
        else:
            columns.append(_joined_column(column, frame))
    return None if key is None else JoinTable(key, columns)


def _joined_column(column: Column, frame: DataFrame) -> Column:
    """Return the column with the name of its frame, as its own name or as a label."""
    if column.known_name:
        # As in Grafana, the original column loses its computed name too.
        column.known_name.name = ""
    labels: Mapping[str, Any] = column.labels or {}
    name = column.name
    if frame.name and name == VALUE_NAME:
        name = frame.name
    elif frame.name and is_missing(labels.get("name")):
        labels = {**labels, "name": frame.name}
    return replace(column, name=name, labels=labels)


def null_mode_of(column: Column) -> JoinNulls:
    """Return the treatment of nulls that the setting ``spanNulls`` of a column demands."""
    custom = column.config.get("custom")
    spans = custom.get("spanNulls") if isinstance(custom, dict) else None
    if spans is True:
        return JoinNulls.REMOVE
    # Grafana's setting -1 keeps nulls without an effect on their neighbours.
    return JoinNulls.RETAIN if spans == -1 else JoinNulls.EXPAND


def outer_join(tables: Sequence[JoinTable], context: Context) -> Sequence[Cells]:
    """Return one row for each value of the key, sorted. Of several rows with one key the last value of a column counts."""
    keys: dict[Any, Any] = {}
    for table in tables:
        for value in table.key.values:
            keys.setdefault(key_of(value), value)
    ordered = sorted_by(keys.values(), difference)
    context.check_cells(len(ordered), 1 + sum(len(table.columns) for table in tables))
    row_of = {key_of(value): row for row, value in enumerate(ordered)}
    result: list[Cells] = [ordered]
    for table in tables:
        rows = [row_of[key_of(value)] for value in table.key.values]
        result += [_aligned(column, rows, len(ordered)) for column in table.columns]
    return result


def _aligned(column: Column, rows: Sequence[int], count: int) -> Cells:
    """Return the values of a column at their rows in a join; other rows are undefined."""
    mode = null_mode_of(column)
    aligned: list[Any] = [UNDEFINED] * count
    null_rows = []
    for row, value in zip(rows, column.values, strict=False):
        if value is None:
            if mode is JoinNulls.REMOVE:
                continue
            null_rows.append(row)
        aligned[row] = value
    if mode is JoinNulls.EXPAND:
        _expand_nulls(aligned, null_rows)
    return aligned


def _expand_nulls(values: list[Any], null_rows: Sequence[int]) -> None:
    """Make the undefined values null that are adjacent to the nulls at ``null_rows``, in place."""
    # The last row that has become null: nulls before it are expanded already.
    last = -1
    for null_row in null_rows:
        if null_row > last:
            row = null_row - 1
            while row >= 0 and is_missing(values[row]):
                values[row] = None
                row -= 1
            row = null_row + 1
            while row < len(values) and is_missing(values[row]):
                values[row] = None
                last = row
                row += 1


def inner_join(tables: Sequence[JoinTable], context: Context) -> Sequence[Cells]:
    """Return a row for each combination of rows with the same key, in the order of the first table."""
    return _tabular_join(tables, context, is_outer=False)


def outer_tabular_join(tables: Sequence[JoinTable], context: Context) -> Sequence[Cells]:
    """Return the rows of an inner join, followed by the rows of either side that have no partner."""
    return _tabular_join(tables, context, is_outer=True)


def _tabular_join(tables: Sequence[JoinTable], context: Context, *, is_outer: bool) -> Sequence[Cells]:
    """Return the join of all tables: each table is joined with the result of the join of those before it."""
    left: Sequence[Cells] = [table_column.values for table_column in (tables[0].key, *tables[0].columns)]
    for table in tables[1:]:
        right = [column.values for column in (table.key, *table.columns)]
        pairs = _pairs(left[0], right[0], context, len(left) + len(right) - 1, is_outer=is_outer)
        # A pair has at least one row.
        keys = [left[0][first] if first is not None else right[0][second or 0] for first, second in pairs]
        left_cells = [[None if first is None else values[first] for first, _ in pairs] for values in left[1:]]
        right_cells = [[None if second is None else values[second] for _, second in pairs] for values in right[1:]]
        left = [keys, *left_cells, *right_cells]
    return left


def _pairs(left: Cells, right: Cells, context: Context, columns: int, *, is_outer: bool) -> list[tuple[int | None, int | None]]:
    """Return the pairs of rows of a join; None for a missing partner."""
    rows_by_key: dict[str, list[int]] = {}
    for row, value in enumerate(right):
        rows_by_key.setdefault(text_of(value), []).append(row)
    matched = [(row, [] if is_missing(value) else rows_by_key.get(text_of(value), [])) for row, value in enumerate(left)]
    context.check_cells(sum(len(partners) for _, partners in matched) + (len(left) + len(right) if is_outer else 0), columns)
    pairs: list[tuple[int | None, int | None]] = [(row, partner) for row, partners in matched for partner in partners]
    if is_outer:
        # As in Grafana, only text is recognized as a key with a partner, so that rows with other keys occur once more.
        matched_keys = {value for value, (_, partners) in zip(left, matched, strict=True) if isinstance(value, str) and partners}
        pairs += [(row, None) for row, partners in matched if not partners]
        pairs += [(None, row) for key in _as_object_keys(rows_by_key) if key not in matched_keys for row in rows_by_key[key]]
    return pairs


def _as_object_keys(keys: Mapping[str, Any]) -> list[str]:
    """Return the keys in the order of the members of an object: integers ascending, then text in the order of insertion."""
    # JavaScript treats a key as an integer if it can be the index of an array. The length limits the cost of int().
    integers = [
        key for key in keys if key.isdecimal() and key.isascii() and len(key) < 11 and str(int(key)) == key and int(key) <= _MAX_ARRAY_INDEX
    ]
    integer_keys = set(integers)
    return [*sorted(integers, key=int), *(key for key in keys if key not in integer_keys)]


def _seems_ascending(values: Cells) -> bool:
    """Return whether a sample of the values increases strictly."""
    present_indexes = [index for index, value in enumerate(values) if not is_missing(value)]
    if len(present_indexes) < 2:
        return True
    first, last = present_indexes[0], present_indexes[-1]
    stride = max(1, (last - first + 1) // _SAMPLES)
    previous = values[first]
    for index in range(first + stride, last + 1, stride):
        value = values[index]
        if is_missing(value):
            continue
        if not difference(value, previous) > 0:
            return False
        previous = value
    return True
