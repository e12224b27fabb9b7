"""Headers of a host's responses. The git program prints them only in its trace, so they are read from the trace.

The rest of the trace is discarded.
"""

import asyncio
import email.utils
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Final

_MAX_TRACE_BYTES: Final = 16 * 1024
"""Bytes kept from the end of a trace. The response that refuses a request is the last one."""

_CONNECT_SECONDS: Final = 15.0
"""Limit on one connection with its TLS handshake. Connections over SSH have the same limit.

The limit of libcurl itself is five minutes, and git cannot change it.
"""

# Beginnings of the lines of a trace: ``==`` for events of libcurl, ``=>`` for sent and ``<=`` for received data.
_CONNECTING: Final = b"== Info:   Trying "
_CONNECTED: Final = b"=> Send header"
_RESPONSE: Final = b"<= Recv header: HTTP/"
_GIT_CONTENT: Final = re.compile(rb"<= Recv header: content-type: *application/x-git-", re.IGNORECASE)
_RETRY_AFTER: Final = re.compile(rb"<= Recv header: retry-after: *([^\r\n]{1,60})", re.IGNORECASE)


class NotConnected(Exception):
    """A host that accepts no connection."""


class GitTrace:
    """A pipe for the trace of the program. In some versions the trace has tokens in it, so no other process may read it."""

    def __init__(self, read_end: int, write_end: int) -> None:
        #: The ends of the pipe that are open. The write end is last, because it is closed first.
        self._ends = [read_end, write_end]
        self._last_bytes = b""

    @property
    def write_end(self) -> int:
        """The end of the pipe for the program."""
        return self._ends[1]

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables that make the program write its trace."""
        return {"GIT_TRACE_CURL": f"/dev/fd/{self.write_end}", "GIT_TRACE_CURL_NO_DATA": "1"}

    async def read_to_end(self) -> None:
        """Read until the program ends. This process closes its own writing end first.

        Raises NotConnected if the host does not accept a connection or a TLS handshake within 15 seconds.
        """
        os.close(self._ends.pop())
        reader = asyncio.StreamReader()
        pipe = os.fdopen(self._ends.pop(), "rb")
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        try:
            while chunk := await self._read(reader):
                self._last_bytes = (self._last_bytes + chunk)[-_MAX_TRACE_BYTES:]
        except TimeoutError as error:
            raise NotConnected from error
        finally:
            transport.close()

    async def _read(self, reader: asyncio.StreamReader) -> bytes:
        """Return the next part of the trace, empty at its end. Raises TimeoutError if git has been connecting for too long."""
        is_connecting = self._last_bytes.rfind(_CONNECTING) > self._last_bytes.rfind(_CONNECTED)
        async with asyncio.timeout(_CONNECT_SECONDS if is_connecting else None):
            return await reader.read(_MAX_TRACE_BYTES)

    def close(self) -> None:
        """Close the open ends of the pipe."""
        while self._ends:
            os.close(self._ends.pop())

    @property
    def has_foreign_content(self) -> bool:
        """``True`` if the host responded over HTTP, but not with content of the git protocol."""
        return _RESPONSE in self._last_bytes and not _GIT_CONTENT.search(self._last_bytes)

    @property
    def retry_after(self) -> float | None:
        """The seconds that the host asks to wait; None if it does not ask."""
        values = _RETRY_AFTER.findall(self._last_bytes)
        return retry_after_seconds(values[-1].decode(errors="replace").strip()) if values else None


@contextmanager
def open_trace() -> Iterator[GitTrace]:
    """Open a pipe and close it after the block."""
    trace = GitTrace(*os.pipe())
    try:
        yield trace
    finally:
        trace.close()


def retry_after_seconds(value: str) -> float | None:
    """Return the seconds in the value of a Retry-After header, which holds a number or a date. None for anything else."""
    if value.isascii() and value.isdigit():
        return float(value)
    with suppress(ValueError, TypeError):
        return max(0.0, (email.utils.parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    return None
