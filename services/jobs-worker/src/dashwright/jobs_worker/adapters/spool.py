"""Bodies put aside in a temporary file that has no name: it is gone with the process, however that ends."""

import tempfile
from array import array
from types import TracebackType
from typing import Self

from dashwright.common.errors import SourceFailed

IN_MEMORY = 8 * 1024 * 1024


class FileSpool:
    """Keeps up to 8 MiB in memory and the rest on disk, in the folder for temporary files (``TMPDIR``)."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=in_memory)  # noqa: SIM115 - closed by __exit__
        # Where each body ends, and the next begins: of very many an array takes a tenth of what numbers do that are objects.
        self._ends = array("Q", [0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def put(self, body: bytes) -> int:
        """Raises SourceFailed where there is no room for it."""
        start = self._ends[-1]
        try:
            self._file.seek(start)
            self._file.write(body)
        except OSError as error:
            raise SourceFailed(f"the jobs worker has no room for what it reads (TMPDIR): {error.strerror}") from error
        self._ends.append(start + len(body))
        return len(self._ends) - 2

    def get(self, ticket: int) -> bytes:
        start, end = self._ends[ticket], self._ends[ticket + 1]
        self._file.seek(start)
        return self._file.read(end - start)
