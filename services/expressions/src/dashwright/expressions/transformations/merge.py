"""Merge of frames into one table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dashwright.expressions.javascript.comparisons import are_identical
from dashwright.expressions.javascript.values import UNDEFINED, leading_number, text_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames, guessed_type, joined_ref_id

#: The cells of a row by the names of their columns.
_Row = dict[str, Any]


def merge(frames: Frames, _options: Mapping[str, Any], context: Context) -> Frames:
    """Return one frame with the columns of all frames.

    Two rows become one if they agree in all columns that they both have. Only rows with equal values in the columns
    that every frame has are compared. Without such columns, the frames are unchanged.
    """
    if len(frames) < 2:
        return frames
    filled = [frame for frame in frames if frame.columns]
    if not filled:
        return [frames[0]]
    columns: dict[str, Column] = {}
    for column in (column for frame in filled for column in frame.columns):
        columns.setdefault(column.name, column)
    names_by_frame = [{column.name for column in frame.columns} for frame in filled]
    key_names = [column.name for column in filled[-1].columns if all(column.name in names for names in names_by_frame)]
    if not key_names:
        return frames
    context.check_cells(sum(frame.row_count for frame in filled), len(columns))
    rows = _merged_rows(filled, list(dict.fromkeys(key_names)), context)
    merged = [
        appended(_without_display_name(column, index), [row.get(column.name, UNDEFINED) for row in rows])
        for index, column in enumerate(columns.values())
    ]
    return [DataFrame(merged, len(rows), ref_id=joined_ref_id("merge", filled))]


def _merged_rows(frames: Sequence[DataFrame], key_names: Sequence[str], context: Context) -> list[_Row]:
    """Return the rows of all frames. A row is merged into every earlier row with the same key that it does not contradict."""
    rows_by_key: dict[str, list[int]] = {}
    rows: list[_Row] = []
    for frame in frames:
        # Of several columns with one name the last one counts.
        values_by_name = {column.name: column.values for column in frame.columns}
        for index in range(frame.row_count):
            row = {name: values[index] for name, values in values_by_name.items()}
            # The key has no separators, as in Grafana.
            key = "".join(text_of(row[name]) for name in key_names)
            positions = rows_by_key.setdefault(key, [])
            context.step(1 + len(positions))
            matching = [position for position in positions if _can_merge(rows[position], row)]
            for position in matching:
                rows[position] |= row
            if not matching:
                positions.append(len(rows))
                rows.append(row)
    return rows


def _can_merge(existing: _Row, row: _Row) -> bool:
    """Return whether a row has equal values in all columns in which the existing row has a value."""
    return all(
        (existing_value := existing.get(name, UNDEFINED)) is UNDEFINED or existing_value is None or are_identical(existing_value, value)
        for name, value in row.items()
    )


def _without_display_name(column: Column, index: int) -> Column:
    """Return the column for a merged frame: without cells, labels and display name, named by its position if it has no name."""
    config = {key: value for key, value in column.config.items() if key != "displayName"}
    return Column(column.name or f"Field {index + 1}", column.type, (), config=config)


def appended(column: Column, values: Sequence[Any]) -> Column:
    """Return the column with values. Text becomes a number or boolean in a column of such a type, as Grafana reads rows."""
    if column.type is CellType.NUMBER:
        values = [leading_number(value) if isinstance(value, str) else value for value in values]
    elif column.type is CellType.BOOLEAN:
        values = [value[:1] not in ("F", "f", "0") if isinstance(value, str) else value for value in values]
    type_ = column.type if column.type is not CellType.OTHER else guessed_type(column.name, ()) or CellType.OTHER
    return replace(column, source=list(values), type=type_)
