"""Changes of files in a folder on this machine.

As in reading, every step uses the descriptor of the directory before it, and no link is followed. All files are first written next to their
targets under hidden names, then renamed one by one, and only then others are removed: concurrent readers find each file as it was or as it
will be, and a failure loses nothing.
"""

import errno
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from dashwright.common.errors import AlreadyExists, BadRequest, Conflict, DashwrightError, Forbidden, SourceFailed
from dashwright.common.jobs import paths
from dashwright.jobs_worker.adapters import file_lock
from dashwright.jobs_worker.adapters.directory import DIRECTORY, DirectoryCheckout, open_below, read_at
from dashwright.jobs_worker.adapters.file_lock import to_end
from dashwright.jobs_worker.domain.objects import Edit

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_NOT_ALLOWED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_OTHER_KIND: Final = frozenset({errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EMLINK, errno.EINVAL})


async def edit(checkout: DirectoryCheckout, edits: Sequence[Edit], lock: Path) -> None:
    """Make all edits. ``lock`` is the file by which editors on this machine exclude one another.

    Directories are created, and emptied ones removed. Raises Conflict if a file is not what its edit replaces, AlreadyExists if it replaces
    none, NotFound or Forbidden for the folder, BadRequest if the target is not a file, SourceFailed if the disk fails.
    """
    async with file_lock.exclusive(lock):
        await to_end(_edit, checkout, edits)


def _edit(checkout: DirectoryCheckout, edits: Sequence[Edit]) -> None:
    root = checkout.open_root()
    try:
        modes = {each.path: _check(root, each, checkout.largest) for each in edits}
        _write(root, [each for each in edits if each.body is not None], modes)
        _remove(root, [each.path for each in edits if each.body is None])
    finally:
        os.close(root)


def _check(root: int, edit: Edit, largest: int) -> int | None:
    """Return the mode of the existing file, None if it is missing. Raises an error unless the edit fits it. Nothing is changed yet."""
    try:
        mode, checksum = _look(root, edit.path, largest)
    except FileNotFoundError:
        if edit.replaces is None and edit.body is not None:
            return None
        raise Conflict(f"{edit.path} does not exist any more: read the folder again and repeat the change") from None
    except OSError as fault:
        raise _refusal(edit.path, fault) from fault
    if edit.replaces is None:
        raise AlreadyExists(f"{edit.path} exists already")
    if edit.replaces != checksum:
        raise Conflict(f"{edit.path} was changed by another writer: read it again and repeat the change")
    return mode


def _look(root: int, path: str, largest: int) -> tuple[int, str]:
    with _parent(root, path) as directory:
        name = _name(path)
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        return mode & 0o777, read_at(directory, (name,), largest).checksum


def _write(root: int, edits: Sequence[Edit], modes: dict[str, int | None]) -> None:
    made: list[str] = []
    staged: list[str] = []
    try:
        for each in edits:
            with _translate_errors(each.path):
                _make_directories(root, each.path, made)
                staged.append(each.path)
                _stage(root, each, modes[each.path])
        for path in tuple(staged):
            with _translate_errors(path):
                _put(root, path)
            staged.remove(path)
    except (OSError, DashwrightError):
        _clear(root, staged, made)
        raise
    _keep(root, [each.path for each in edits])


def _make_directories(root: int, path: str, made: list[str]) -> None:
    for directory in reversed(list(paths.directories(path))):
        with _parent(root, directory.rstrip("/")) as above, suppress(FileExistsError):
            os.mkdir(_name(directory.rstrip("/")), dir_fd=above)
            made.append(directory)


def _stage(root: int, edit: Edit, mode: int | None) -> None:
    with _parent(root, edit.path) as directory:
        with suppress(FileNotFoundError):
            # Left by a process that died between staging and renaming.
            os.unlink(_staged(edit.path), dir_fd=directory)
        with open(os.open(_staged(edit.path), _NEW, 0o666, dir_fd=directory), "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(edit.body or b"")
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())


def _put(root: int, path: str) -> None:
    with _parent(root, path) as directory:
        os.rename(_staged(path), _name(path), src_dir_fd=directory, dst_dir_fd=directory)


def _remove(root: int, gone: Sequence[str]) -> None:
    """Remove files, and the directories that become empty."""
    for path in gone:
        with _translate_errors(path), _parent(root, path) as directory:
            os.unlink(_name(path), dir_fd=directory)
    for path in gone:
        for above in paths.directories(path):
            if not _remove_directory(root, above):
                break
    _keep(root, gone)


def _remove_directory(root: int, path: str) -> bool:
    """Remove a directory and return whether it is gone. One with content, or without the right to remove it, is kept."""
    try:
        with _parent(root, path.rstrip("/")) as above:
            os.rmdir(_name(path.rstrip("/")), dir_fd=above)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _clear(root: int, staged: Sequence[str], made: Sequence[str]) -> None:
    """Remove staged files and new directories after a failure, as far as possible."""
    for path in staged:
        with suppress(OSError), _parent(root, path) as directory:
            os.unlink(_staged(path), dir_fd=directory)
    for emptied in reversed(made):
        _remove_directory(root, emptied)


def _keep(root: int, changed: Sequence[str]) -> None:
    """Flush the changed directories and those above them to the disk, so that the change survives a power failure."""
    for directory in {above for path in changed for above in ("", *paths.directories(path))}:
        with _translate_errors(directory or "the folder"), suppress(FileNotFoundError), _parent(root, directory) as opened:
            os.fsync(opened)


@contextmanager
def _parent(root: int, path: str) -> Iterator[int]:
    """Yield a descriptor of a file's directory; for a path that ends in a slash, of that directory itself."""
    directory = open_below(os.dup(root), path.split("/")[:-1], DIRECTORY)
    try:
        yield directory
    finally:
        os.close(directory)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _staged(path: str) -> str:
    """Return the temporary name of a file: hidden, so that no sync reads it, and of a fixed length whatever the name."""
    return f".dashwright-{hashlib.sha256(path.encode()).hexdigest()[:24]}"


@contextmanager
def _translate_errors(path: str) -> Iterator[None]:
    """Raise the errors of the system as errors of this project."""
    try:
        yield
    except OSError as fault:
        raise _refusal(path, fault) from fault


def _refusal(path: str, fault: OSError) -> DashwrightError:
    if fault.errno == errno.ENOENT:
        return Conflict(f"{path} was deleted while it was changed: read the folder again and repeat the change")
    if fault.errno in _OTHER_KIND:
        return BadRequest(f"{path} cannot be written: it, or a directory above it, is of another kind, a link or not a regular file")
    if fault.errno in _NOT_ALLOWED:
        return Forbidden(f"{path} cannot be written: give the worker's user the right to write in the folder")
    if fault.errno in _FULL:
        return SourceFailed(f"{path} cannot be written: the disk is full")
    return SourceFailed(f"{path} cannot be written: {fault.strerror or fault}; check the disk or mount")
