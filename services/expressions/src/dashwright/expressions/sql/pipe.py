"""The two pipes to a child: whole messages, until a deadline, without trust in any byte."""

import os
import select
import struct
from collections.abc import Callable

#: Returns the seconds that may still be waited; raises if no caller waits any more.
Wait = Callable[[], float]

#: Seconds between two checks whether a caller still waits.
_SLICE = 0.05

_LONGEST_HEAD = 8 * 1024 * 1024


class Closed(Exception):
    """The other side is gone, or violates the protocol."""


class Pipe:
    """Messages over two pipes. It owns ``readable`` and ``writable`` and closes them."""

    def __init__(self, readable: int, writable: int) -> None:
        self._readable = readable
        self._writable = writable
        for descriptor in (readable, writable):
            os.set_blocking(descriptor, False)

    def send(self, message: bytes, wait: Wait) -> None:
        """Send a message. Raises Closed, and what ``wait`` raises."""
        rest = memoryview(struct.pack(">I", len(message)) + message)
        while len(rest):
            self._await(self._writable, select.POLLOUT, wait)
            try:
                rest = rest[os.write(self._writable, rest) :]
            except BlockingIOError:
                continue
            except BrokenPipeError as error:
                raise Closed from error

    def head(self, wait: Wait) -> bytes:
        """Return the JSON before the buffers of a message."""
        (length,) = struct.unpack(">I", self.body(4, wait))
        if length > _LONGEST_HEAD:
            raise Closed
        return bytes(self.body(length, wait))

    def body(self, size: int, wait: Wait) -> bytearray:
        """Return the next ``size`` bytes."""
        found = bytearray(size)
        rest = memoryview(found)
        while len(rest):
            self._await(self._readable, select.POLLIN, wait)
            try:
                count = os.readv(self._readable, [rest])
            except BlockingIOError:
                continue
            if not count:
                raise Closed
            rest = rest[count:]
        return found

    def close(self) -> None:
        """Close both pipes."""
        os.close(self._readable)
        os.close(self._writable)

    def _await(self, descriptor: int, event: int, wait: Wait) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        while not poll.poll(max(0.0, min(_SLICE, wait())) * 1000):
            pass
