"""Lines of a stored segment: an object with one line of NDJSON for each item, compressed by gzip."""

import zlib
from collections import deque
from collections.abc import AsyncIterator
from typing import Final

from dashwright.common.object_storage import ObjectStorage

#: Maximum size of a part of a line, in bytes. It limits the memory that a compressed object can fill.
_PART_BYTES: Final = 256 * 1024
#: Parameter of zlib for the format gzip.
GZIP_WBITS: Final = 16 + zlib.MAX_WBITS


class StoredLines:
    """Lines of an object, in their order. ``index`` is the index of the item whose line is read next."""

    def __init__(self, storage: ObjectStorage, path: str, *, size: int, first_index: int) -> None:
        self._storage = storage
        self.path = path
        self._size = size
        self.index = first_index
        #: Number of bytes of the object that were read.
        self._position = 0
        #: Bytes that were read, but not decompressed yet.
        self._compressed = b""
        self._decompressor = zlib.decompressobj(GZIP_WBITS)
        #: Decompressed lines, or parts of lines, that were not yielded yet.
        self._parts: deque[bytes] = deque()

    async def line(self, index: int) -> AsyncIterator[bytes]:
        """Yield the line of an item in parts, the last of which ends with a newline. Earlier lines are skipped.

        Raises ObjectMissing if the object was deleted, and Unavailable if the object storage does not respond.
        """
        while self.index <= index:
            if not self._parts:
                await self._read()
            part = self._parts.popleft()
            is_requested = self.index == index
            if part.endswith(b"\n"):
                self.index += 1
            if is_requested:
                yield part

    async def _read(self) -> None:
        """Decompress more lines. An object that ends too early raises EOFError."""
        if not self._compressed:
            if self._position >= self._size:
                raise EOFError(f"the object {self.path} ends before index {self.index}")
            self._compressed = await self._storage.read(self.path, start=self._position, size=self._size)
            self._position += len(self._compressed)
        data = self._decompressor.decompress(self._compressed, _PART_BYTES)
        self._compressed = self._decompressor.unconsumed_tail
        self._parts.extend(data.splitlines(keepends=True))
