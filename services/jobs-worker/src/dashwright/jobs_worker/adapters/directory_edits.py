"""Changes of files in a folder on this machine.

As in reading, every step goes through the descriptor of the directory before it, and no link is followed. All files are first written
beside their places under hidden names, then take their places one by one, and only then others are removed: whoever reads meanwhile finds
each file as it was or as it will be, and a failure loses nothing.
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
    """Does all edits. ``lock`` is a file by which those who edit on this machine exclude one another.

    Directories are made, and those that are emptied removed. Raises Conflict where a file is not what its edit replaces, AlreadyExists
    where it replaces none, NotFound or Forbidden for the folder, BadRequest for what is no file, SourceFailed where the disk fails.
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
    """The mode of the file that is there, None where there is none: as the edit wants it. Nothing is changed yet."""
    try:
        mode, checksum = _look(root, edit.path, largest)
    except FileNotFoundError:
        if edit.replaces is None and edit.body is not None:
            return None
        raise Conflict(f"{edit.path} is not there any more: look again, and change what is there now") from None
    except OSError as fault:
        raise _refusal(edit.path, fault) from fault
    if edit.replaces is None:
        raise AlreadyExists(f"{edit.path} is there already")
    if edit.replaces != checksum:
        raise Conflict(f"{edit.path} was changed meanwhile: look again, and change what is there now")
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
            # Left by a process that died here.
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
    """Removes files, and the directories that they leave empty."""
    for path in gone:
        with _translate_errors(path), _parent(root, path) as directory:
            os.unlink(_name(path), dir_fd=directory)
    for path in gone:
        for above in paths.directories(path):
            if not _remove_directory(root, above):
                break
    _keep(root, gone)


def _remove_directory(root: int, path: str) -> bool:
    """Whether it is gone. It stays where something is in it, or somebody does not let it go."""
    try:
        with _parent(root, path.rstrip("/")) as above:
            os.rmdir(_name(path.rstrip("/")), dir_fd=above)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _clear(root: int, staged: Sequence[str], made: Sequence[str]) -> None:
    """Removes what was made for nothing, as far as it can be."""
    for path in staged:
        with suppress(OSError), _parent(root, path) as directory:
            os.unlink(_staged(path), dir_fd=directory)
    for emptied in reversed(made):
        _remove_directory(root, emptied)


def _keep(root: int, changed: Sequence[str]) -> None:
    """What was done outlives a failure of the power: the directories that it was done in, and those above them, are on the disk."""
    for directory in {above for path in changed for above in ("", *paths.directories(path))}:
        with _translate_errors(directory or "the folder"), suppress(FileNotFoundError), _parent(root, directory) as opened:
            os.fsync(opened)


@contextmanager
def _parent(root: int, path: str) -> Iterator[int]:
    """The directory that a file lies in; of a path that ends in a slash that directory itself."""
    directory = open_below(os.dup(root), path.split("/")[:-1], DIRECTORY)
    try:
        yield directory
    finally:
        os.close(directory)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _staged(path: str) -> str:
    """Hidden, so that no sync takes it for one of the folder's; of one length, whatever the name."""
    return f".dashwright-{hashlib.sha256(path.encode()).hexdigest()[:24]}"


@contextmanager
def _translate_errors(path: str) -> Iterator[None]:
    """Failures of the system as ours."""
    try:
        yield
    except OSError as fault:
        raise _refusal(path, fault) from fault


def _refusal(path: str, fault: OSError) -> DashwrightError:
    if fault.errno == errno.ENOENT:
        return Conflict(f"{path} went away while it was changed: look again, and change what is there now")
    if fault.errno in _OTHER_KIND:
        return BadRequest(f"{path} cannot be written: what stands there or above it is a directory, a link or no regular file")
    if fault.errno in _NOT_ALLOWED:
        return Forbidden(f"{path} cannot be written: give the worker's user the right to write in the folder")
    if fault.errno in _FULL:
        return SourceFailed(f"{path} cannot be written: the disk is full")
    return SourceFailed(f"{path} cannot be written: {fault.strerror or fault}; look after the disk or mount it lies on")
