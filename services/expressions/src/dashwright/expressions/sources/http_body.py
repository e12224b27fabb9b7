"""Reader of the bodies of HTTP responses, which may be endless, incomplete or compressed gigabytes. Errors name the data source."""

import asyncio
import zlib
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from typing import Final

import aiohttp

from dashwright.common.errors import DashwrightError, SourceFailed
from dashwright.expressions.engine.limits import Limits

#: The value of the header ``Accept-Encoding``.
ACCEPTED_ENCODING: Final = "gzip"

_GZIP_NAMES: Final = frozenset({"gzip", "x-gzip"})
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
#: The maximum number of bytes that are decompressed in one step, which takes less than a millisecond of the event loop.
_STEP_BYTES: Final = 256 * 1024
#: The maximum number of bytes of an error that are read. Messages for users are smaller.
_MAX_ERROR_BYTES: Final = 1024 * 1024


class BodyReader:
    """A reader of the body of one response of the data source ``name``.

    The body grows in one buffer, which is returned without a copy. Memory is reserved before the buffer grows.
    """

    def __init__(self, response: aiohttp.ClientResponse, name: str, limits: Limits) -> None:
        self._response = response
        self._limits = limits
        self._subject = f"the response of the data source {name!r:.80}"
        self._encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        self._gzip = zlib.decompressobj(_GZIP_WINDOW) if self._encoding in _GZIP_NAMES else None
        # Unlike bytearray, BytesIO returns its buffer as bytes without a copy.
        self._body = BytesIO()

    async def read(self) -> bytes:
        """Return the decompressed body.

        Raises TooLarge if it has, or will have by its header, more bytes than allowed, and SourceFailed if it is incomplete
        or cannot be decompressed.
        """
        limit = self._limits.source_bytes
        if (announced := self._response.content_length or 0) > limit:
            raise self._too_large(f"has {announced} bytes")
        if not await self._read_up_to(limit):
            raise self._too_large(f"has at least {limit + 1} bytes{' when decompressed' if self._gzip else ''}")
        return self._body.getvalue()

    async def read_error(self) -> bytes:
        """Return the decompressed body of an error, or its beginning if it is too large, incomplete or cannot be decompressed."""
        with suppress(SourceFailed):
            await self._read_up_to(min(self._limits.source_bytes, _MAX_ERROR_BYTES))
        return self._body.getvalue()

    async def _read_up_to(self, limit: int) -> bool:
        """Read the body until it exceeds the limit. Return whether it was read completely."""
        if self._gzip is None and self._encoding != "identity":
            raise self._failure(f"has the content encoding {self._encoding!r:.40}, but gzip was requested")
        content = self._response.content
        try:
            while received := await content.readany():
                for part in self._decompress(received):
                    if self._body.tell() + len(part) > limit:
                        return False
                    self._limits.memory.reserve(len(part))
                    self._body.write(part)
                    self._limits.deadline.check()
                    if self._gzip:
                        # A few kilobytes may decompress to very many parts, between which other requests get the event loop.
                        await asyncio.sleep(0)
        except aiohttp.ClientPayloadError as error:
            announced = "" if self._response.content_length is None else f"of {self._response.content_length} "
            raise self._failure(f"ends early, after {content.total_bytes} {announced}bytes") from error
        if self._gzip and content.total_bytes and not self._gzip.eof:
            raise self._failure("ends early, within its gzip stream")
        return True

    def _decompress(self, received: bytes) -> Iterator[bytes]:
        """Yield the next parts of the body. The parts of compressed data are of bounded size."""
        if self._gzip is None:
            yield received
            return
        part = b""
        # zlib may have more output than fits into a full part, even if it has read all input.
        while received or len(part) == _STEP_BYTES:
            try:
                part = self._gzip.decompress(received, _STEP_BYTES)
            except zlib.error as error:
                raise self._failure(f"cannot be decompressed: {error}") from error
            if self._gzip.unused_data:
                raise self._failure("has data after the end of its gzip stream")
            received = self._gzip.unconsumed_tail
            yield part

    def _too_large(self, problem: str) -> DashwrightError:
        return self._limits.refusal("source_bytes", f"{self._subject} {problem}", "ask for fewer series or less time")

    def _failure(self, problem: str) -> SourceFailed:
        return SourceFailed(f"{self._subject} {problem}; try again, or check the server and the proxies in front of it")
