"""The Retry-After header of a host, read from the trace of the git program, which does not print it. Nothing else of the trace is kept."""

import asyncio
import email.utils
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Final

_KEPT: Final = 16 * 1024
"""Bytes kept from the end of a trace: a refusal is the last response that the program waits for."""

_RETRY_AFTER: Final = re.compile(rb"<= Recv header: retry-after: *([^\r\n]{1,60})", re.IGNORECASE)


class Trace:
    """A pipe for the trace of the program. In some versions the trace has tokens in it, so no other process may read it."""

    def __init__(self, reading: int, writing: int) -> None:
        self._ends = [reading, writing]
        self._last = b""

    @property
    def writing(self) -> int:
        """The end of the pipe for the program."""
        return self._ends[1]

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables that make the program write its trace."""
        return {"GIT_TRACE_CURL": f"/dev/fd/{self.writing}", "GIT_TRACE_CURL_NO_DATA": "1"}

    async def read(self) -> None:
        """Read until the program ends. This process closes its own writing end first."""
        os.close(self._ends.pop())
        reader = asyncio.StreamReader()
        pipe = os.fdopen(self._ends.pop(), "rb")
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        try:
            while piece := await reader.read(_KEPT):
                self._last = (self._last + piece)[-_KEPT:]
        finally:
            transport.close()

    def close(self) -> None:
        """Close the open ends of the pipe."""
        while self._ends:
            os.close(self._ends.pop())

    @property
    def retry_after(self) -> float | None:
        """Seconds that the host asks to wait; None if it does not."""
        found = _RETRY_AFTER.findall(self._last)
        return seconds(found[-1].decode(errors="replace").strip()) if found else None


@contextmanager
def open_trace() -> Iterator[Trace]:
    """Open a pipe and close it after the block."""
    trace = Trace(*os.pipe())
    try:
        yield trace
    finally:
        trace.close()


def seconds(text: str) -> float | None:
    """Return the seconds of a Retry-After header, which holds a number or a date. None for anything else."""
    if text.isascii() and text.isdigit():
        return float(text)
    with suppress(ValueError, TypeError):
        return max(0.0, (email.utils.parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    return None
