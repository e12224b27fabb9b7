"""Join of series by their labels."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from dashwright.common.json_shapes import list_of, string_of
from dashwright.expressions.javascript.values import UNDEFINED, is_missing, text_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames, joined_ref_id


def join_by_labels(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return a column for each value of the label ``value``, and a row for each combination of the labels ``join``.

    The result is a frame with an error if there are no such labels.
    """
    if not frames:
        return frames
    label = string_of(options.get("value"))
    columns = [column for frame in frames for column in frame.columns if column.labels and column.type is not CellType.TIME]
    label_names = dict.fromkeys(key for column in columns for key in column.labels or ())
    if not label:
        return [_error("No value label configured")]
    if not label_names:
        return [_error("No labels in result")]
    if label not in label_names:
        return [_error("Value label not found")]
    keys = [key for key in list_of(options.get("join")) or label_names if isinstance(key, str) and key != label]
    originals: dict[str, Column] = {}
    # For each combination of the labels ``join``: the cells of these labels, and the values by the value of the label ``value``.
    groups: dict[str, tuple[list[Any], dict[str, list[Any]]]] = {}
    for column in columns:
        labels = column.labels or {}
        cells = [labels.get(key, UNDEFINED) for key in keys]
        key = ",".join("" if is_missing(cell) else text_of(cell) for cell in cells)
        _, values_by_name = groups.setdefault(key, (cells, {}))
        name = text_of(labels.get(label, UNDEFINED))
        originals.setdefault(name, column)
        values_by_name.setdefault(name, []).extend(column.values)
    row_count = sum(max([1, *map(len, values.values())]) for _, values in groups.values())
    context.check_cells(row_count, len(keys) + len(originals))
    # A combination of labels whose columns have no values has one row.
    rows = [
        (*cells, *values)
        for cells, series in groups.values()
        for values in list(zip_longest(*(series.get(name, ()) for name in originals), fillvalue=UNDEFINED))
        or [(UNDEFINED,) * len(originals)]
    ]
    transposed = [list(values) for values in zip(*rows, strict=True)]
    structure = [(key, CellType.STRING) for key in keys] + [(name, column.type) for name, column in originals.items()]
    joined = [Column(name, type_, values) for (name, type_), values in zip(structure, transposed, strict=True)]
    return [DataFrame(joined, len(rows), ref_id=joined_ref_id("joinByLabels", frames))]


def _error(text: str) -> DataFrame:
    """Return the frame with an error that Grafana returns."""
    return DataFrame([Column("Error", CellType.STRING, [text])], 1, meta={"notices": [{"severity": "error", "text": text}]})
