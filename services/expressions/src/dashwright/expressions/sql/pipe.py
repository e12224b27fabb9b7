"""Messages to and from a child process, over two pipes and until a deadline. What the child sends is not trusted.

A message to the child is its length in four bytes, and then that number of bytes. A message from the child is a header in the same
form, which is JSON, and a body, whose size follows from the header.
"""

import os
import select
import struct
from collections.abc import Callable

#: Returns the seconds that remain for a caller. Raises an error if no time remains, or if the caller no longer waits.
RemainingSeconds = Callable[[], float]

#: Seconds between two checks whether the caller still waits.
_POLL_INTERVAL_SECONDS = 0.05

_LENGTH_BYTES = 4
#: The maximum size of a header. The bytes are allocated before they are received, and the child may send any length.
_MAX_HEADER_BYTES = 8 * 1024 * 1024


class PipeClosed(Exception):
    """The child process has ended, or has sent an invalid message."""


class Pipe:
    """Messages over two pipes: this process reads from ``read_descriptor`` and writes to ``write_descriptor``.

    ``close`` closes both descriptors.
    """

    def __init__(self, read_descriptor: int, write_descriptor: int) -> None:
        self._read_descriptor = read_descriptor
        self._write_descriptor = write_descriptor
        for descriptor in (read_descriptor, write_descriptor):
            os.set_blocking(descriptor, False)

    def send(self, message: bytes, remaining_seconds: RemainingSeconds) -> None:
        """Send a message. Raises PipeClosed, and the errors of ``remaining_seconds``."""
        remainder = memoryview(struct.pack(">I", len(message)) + message)
        while len(remainder):
            self._wait(self._write_descriptor, select.POLLOUT, remaining_seconds)
            try:
                remainder = remainder[os.write(self._write_descriptor, remainder) :]
            except BlockingIOError:
                continue
            except BrokenPipeError as error:
                raise PipeClosed from error

    def read_header(self, remaining_seconds: RemainingSeconds) -> bytes:
        """Return the header of the next message, which is JSON. Raises like ``send``."""
        (length,) = struct.unpack(">I", self.read_bytes(_LENGTH_BYTES, remaining_seconds))
        if length > _MAX_HEADER_BYTES:
            raise PipeClosed
        return bytes(self.read_bytes(length, remaining_seconds))

    def read_bytes(self, size: int, remaining_seconds: RemainingSeconds) -> bytearray:
        """Return the next ``size`` bytes, such as the body of a message. Raises like ``send``."""
        content = bytearray(size)
        remainder = memoryview(content)
        while len(remainder):
            self._wait(self._read_descriptor, select.POLLIN, remaining_seconds)
            try:
                count = os.readv(self._read_descriptor, [remainder])
            except BlockingIOError:
                continue
            if not count:
                raise PipeClosed
            remainder = remainder[count:]
        return content

    def close(self) -> None:
        """Close both pipes."""
        os.close(self._read_descriptor)
        os.close(self._write_descriptor)

    def _wait(self, descriptor: int, event: int, remaining_seconds: RemainingSeconds) -> None:
        """Wait until the descriptor is ready for ``event``. Raises the errors of ``remaining_seconds``."""
        poll = select.poll()
        poll.register(descriptor, event)
        while not poll.poll(max(0.0, min(_POLL_INTERVAL_SECONDS, remaining_seconds())) * 1000):
            pass
