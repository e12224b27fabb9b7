"""Frames of transformations, written and read by tests as tables."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames, type_of_value
from dashwright.expressions.transformations.names import DisplayNames
from dashwright.expressions.transformations.pipeline import apply_steps, read_steps


def column(name: str, values: Sequence[Any], config: dict[str, Any] | None = None, **labels: str) -> Column:
    """Return a column. Its type is time if its name is ``time``, otherwise the type of the first value that is not null."""
    first = next((value for value in values if value is not None), 0)
    type_ = CellType.TIME if name.lower() == "time" else type_of_value(first)
    return Column(name, type_, list(values), labels or None, config or {})


def frame(ref_id: str, *columns: Column, name: str = "", **values: Any) -> DataFrame:
    """Return a frame with the columns, and a further column for each keyword."""
    return replace(DataFrame.of([*columns, *(column(key, cells) for key, cells in values.items())], ref_id), name=name)


def apply_all(frames: Frames, *steps: dict[str, Any], limits: Limits | None = None) -> Frames:
    """Return the frames after transformations. Display names that the frames remember from other tests are not used."""
    frames_without_names = [item.with_columns([replace(column, known_name=None) for column in item.columns]) for item in frames]
    return apply_steps(frames_without_names, read_steps(list(steps)), Context(limits or Limits()))


def transform(frames: Frames, name: str, **options: Any) -> list[dict[str, Any]]:
    """Return the cells by display name of each frame after one transformation."""
    return cells(apply_all(frames, {"id": name, "options": options}))


def cells(frames: Frames) -> list[dict[str, Any]]:
    """Return the cells by display name of each frame."""
    names = DisplayNames(frames)
    return [dict(zip(names.of_frame(item), (list(column.values) for column in item.columns), strict=True)) for item in frames]
