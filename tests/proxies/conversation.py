"""Conversation of a client with a server, cut into units at which a test may interfere: named moments before and after a step."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

Side = Literal["before", "after"]


class Moment(NamedTuple):
    """Moment before or after a step of a protocol.

    Before: the server has not received the step. After: the server has executed it, or received it if it sends no response;
    the client does not know yet.
    """

    side: Side
    step: str  #: For example ``jobs.claim`` or ``publish wake-up``.

    def __str__(self) -> str:
        return f"{self.side} {self.step}"


@dataclass(frozen=True, slots=True)
class Unit:
    """Bytes that are forwarded together."""

    data: bytes
    #: Moments that are reached before the bytes are forwarded.
    before: Sequence[Moment] = ()
    #: Moments that are reached after the bytes were forwarded.
    after: Sequence[Moment] = ()


class Conversation(Protocol):
    """Decoder of one connection."""

    def from_client(self, piece: bytes) -> Iterator[Unit]:
        """Yield the units that are complete with these bytes of the client."""
        ...

    def from_server(self, piece: bytes) -> Iterator[Unit]:
        """Yield the units that are complete with these bytes of the server."""
        ...


class Opaque:
    """Conversation whose bytes are forwarded as they arrive. The first bytes of the server are the step ``respond``."""

    def from_client(self, piece: bytes) -> Iterator[Unit]:
        """Yield the bytes without moments."""
        yield Unit(piece)

    def from_server(self, piece: bytes) -> Iterator[Unit]:
        """Yield the bytes as a response."""
        yield Unit(piece, [Moment("before", "respond")], [Moment("after", "respond")])


class Frames:
    """Buffer that cuts a stream of bytes into frames. ``length`` returns the length of the first frame, or None if it is unknown yet."""

    def __init__(self, length: Callable[[bytearray], int | None]) -> None:
        self._length = length
        self._buffer = bytearray()

    def add(self, piece: bytes) -> Iterator[bytes]:
        """Yield the frames that are complete with these bytes."""
        self._buffer += piece
        while (length := self._length(self._buffer)) is not None and len(self._buffer) >= length:
            frame = bytes(self._buffer[:length])
            del self._buffer[:length]
            yield frame
