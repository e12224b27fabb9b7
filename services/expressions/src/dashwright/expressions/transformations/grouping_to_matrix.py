"""A matrix from three columns: the first has the headers of the columns, the second those of the rows, and the third the cells."""

from collections.abc import Mapping
from typing import Any

from dashwright.common.json_shapes import string_of
from dashwright.expressions.javascript.values import is_missing, key_of, text_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import Cells, Column, DataFrame, Frames
from dashwright.expressions.transformations.names import TIME_NAME, VALUE_NAME, bare_display_name
from dashwright.expressions.transformations.special_values import special_value


def grouping_to_matrix(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return a column for each value of ``columnField``, a row for each value of ``rowField``, with ``valueField`` in the cells.

    Several frames, or a frame without these columns, are unchanged.
    """
    column_name, row_name = (string_of(options.get(key)) or TIME_NAME for key in ("columnField", "rowField"))
    value_name = string_of(options.get("valueField")) or VALUE_NAME
    if len(frames) != 1:
        return frames
    headers, rows, cells = (_column(frames[0], name) for name in (column_name, row_name, value_name))
    if headers is None or rows is None or cells is None:
        return frames
    column_values, row_values = _distinct(headers.values), _distinct(rows.values)
    context.check_cells(len(row_values), len(column_values) + 1)
    empty = special_value(options.get("emptyValue"))
    # As in Grafana, cells are stored by text: values that differ only by type, such as 1 and "1", share their cells.
    matrix: dict[tuple[str, str], Any] = {}
    for header, row, value in zip(headers.values, rows.values, cells.values, strict=False):
        matrix[text_of(header), text_of(row)] = value

    def cell(header: Any, row: Any) -> Any:
        value = matrix.get((text_of(header), text_of(row)))
        return empty if is_missing(value) else value

    config = {name: setting for name, setting in cells.config.items() if name != "displayName"}
    columns = [Column(f"{row_name}\\{column_name}", rows.type, row_values, config=rows.config)]
    for header in column_values:
        name = "" if is_missing(header) else text_of(header)
        columns.append(Column(name, cells.type, [cell(header, row) for row in row_values], config=config))
    return [DataFrame(columns, len(row_values))]


def _column(frame: DataFrame, name: str) -> Column | None:
    return next((column for column in frame.columns if bare_display_name(column) == name), None)


def _distinct(values: Cells) -> list[Any]:
    distinct: dict[Any, Any] = {}
    for value in values:
        distinct.setdefault(key_of(value), value)
    return list(distinct.values())
