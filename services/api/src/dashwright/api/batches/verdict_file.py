"""Temporary file of the verdicts on items, with one line each. A small file is kept in memory, and a larger one on disk."""

import errno
import tempfile
import zlib
from collections.abc import Iterable
from typing import Final

from dashwright.common.errors import Unavailable
from dashwright.common.models.batch import ItemVerdict

_MAX_BUFFERED_BYTES: Final = 256 * 1024
"""Size above which the file is on disk."""
_CHUNK_BYTES: Final = 64 * 1024
"""Limit on the bytes that one step reads, and on those that it decompresses."""
#: Level of the compression. The lines of a million verdicts are similar, and would fill the temporary directory of a container.
_LEVEL: Final = 1


class VerdictFile:
    """File that is written first, and then read in chunks. It must be closed."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_MAX_BUFFERED_BYTES)  # noqa: SIM115 - closed by ``aclose``
        self._compressor = zlib.compressobj(_LEVEL)
        self._decompressor = zlib.decompressobj()

    def write(self, verdicts: Iterable[ItemVerdict]) -> None:
        """Append verdicts. Raises Unavailable if the disk is full."""
        self._store(self._compressor.compress(b"".join(verdict.to_json() + b"\n" for verdict in verdicts)))

    def rewind(self) -> None:
        """End writing, and begin to read. Raises Unavailable if the disk is full."""
        self._store(self._compressor.flush())
        self._file.seek(0)

    def __aiter__(self) -> "VerdictFile":
        return self

    async def __anext__(self) -> bytes:
        compressed = self._decompressor.unconsumed_tail
        # The decompressor may need several reads of the file until it has output.
        while not (chunk := self._decompressor.decompress(compressed, _CHUNK_BYTES)):
            if not (compressed := self._decompressor.unconsumed_tail or self._file.read(_CHUNK_BYTES)):
                raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        """Close and delete the file."""
        self._file.close()

    def _store(self, data: bytes) -> None:
        """Append compressed data. Raises Unavailable if the disk or the quota is full."""
        try:
            self._file.write(data)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise Unavailable(
                "the gateway has no room for the verdicts in its temporary directory; send the items again later, or in several requests"
            ) from error
