"""Files with secrets for programs that read them from files: readable by this user only, and deleted after use."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dashwright.common.errors import SourceFailed

_DIRECTORY_PREFIX: Final = "dashwright-ssh-"
_MIN_LEFTOVER_SECONDS: Final = 24 * 3600
"""Age after which a directory is a leftover of a killed worker, since no run of git takes that long."""

_MEMORY_DIRECTORY: Final = Path("/dev/shm")  # noqa: S108 - every file in it is in a private directory


@contextmanager
def private_files(contents: Mapping[str, str]) -> Iterator[Path]:
    """Yield a new directory with files of these names and contents, and delete it after the block.

    Raises SourceFailed if it cannot be written.
    """
    try:
        _remove_leftovers()
        directory = tempfile.TemporaryDirectory(prefix=_DIRECTORY_PREFIX, dir=_parent_directory())
    except OSError as error:
        raise SourceFailed(f"the jobs worker cannot write a temporary file for ssh: {error.strerror}") from error
    with directory as path:
        for name, content in contents.items():
            _write_private(Path(path) / name, content)
        yield Path(path)


def _parent_directory() -> Path:
    """Return the directory for files with keys, which is in memory where the system has one."""
    return _MEMORY_DIRECTORY if os.access(_MEMORY_DIRECTORY, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def _remove_leftovers() -> None:
    """Delete old directories of the same user. Workers that were killed have left the directories with the keys in them."""
    newest_leftover = time.time() - _MIN_LEFTOVER_SECONDS
    for path in _parent_directory().glob(f"{_DIRECTORY_PREFIX}*"):
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        if status.st_uid == os.getuid() and status.st_mtime < newest_leftover:
            shutil.rmtree(path, ignore_errors=True)
