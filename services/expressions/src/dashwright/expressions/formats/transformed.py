"""Frames after the transformations of a panel, as a response contains them."""

from collections.abc import Sequence
from dataclasses import dataclass

from dashwright.common.errors import DashwrightError
from dashwright.expressions.engine.frame import Frame


@dataclass(frozen=True, slots=True)
class TypedFrame:
    """A frame with the types that its schema names, which some of its cells may not have."""

    frame: Frame
    types: Sequence[str]


@dataclass(frozen=True, slots=True)
class TransformationResult:
    """The result of the transformations of a panel."""

    frames: Sequence[TypedFrame] = ()
    error: DashwrightError | None = None
    unknown: Sequence[str] = ()  #: The transformations that were left out, with the reason unless they are unknown.
