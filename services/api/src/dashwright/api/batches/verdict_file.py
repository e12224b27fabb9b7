"""Temporary file of the verdicts on items, one line each: small ones are in memory, and larger ones on disk."""

import tempfile
from collections.abc import Iterable
from typing import Final

from dashwright.common.models.batch import ItemVerdict

_MAX_BUFFERED_BYTES: Final = 256 * 1024
_CHUNK_BYTES: Final = 64 * 1024


class VerdictFile:
    """File that is written first, and then read in chunks. It must be closed."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_MAX_BUFFERED_BYTES)  # noqa: SIM115 - closed by ``aclose``

    def write(self, verdicts: Iterable[ItemVerdict]) -> None:
        """Append verdicts."""
        self._file.write(b"".join(verdict.to_json() + b"\n" for verdict in verdicts))

    def rewind(self) -> None:
        """Begin to read."""
        self._file.seek(0)

    def __aiter__(self) -> "VerdictFile":
        return self

    async def __anext__(self) -> bytes:
        if not (chunk := self._file.read(_CHUNK_BYTES)):
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        """Close and delete the file."""
        self._file.close()
