"""Partition of a frame into frames with equal values in some columns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from dashwright.common.json_shapes import list_of, object_of
from dashwright.expressions.javascript.values import is_missing, key_of, text_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import Column, DataFrame, Frames
from dashwright.expressions.transformations.matchers.fields import MatchedColumn, named
from dashwright.expressions.transformations.names import DisplayNames

#: Grafana's defaults of the option ``naming``.
_NAMING: Final = {"asLabels": True, "append": False, "withNames": False, "separator1": "=", "separator2": " "}


def partition_by_values(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return a frame for each combination of values of the columns ``fields`` of the first frame.

    The values become labels of all columns, or part of the name of the frame. Further frames are dropped, as in Grafana.
    """
    chosen = [name for name in list_of(options.get("fields")) if isinstance(name, str)]
    if not chosen or not frames:
        return frames
    renamed = [_named_by_display_name(column) for column in frames[0].columns]
    old_names = {new.name: old.name for new, old in zip(renamed, frames[0].columns, strict=True) if new is not old}
    partitions = _partitions(frames[0].with_columns(renamed), chosen, options, context)
    names = DisplayNames(partitions)
    # Before columns get their old names back, because the display names are composed of the names of ``renamed``.
    names.remember()

    def restored(column: Column, frame: DataFrame) -> Column:
        if column.name not in old_names:
            return column
        return replace(column.with_config(displayName=names.of(column, frame)), name=old_names[column.name])

    return [frame.with_columns([restored(column, frame) for column in frame.columns]) for frame in partitions]


def _named_by_display_name(column: Column) -> Column:
    """Return the column with its configured display name as its name, because names of partitions are computed from names."""
    configured = column.config.get("displayNameFromDS")
    name = column.config.get("displayName") if configured is None else configured
    if not isinstance(name, str) or not name:
        return column
    return replace(column.with_config(displayName=None, displayNameFromDS=None), name=name, known_name=None)


def _partitions(frame: DataFrame, chosen: Sequence[str], options: Mapping[str, Any], context: Context) -> list[DataFrame]:
    """Return a frame for each combination of values in the columns with the names ``chosen``."""
    names, matches = DisplayNames([frame]), named(*chosen)
    keys = [column for column in frame.columns if matches(MatchedColumn(column, frame, names))]
    if not keys:
        return [frame]
    key_names = [column.name for column in keys]
    kept_columns = frame.with_columns([column for column in frame.columns if options.get("keepFields") or column.name not in key_names])
    naming = {**_NAMING, **object_of(options.get("naming"))}
    groups: dict[tuple[Any, ...], list[int]] = {}
    for row in range(frame.row_count):
        groups.setdefault(tuple(key_of(column.values[row]) for column in keys), []).append(row)
    context.check_cells(len(groups), len(kept_columns.columns))
    result = []
    for rows in groups.values():
        values = [column.values[rows[0]] for column in keys]
        labels = dict(zip(key_names, map(text_of, values), strict=True)) if naming["asLabels"] else {}
        name = frame.name if naming["asLabels"] else _frame_name(frame.name, key_names, values, naming)
        partition = replace(kept_columns.with_rows(rows), name=name, ref_id="")
        columns = [
            Column(column.name, column.type, column.values, {**(column.labels or {}), **labels}, column.config)
            for column in partition.columns
        ]
        result.append(partition.with_columns(columns))
        context.step(len(rows))
    context.check(result)
    return result


def _frame_name(name: str, key_names: Sequence[str], values: Sequence[Any], naming: Mapping[str, Any]) -> str:
    texts = ["" if is_missing(value) and not naming["withNames"] else text_of(value) for value in values]
    if naming["withNames"]:
        texts = [f"{key}{naming['separator1']}{text}" for key, text in zip(key_names, texts, strict=True)]
    joined_texts = text_of(naming["separator2"]).join(texts)
    return f"{name} {joined_texts}" if naming["append"] and name else joined_texts
