"""Application of the transformations of a panel, in their order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.errors import BadRequest, DashwrightError
from dashwright.common.json_shapes import object_of, objects_of, string_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import Frames
from dashwright.expressions.transformations.matchers.frames import frame_matcher
from dashwright.expressions.transformations.registry import TRANSFORMATIONS, UNSUPPORTED

#: The maximum number of transformations of a panel.
MAX_TRANSFORMATIONS: Final = 500
#: The topic of transformations that change annotations instead of series.
_ANNOTATIONS: Final = "annotations"


@dataclass(frozen=True, slots=True)
class Step:
    """A transformation of a panel."""

    id: str
    options: Mapping[str, Any]
    filter: Mapping[str, Any] | None = None  #: The condition of the frames that it applies to; None for all.

    @property
    def is_known(self) -> bool:
        """True if the transformation can be applied; others leave the frames unchanged, as in Grafana."""
        return self.id in TRANSFORMATIONS

    @property
    def description(self) -> str:
        """The id, with the reason if it is a transformation of Grafana that cannot be applied."""
        reason = UNSUPPORTED.get(self.id)
        return f"{self.id}: {reason}" if reason else self.id


def read_steps(transformations: Any) -> list[Step]:
    """Return the transformations of a panel's JSON, without those that are disabled or change annotations."""
    return [
        Step(string_of(item.get("id")), object_of(item.get("options")), _condition(item.get("filter")))
        for item in objects_of(transformations)
        if item.get("disabled") is not True and item.get("topic") != _ANNOTATIONS
    ]


def _condition(filter_: Any) -> Mapping[str, Any] | None:
    condition = object_of(filter_)
    return condition if condition.get("options") else None


def apply_steps(frames: Frames, steps: Sequence[Step], context: Context) -> Frames:
    """Return the frames after all steps. Raises BadRequest, or another error, that names the step which failed."""
    if len(steps) > MAX_TRANSFORMATIONS:
        raise BadRequest(f"the panel has {len(steps)} transformations, more than the {MAX_TRANSFORMATIONS} allowed; remove some")
    context.check(frames)
    for number, step in enumerate(steps, 1):
        try:
            frames = _apply(frames, step, context)
            context.check(frames)
        except DashwrightError as error:
            raise type(error)(f"transformation {number} ({step.id}): {error.message}", message_id=error.message_id) from error
    return frames


def _apply(frames: Frames, step: Step, context: Context) -> Frames:
    """Return the frames after a step. A filter exempts the frames that it does not match.

    As in Grafana, the exempt frames are inserted together, at the first index above 0 that one of them had before, else at the start.
    """
    transformation = TRANSFORMATIONS.get(step.id)
    if transformation is None:
        return frames
    options = {**transformation.defaults, **step.options}
    if step.filter is None:
        return transformation.apply(frames, options, context)
    matches = frame_matcher(step.filter)
    result = list(transformation.apply([frame for frame in frames if matches(frame)], options, context))
    other_frames = [(index, frame) for index, frame in enumerate(frames) if not matches(frame)]
    position = next((index for index, _ in other_frames if index), 0)
    return [*result[:position], *(frame for _, frame in other_frames), *result[position:]]
