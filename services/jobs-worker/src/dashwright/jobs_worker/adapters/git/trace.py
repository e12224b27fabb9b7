"""What a host says in the headers of its answers and the git program tells nobody: read from its trace, of which nothing else is kept."""

import asyncio
import email.utils
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Final

_KEPT: Final = 16 * 1024
"""Bytes at the end of a trace: a refusal is the last answer that the program waits for."""

_RETRY_AFTER: Final = re.compile(rb"<= Recv header: retry-after: *([^\r\n]{1,60})", re.IGNORECASE)


class Trace:
    """A pipe that the program writes its trace to. In some versions that holds tokens: nobody but this process reads it."""

    def __init__(self, reading: int, writing: int) -> None:
        self._ends = [reading, writing]
        self._last = b""

    @property
    def writing(self) -> int:
        """The end that the program must have."""
        return self._ends[1]

    @property
    def environment(self) -> Mapping[str, str]:
        return {"GIT_TRACE_CURL": f"/dev/fd/{self.writing}", "GIT_TRACE_CURL_NO_DATA": "1"}

    async def read(self) -> None:
        """To the end of the program, which alone writes from now on."""
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
        while self._ends:
            os.close(self._ends.pop())

    @property
    def retry_after(self) -> float | None:
        """Seconds that the host wants to be left alone; None where it does not say."""
        said = _RETRY_AFTER.findall(self._last)
        return seconds(said[-1].decode(errors="replace").strip()) if said else None


@contextmanager
def open_trace() -> Iterator[Trace]:
    """A pipe as long as the block runs."""
    trace = Trace(*os.pipe())
    try:
        yield trace
    finally:
        trace.close()


def seconds(text: str) -> float | None:
    """A Retry-After header: a number of seconds, or a date. None where it is neither."""
    if text.isascii() and text.isdigit():
        return float(text)
    with suppress(ValueError, TypeError):
        return max(0.0, (email.utils.parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    return None
