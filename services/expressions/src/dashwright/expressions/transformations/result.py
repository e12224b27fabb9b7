"""Transformation of the results of a panel's queries."""

from collections.abc import Sequence
from dataclasses import replace

from dashwright.common.errors import DashwrightError
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.formats.transformed import TransformationResult
from dashwright.expressions.javascript.values import is_true
from dashwright.expressions.transformations.context import MAX_FRAMES, Context, too_many
from dashwright.expressions.transformations.conversion import FieldCells, from_frame, to_frame, to_typed_frame
from dashwright.expressions.transformations.data import CellType, Column, Frames
from dashwright.expressions.transformations.names import single_label_of
from dashwright.expressions.transformations.pipeline import Step, apply_steps


def transform(results: Sequence[Sequence[Frame]], steps: Sequence[Step], context: Context) -> TransformationResult:
    """Return the frames of all queries after the steps, or the error of a step that failed."""
    unknown = [step.description for step in steps if not step.is_known]
    try:
        return TransformationResult([to_typed_frame(frame) for frame in _transformed(results, steps, context)], unknown=unknown)
    except DashwrightError as error:
        return TransformationResult(error=error, unknown=unknown)


def transformed_for_drawing(results: Sequence[Sequence[Frame]], steps: Sequence[Step], context: Context) -> list[Frame]:
    """Return the frames of all queries after the steps. Raises the error of a step that failed.

    Nested frames are left out, and empty cells of a column of numbers are null.
    """
    frames = _transformed(results, steps, context)
    single_label = single_label_of(frames)
    drawn_columns = [
        [_drawn_column(column, single_label) for column in frame.columns if column.type is not CellType.FRAMES] for frame in frames
    ]
    return [to_frame(frame.with_columns(columns), keeps_trends=True) for frame, columns in zip(frames, drawn_columns, strict=True)]


def _drawn_column(column: Column, single_label: str | None) -> Column:
    """Return the column as pictures draw it: a missing value of the only label becomes empty, and empty text among numbers null."""
    if single_label and column.labels and not is_true(column.labels.get(single_label)):
        # A matrix has labels of any type. As in Grafana, null and 0 are not part of names.
        column = replace(column, labels={**column.labels, single_label: ""})
    if column.type is not CellType.NUMBER or isinstance(column.source, FieldCells):
        return column
    # A matrix has empty texts where it has no value, which must not make the column one of texts.
    return column.with_values([None if cell == "" else cell for cell in column.values])


def _transformed(results: Sequence[Sequence[Frame]], steps: Sequence[Step], context: Context) -> Frames:
    count = sum(map(len, results))
    if count > MAX_FRAMES:
        raise too_many(count, "frames", MAX_FRAMES)
    return apply_steps([from_frame(frame) for result in results for frame in result], steps, context)
