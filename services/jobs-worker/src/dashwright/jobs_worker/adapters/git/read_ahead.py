"""Blobs that the git program reads ahead, in another process than the worker: libgit2 would unpack them while the worker waits."""

import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from dashwright.jobs_worker.adapters.git import command

_PIPE_BYTES: Final = 256 * 1024
"""Bytes that git reads ahead. Beyond them it waits until the worker has read some."""


class BlobsAhead:
    """The output of ``git cat-file`` for blobs in a given order.

    It only saves time. A blob that git does not send next, or not completely, is left to libgit2, which knows why it cannot be read.
    After a blob that is larger than ``max_bytes``, reading ahead ends, so that git need not send it.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", max_bytes: int) -> None:
        assert process.stdout is not None, "it was started with a pipe"
        self._process = process
        self._output: IO[bytes] = process.stdout
        self._max_bytes = max_bytes
        #: Header of the next blob if it was read already, else empty. It is kept while other blobs are requested.
        self._header = b""

    @classmethod
    def start(cls, mirror_path: Path, blobs: Iterable[str], max_bytes: int) -> Self:
        """Start git on the blobs with these hashes. Raises OSError if it cannot be started."""
        with tempfile.TemporaryFile() as hashes:
            hashes.writelines(f"{blob}\n".encode() for blob in blobs)
            hashes.seek(0)
            return cls(command.start_reading(["cat-file", "--batch", "--buffer"], mirror_path, hashes, _PIPE_BYTES), max_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        self._output.close()

    def read(self, blob: str) -> bytes | None:
        """Return a blob if git has sent it next and it is not too large, else None."""
        try:
            self._header = self._header or self._output.readline()
            if not self._header.startswith(f"{blob} blob ".encode()):
                return None
            size = int(self._header.split()[2])
            if size > self._max_bytes:
                return None
            self._header = b""
            body = self._output.read(size + 1)  # with the line break after it
        except (OSError, ValueError):  # The process was ended, or its output was closed by another thread.
            return None
        return body[:-1] if len(body) == size + 1 else None
