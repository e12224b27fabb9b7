"""Bodies in a temporary file without a name, which disappears with the process."""

import tempfile
from array import array
from types import TracebackType
from typing import Self

from dashwright.common.errors import SourceFailed

IN_MEMORY = 8 * 1024 * 1024


class FileSpool:
    """A spool that keeps up to 8 MiB in memory and the rest on disk, in the folder for temporary files (``TMPDIR``)."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=in_memory)  # noqa: SIM115 - closed by __exit__
        # The end of each body, and the start of the next. An array takes a tenth of the memory of a list of numbers.
        self._ends = array("Q", [0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def put(self, body: bytes) -> int:
        """Store a body and return its ticket. Raises SourceFailed if the disk is full."""
        start = self._ends[-1]
        try:
            self._file.seek(start)
            self._file.write(body)
        except OSError as error:
            raise SourceFailed(f"the jobs worker has no disk space for temporary files (TMPDIR): {error.strerror}") from error
        self._ends.append(start + len(body))
        return len(self._ends) - 2

    def get(self, ticket: int) -> bytes:
        """Return the body of a ticket."""
        start, end = self._ends[ticket], self._ends[ticket + 1]
        self._file.seek(start)
        return self._file.read(end - start)
