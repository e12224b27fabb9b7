"""Transformation of the results of a panel's queries."""

from collections.abc import Sequence

from dashwright.common.errors import DashwrightError
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.formats.transformed import TransformationResult
from dashwright.expressions.transformations.context import MAX_FRAMES, Context, too_many
from dashwright.expressions.transformations.conversion import FieldCells, from_frame, to_frame, to_typed_frame
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames
from dashwright.expressions.transformations.names import DisplayNames
from dashwright.expressions.transformations.pipeline import Step, apply_steps


def transform(results: Sequence[Sequence[Frame]], steps: Sequence[Step], context: Context) -> TransformationResult:
    """Return the frames of all queries after the steps, or the error of a step that failed."""
    unknown = [step.description for step in steps if not step.is_known]
    try:
        return TransformationResult([to_typed_frame(frame) for frame in _transformed(results, steps, context)], unknown=unknown)
    except DashwrightError as error:
        return TransformationResult(error=error, unknown=unknown)


def transformed_for_drawing(results: Sequence[Sequence[Frame]], steps: Sequence[Step], context: Context) -> list[Frame]:
    """Return the frames of all queries after the steps. The configuration of a column has its display name if it differs.

    Nested frames are left out, and empty cells of a column of numbers are null. Raises the error of a step that failed.
    """
    frames = _transformed(results, steps, context)
    names = DisplayNames(frames)

    def prepared(column: Column, frame: DataFrame) -> Column:
        name = names.of(column, frame)
        if column.type is CellType.NUMBER and not isinstance(column.source, FieldCells):
            # A matrix has empty texts where it has no value, which must not make the column one of texts.
            column = column.with_values([None if cell == "" else cell for cell in column.values])
        return column if name == column.name else column.named(name)

    drawn = [frame.with_columns([column for column in frame.columns if column.type is not CellType.FRAMES]) for frame in frames]
    return [to_frame(frame.with_columns([prepared(column, frame) for column in frame.columns]), keeps_trends=True) for frame in drawn]


def _transformed(results: Sequence[Sequence[Frame]], steps: Sequence[Step], context: Context) -> Frames:
    count = sum(map(len, results))
    if count > MAX_FRAMES:
        raise too_many(count, "frames", MAX_FRAMES)
    return apply_steps([from_frame(frame) for result in results for frame in result], steps, context)
