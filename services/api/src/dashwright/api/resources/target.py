"""What a route of the resource API is about."""

from dataclasses import dataclass

from dashwright.common.kinds.kind import Kind


@dataclass(frozen=True, slots=True)
class Target:
    """A kind in one of its versions."""

    kind: Kind
    version: str
