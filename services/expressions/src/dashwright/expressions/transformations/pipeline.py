"""Application of the transformations of a panel, in their order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.errors import BadRequest, DashwrightError
from dashwright.common.json_shapes import object_of, objects_of, string_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import Frames
from dashwright.expressions.transformations.matchers.frames import frame_matcher
from dashwright.expressions.transformations.registry import TRANSFORMATIONS

#: The maximum number of transformations of a panel.
MAX_TRANSFORMATIONS: Final = 100
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


def read_steps(transformations: Any) -> list[Step]:
    """Return the transformations of a panel's JSON, without those that are disabled or change annotations."""
    return list(_read(transformations))


def _read(transformations: Any) -> Iterator[Step]:
    for transformation in objects_of(transformations):
        # In panels of dashboards with elements, the members are in ``spec``, and older ones have the id as the kind.
        spec = object_of(transformation.get("spec")) or transformation
        name = string_of(spec.get("id")) or string_of(transformation.get("kind")) or string_of(transformation.get("group"))
        if spec.get("disabled") is True or spec.get("topic") == _ANNOTATIONS:
            continue
        filter_ = object_of(spec.get("filter"))
        yield Step(name, object_of(spec.get("options")), filter_ if filter_.get("options") else None)


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
    """Return the frames after a step. With a filter, the frames that it does not match are unchanged and follow the others."""
    transformation = TRANSFORMATIONS.get(step.id)
    if transformation is None:
        return frames
    options = {**transformation.defaults, **step.options}
    if step.filter is None:
        return transformation.apply(frames, options, context)
    matches = frame_matcher(step.filter)
    result = list(transformation.apply([frame for frame in frames if matches(frame)], options, context))
    others = [(index, frame) for index, frame in enumerate(frames) if not matches(frame)]
    position = next((index for index, _ in others if index), 0)
    return [*result[:position], *(frame for _, frame in others), *result[position:]]
