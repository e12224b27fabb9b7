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

_MOST_ROWS, _MOST_COLUMNS = 20, 8


def show(console: Console, ref_id: str, result: Result) -> None:
    """Print the error, notices and frames of one refId.

    Frames with the same times share a table. Long tables are cut with a note.
    """
    console.print(f"[bold]{escape(ref_id)}[/bold]")
    if result.error:
        console.print(f"  [red]error:[/red] {escape(result.error.message)}", soft_wrap=True)
        for line in result.error.details.get("caret", "").splitlines():
            console.print(f"    {escape(line)}", soft_wrap=True)
    for frame in result.frames:
        for severity, text in _notices(frame):
            console.print(f"  [yellow]{escape(severity)}:[/yellow] {escape(text)}", soft_wrap=True)
    for _, frames in groupby(result.frames, key=_kind):
        for table in _tables(list(frames)):
            console.print(table)
    console.print()


def _notices(frame: Frame) -> Iterator[tuple[str, str]]:
    """Yield severity and text of each notice. The meta object of a data source may have any shape."""
    notices = (frame.meta or {}).get("notices")
    for notice in notices if isinstance(notices, list) else ():
        if isinstance(notice, dict):
            yield str(notice.get("severity", "info")), str(notice.get("text", ""))


def _kind(frame: Frame) -> tuple[str, object]:
    """Return the key by which frames share a table: numbers, or equal times. Other frames have tables of their own."""
    if not frame.fields:
        return "nothing", None
    if len(frame.fields) == 1 and frame.rows == 1:
        return "numbers", None
    if frame.fields[0].type is FieldType.TIME:
        return "series", frame.fields[0].values.tobytes()
    return "table", id(frame)


def _tables(frames: Sequence[Frame]) -> Iterator[Table | str]:
    match _kind(frames[0])[0]:
        case "nothing":
            yield "  no data"
        case "numbers":
            yield from _numbers([frame.fields[0] for frame in frames])
        case "series":
            values = [field for frame in frames for field in frame.fields[1:]]
            for start in range(0, len(values), _MOST_COLUMNS):
                yield from _columns([frames[0].fields[0], *values[start : start + _MOST_COLUMNS]])
        case _:
            yield from _columns(frames[0].fields)


def _numbers(fields: Sequence[Field]) -> Iterator[Table | str]:
    keys = sorted({key for field in fields for key in _labels(field)})
    table = _table([*keys, "value"])
    for field in fields[:_MOST_ROWS]:
        table.add_row(*(escape(_labels(field).get(key, "")) for key in keys), *_cells(field, slice(1)))
    yield table
    yield from _cut(len(fields))


def _columns(fields: Sequence[Field]) -> Iterator[Table | str]:
    table = _table([_heading(field) for field in fields])
    cells = [_cells(field, slice(_MOST_ROWS)) for field in fields]
    for row in zip(*cells, strict=True):
        table.add_row(*row)
    yield table
    yield from _cut(len(fields[0]))


def _table(heads: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=True, padding=(0, 1))
    for head in heads:
        table.add_column(escape(head), justify="right" if head == heads[-1] else "left", overflow="fold")
    return table


def _cut(rows: int) -> Iterator[str]:
    if rows > _MOST_ROWS:
        yield f" and {rows - _MOST_ROWS} more; all of them with --format json"


def _heading(field: Field) -> str:
    labels = f"{{{field.labels}}}" if field.labels else ""
    return f"{field.name} {labels}".strip()


def _labels(field: Field) -> dict[str, str]:
    return dict(field.labels.pairs) if field.labels else {}


def _cells(field: Field, rows: slice) -> list[str]:
    values = field.values[rows]
    if field.type is FieldType.TIME:
        texts = [f"{text}Z" for text in np.datetime_as_string(values.astype("datetime64[ns]"), unit=_unit(values))]
    elif field.type.is_float:
        texts = [_number(float(value)) for value in values]
    else:
        texts = [escape(str(value)) for value in values]
    nulls = np.zeros(len(texts), np.bool_) if field.nulls is None else field.nulls[rows]
    return ["null" if null else text for text, null in zip(texts, nulls, strict=True)]


def _unit(times: NDArray[Any]) -> Literal["s", "ms", "ns"]:
    """Return the coarsest unit that represents these nanosecond times exactly."""
    if not np.any(times % 1_000_000_000):
        return "s"
    return "ns" if np.any(times % 1_000_000) else "ms"


def _number(value: float) -> str:
    return {"nan": "NaN", "inf": "Inf", "-inf": "-Inf"}.get(str(value)) or f"{value:.12g}"
