"""Bodies in a temporary file without a name, which disappears with the process."""

import tempfile
from array import array
from types import TracebackType
from typing import Self

from dashwright.common.errors import SourceFailed

MAX_MEMORY_BYTES = 8 * 1024 * 1024
"""Default limit on the bytes in memory, beyond which all bodies are in the file."""


class FileSpool:
    """A spool in memory up to 8 MiB, and beyond that in a file in the directory for temporary files (``TMPDIR``)."""

    def __init__(self, max_memory_bytes: int = MAX_MEMORY_BYTES) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=max_memory_bytes)  # noqa: SIM115 - closed by __exit__
        # Offsets at which a body ends and the next one starts; a ticket is the index of the start. An array takes a tenth of the memory of
        # a list of numbers.
        self._ends = array("Q", [0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._file.close()

    def put(self, body: bytes) -> int:
        """Store a body and return its ticket. Raises SourceFailed if the disk is full."""
        start = self._ends[-1]
        try:
            self._file.seek(start)
            self._file.write(body)
        except OSError as error:
            raise SourceFailed(f"the jobs worker has no disk space for temporary files (TMPDIR): {error.strerror}") from error
        ticket = len(self._ends) - 1
        self._ends.append(start + len(body))
        return ticket

    def get(self, ticket: int) -> bytes:
        """Return the body of a ticket."""
        start, end = self._ends[ticket], self._ends[ticket + 1]
        self._file.seek(start)
        return self._file.read(end - start)
