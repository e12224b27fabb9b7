"""Bodies put aside in a temporary file that has no name: it is gone with the process, however that ends."""

import tempfile
from types import TracebackType
from typing import Self

IN_MEMORY = 8 * 1024 * 1024


class FileSpool:
    """Keeps up to 8 MiB in memory and the rest on disk, in the folder for temporary files (``TMPDIR``)."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=in_memory)  # noqa: SIM115 - closed by __exit__
        self._spans: list[tuple[int, int]] = []
        self._end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def put(self, body: bytes) -> int:
        self._file.seek(self._end)
        self._file.write(body)
        self._spans.append((self._end, len(body)))
        self._end += len(body)
        return len(self._spans) - 1

    def get(self, ticket: int) -> bytes:
        start, length = self._spans[ticket]
        self._file.seek(start)
        return self._file.read(length)
