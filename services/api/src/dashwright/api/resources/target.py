"""What a route of the resource API is about."""

from dataclasses import dataclass

from dashwright.common.kinds.kind import Kind, SubResource


@dataclass(frozen=True, slots=True)
class Target:
    """A kind in one of its versions, or what is served below its objects."""

    kind: Kind
    version: str
    sub: SubResource | None = None
