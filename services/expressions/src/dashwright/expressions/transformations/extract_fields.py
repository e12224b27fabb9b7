"""Fields that are extracted from the text or documents of another."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from dashwright.common.json_shapes import objects_of, string_of
from dashwright.expressions.javascript.values import UNDEFINED, is_missing
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames, type_of_value
from dashwright.expressions.transformations.extractors import Extractor, extractor_of, value_at
from dashwright.expressions.transformations.names import TIME_NAME, DisplayNames

#: Grafana's text for a path without a value.
_NOT_FOUND: Final = "Not Found"


def extract_fields(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return each frame with the fields that the cells of the column ``source`` contain, in the format ``format``.

    They follow the other columns, or replace them if the option ``replace`` is true.
    """
    return [_extended(frame, options, context) for frame in frames]


def _extended(frame: DataFrame, options: Mapping[str, Any], context: Context) -> DataFrame:
    """Return a frame with the fields that its column ``source`` contains; unchanged without this column."""
    source = _column(frame, options.get("source"))
    if source is None:
        return frame
    extract = extractor_of(options)
    paths = [path for path in objects_of(options.get("jsonPaths")) if path.get("path")] if options.get("format") == "json" else []
    # By name and row, since many rows may have few fields each.
    cells: dict[str, dict[int, Any]] = {}
    for row, value in enumerate(source.values):
        for name, part in _parts(value, extract, paths):
            if name not in cells:
                context.check_cells(frame.row_count, len(cells) + 1)
            cells.setdefault(name, {})[row] = part
        context.step()
    kept_columns: list[Column] = [] if options.get("replace") else list(frame.columns)
    if options.get("keepTime") and (times := _column(frame, TIME_NAME) or _column(frame, TIME_NAME.lower())):
        kept_columns.append(times)
    return frame.with_columns([*kept_columns, *(_new_column(name, parts, frame.row_count) for name, parts in cells.items())])


def _column(frame: DataFrame, name: Any) -> Column | None:
    """Return the first column with a name or display name."""
    names = DisplayNames([frame], are_related=False)
    return next((column for column in frame.columns if name and name in (column.name, names.of(column, frame))), None)


def _parts(value: Any, extract: Extractor, paths: Sequence[Mapping[str, Any]]) -> Iterable[tuple[str, Any]]:
    """Return the names and values that a cell contains."""
    if isinstance(value, str):
        try:
            value = extract(value)
        except ValueError:
            value = {}
    if is_missing(value):
        return ()
    if paths:
        values_by_name = {
            string_of(path.get("alias")) or string_of(path["path"]): value_at(value, string_of(path["path"])) for path in paths
        }
        return [(name, _NOT_FOUND if part is None else part) for name, part in values_by_name.items()]
    if isinstance(value, dict):
        return value.items()
    return [(str(index), part) for index, part in enumerate(value)] if isinstance(value, list | str) else ()


def _new_column(name: str, parts: Mapping[int, Any], row_count: int) -> Column:
    """Return the column with a value at each row in ``parts``, of the type of the first value. Its cells are undefined elsewhere."""
    values: list[Any] = [UNDEFINED] * row_count
    for row, part in parts.items():
        values[row] = part
    first = next((value for value in values if not is_missing(value)), None)
    return Column(name, CellType.OTHER if first is None else type_of_value(first), values)
