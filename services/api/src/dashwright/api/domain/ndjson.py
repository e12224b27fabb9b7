"""Lines of newline-delimited JSON, from chunks of any size. A line that is too long is never in memory as a whole."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank."""

    number: int  #: From 1. Blank lines are counted.
    data: bytes | None  #: Without the line break and surrounding whitespace. None if the line is too long.


class LineReader:
    """Reader of lines of at most ``max_bytes`` bytes without the line break. The lines do not depend on the bounds of the chunks."""

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._number = 1  #: Number of the line that has not ended yet.
        self._partial_line = bytearray()  #: The data of this line so far; empty if it is too long.
        self._is_too_long = False

    def feed(self, chunk: bytes) -> Sequence[Line]:
        """Return the lines that end in a chunk."""
        lines: list[Line] = []
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._extend(chunk, start, end)
            lines += self._take()
            start = end + 1
        self._extend(chunk, start, len(chunk))
        return lines

    def finish(self) -> Sequence[Line]:
        """Return the last line, unless a line break ended it."""
        return self._take()

    def _extend(self, chunk: bytes, start: int, end: int) -> None:
        """Append a part of a chunk, without a line break, to the partial line."""
        if len(self._partial_line) + end - start > self._max_bytes:
            self._is_too_long = True
            self._partial_line.clear()
        if not self._is_too_long:
            self._partial_line += memoryview(chunk)[start:end]

    def _take(self) -> Sequence[Line]:
        """Return the line that ended, or nothing if it is blank, and begin the next one."""
        line = Line(self._number, None if self._is_too_long else bytes(self._partial_line.strip()))
        self._number += 1
        self._partial_line.clear()
        self._is_too_long = False
        return () if line.data == b"" else (line,)
