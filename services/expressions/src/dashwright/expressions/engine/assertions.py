"""Assertions of a target on its result: the type and version of its frames, and their number."""

from collections.abc import Sequence
from dataclasses import dataclass

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.frame import Frame

#: In an assertion, the version that accepts all versions. In a frame, a missing version.
_ANY_VERSION = (0, 0)


@dataclass(frozen=True, slots=True)
class Assertion:
    """The expected frames of one result."""

    type: str = ""  #: Empty accepts every type.
    version: tuple[int, int] = _ANY_VERSION  #: 0.0 accepts every version.
    max_frames: int = 0  #: 0 or less accepts any number.

    def check(self, ref_id: str, frames: Sequence[Frame]) -> None:
        """Raise BadRequest if a frame has another type or version, or if there are too many frames.

        A frame without fields has no type and is not checked.
        """
        if 0 < self.max_frames < len(frames):
            raise _assertion_error(
                ref_id, f"more than expected frames found: {len(frames)}, at most {self.max_frames} are asserted (maxFrames)"
            )
        for frame in frames:
            if frame.fields:
                self._check_type(ref_id, frame)

    def _check_type(self, ref_id: str, frame: Frame) -> None:
        """Raise BadRequest if a frame has another type or version than asserted."""
        meta = frame.meta or {}
        if self.type and meta.get("type") != self.type:
            actual = f"found [{meta['type']}]" if meta.get("type") else "the type is unknown"
            raise _assertion_error(ref_id, f"expected frame type [{self.type}], but {actual}")
        version = tuple(meta.get("typeVersion") or _ANY_VERSION)
        is_any_accepted = self.version == _ANY_VERSION
        if not is_any_accepted and version != self.version:
            raise _assertion_error(ref_id, f"type versions do not match: expected {_dotted(self.version)}, found {_dotted(version)}")


def _assertion_error(ref_id: str, reason: str) -> BadRequest:
    return BadRequest(f"the result of {ref_id} does not match its resultAssertions: {reason}", message_id="sse.resultAssertion")


def _dotted(version: Sequence[int]) -> str:
    return ".".join(map(str, version))
