"""Transformation of the results of a panel's queries."""

from collections.abc import Iterable, Sequence

from dashwright.common.errors import DashwrightError
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.formats.transformed import Transformed
from dashwright.expressions.transformations.context import MAX_FRAMES, Context, too_many
from dashwright.expressions.transformations.conversion import from_frame, to_typed_frame
from dashwright.expressions.transformations.pipeline import Step, apply_steps


def transform(results: Iterable[Sequence[Frame]], steps: Sequence[Step], context: Context) -> Transformed:
    """Return the frames of all queries after the steps, or the error of a step that failed."""
    unknown = [step.id for step in steps if not step.is_known]
    try:
        listed = list(results)
        if sum(map(len, listed)) > MAX_FRAMES:
            raise too_many(sum(map(len, listed)), "frames", MAX_FRAMES)
        frames = apply_steps([from_frame(frame) for result in listed for frame in result], steps, context)
        return Transformed([to_typed_frame(frame) for frame in frames], unknown=unknown)
    except DashwrightError as error:
        return Transformed(error=error, unknown=unknown)
