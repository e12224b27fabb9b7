"""The results of a panel as text tables."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.formats.response import Result

#: Printed rows of a table, and printed series of a table; further series have tables of their own.
_MAX_ROWS, _MAX_COLUMNS = 20, 8


def print_result(console: Console, ref_id: str, result: Result) -> None:
    """Print the error, notices and frames of one refId.

    Frames with the same times share a table. Long tables are truncated with a note.
    """
    console.print(f"[bold]{escape(ref_id)}[/bold]")
    if result.error:
        console.print(f"  [red]error:[/red] {escape(result.error.message)}", soft_wrap=True)
        # An error within an expression has the expression and a caret below the position of the error.
        for line in result.error.details.get("caret", "").splitlines():
            console.print(f"    {escape(line)}", soft_wrap=True)
    for frame in result.frames:
        for severity, message in _notices(frame):
            console.print(f"  [yellow]{escape(severity)}:[/yellow] {escape(message)}", soft_wrap=True)
    for _, frames in groupby(result.frames, key=_table_key):
        for table in _tables(list(frames)):
            console.print(table)
    console.print()


def _notices(frame: Frame) -> Iterator[tuple[str, str]]:
    """Yield severity and text of each valid notice. Data sources may send ``meta`` in any shape."""
    notices = (frame.meta or {}).get("notices")
    for notice in notices if isinstance(notices, list) else ():
        if isinstance(notice, dict):
            yield str(notice.get("severity", "info")), str(notice.get("text", ""))


def _table_key(frame: Frame) -> tuple[str, object]:
    """Return the type of the table that shows a frame, and a value that is equal for frames in the same table.

    All numbers share a table, and so do series with equal times.
    """
    if not frame.fields:
        return "nothing", None
    if len(frame.fields) == 1 and frame.row_count == 1:
        return "numbers", None
    if frame.fields[0].type is FieldType.TIME:
        return "series", frame.fields[0].values.tobytes()
    return "table", id(frame)


def _tables(frames: Sequence[Frame]) -> Iterator[Table | str]:
    """Yield the tables, or a text, for frames that share a table."""
    match _table_key(frames[0])[0]:
        case "nothing":
            yield "  no data"
        case "numbers":
            yield from _number_table([frame.fields[0] for frame in frames])
        case "series":
            time_field = frames[0].fields[0]
            value_fields = [field for frame in frames for field in frame.fields[1:]]
            for start in range(0, len(value_fields), _MAX_COLUMNS):
                yield from _column_table([time_field, *value_fields[start : start + _MAX_COLUMNS]])
        case _:
            yield from _column_table(frames[0].fields)


def _number_table(fields: Sequence[Field]) -> Iterator[Table | str]:
    """Yield a table with a row for each number, and a note if rows are omitted."""
    label_names = sorted({name for field in fields for name in _labels(field)})
    table = _new_table([*label_names, "value"])
    for field in fields[:_MAX_ROWS]:
        table.add_row(*(escape(_labels(field).get(name, "")) for name in label_names), *_cells(field, slice(1)))
    yield table
    yield from _omission_note(len(fields))


def _column_table(fields: Sequence[Field]) -> Iterator[Table | str]:
    """Yield a table with a column for each field, and a note if rows are omitted."""
    table = _new_table([_heading(field) for field in fields])
    cells = [_cells(field, slice(_MAX_ROWS)) for field in fields]
    for row in zip(*cells, strict=True):
        table.add_row(*row)
    yield table
    yield from _omission_note(len(fields[0]))


def _new_table(headings: Sequence[str]) -> Table:
    """Return a table without rows. The last column is aligned to the right, because it usually has numbers."""
    table = Table(box=None, pad_edge=True, padding=(0, 1))
    for heading in headings:
        table.add_column(escape(heading), justify="right" if heading == headings[-1] else "left", overflow="fold")
    return table


def _omission_note(row_count: int) -> Iterator[str]:
    """Yield a note on the rows of a table that are not printed, if there are any."""
    if row_count > _MAX_ROWS:
        yield f" and {row_count - _MAX_ROWS} more; all of them with --format json"


def _heading(field: Field) -> str:
    labels = f"{{{field.labels}}}" if field.labels else ""
    return f"{field.name} {labels}".strip()


def _labels(field: Field) -> dict[str, str]:
    return dict(field.labels.pairs) if field.labels else {}


def _cells(field: Field, rows: slice) -> list[str]:
    """Return the values of a field in some rows as text, which may be printed as Rich markup."""
    values = field.values[rows]
    if field.type is FieldType.TIME:
        strings = [f"{string}Z" for string in np.datetime_as_string(values.astype("datetime64[ns]"), unit=_time_unit(values))]
    elif field.type.is_float:
        strings = [_format_number(float(value)) for value in values]
    else:
        strings = [escape(str(value)) for value in values]
    nulls = np.zeros(len(strings), np.bool_) if field.nulls is None else field.nulls[rows]
    return ["null" if null else string for string, null in zip(strings, nulls, strict=True)]


def _time_unit(times: NDArray[Any]) -> Literal["s", "ms", "ns"]:
    """Return the largest unit that represents these times, given in nanoseconds, exactly."""
    if not np.any(times % 1_000_000_000):
        return "s"
    return "ns" if np.any(times % 1_000_000) else "ms"


def _format_number(value: float) -> str:
    """Return a number with up to 12 digits, or as NaN, Inf or -Inf."""
    return {"nan": "NaN", "inf": "Inf", "-inf": "-Inf"}.get(str(value)) or f"{value:.12g}"
