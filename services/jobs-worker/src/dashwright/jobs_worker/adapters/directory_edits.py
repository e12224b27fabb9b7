"""Changes of files in a local directory.

Each name is opened relative to the descriptor of the directory above, and no link is followed. All files are first written next to their
targets under hidden names, then renamed one by one, and then other files are deleted. So concurrent readers see either the old or the new
file, and a failure loses nothing.
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
from dashwright.jobs_worker.adapters.directory import DIRECTORY_FLAGS, DirectoryCheckout, open_below, read_at
from dashwright.jobs_worker.adapters.file_lock import run_to_end
from dashwright.jobs_worker.domain.objects import Edit

_CREATE_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DISK_FULL_ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_PERMISSION_ERRORS: Final = frozenset({errno.EACCES, errno.EPERM})
_FILE_TYPE_ERRORS: Final = frozenset({errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EMLINK, errno.EINVAL})


async def edit(checkout: DirectoryCheckout, edits: Sequence[Edit], lock_path: Path) -> None:
    """Make all edits. ``lock_path`` is the file that concurrent editors on this machine lock.

    Missing directories are created, and empty ones are deleted. Raises Conflict if the checksum of a file is not ``replaced_checksum``,
    AlreadyExists for an edit that creates an existing file, NotFound or Forbidden for the directory itself, BadRequest if the target is not
    a file, and SourceFailed if the disk fails.
    """
    async with file_lock.exclusive(lock_path):
        await run_to_end(_edit, checkout, edits)


def _edit(checkout: DirectoryCheckout, edits: Sequence[Edit]) -> None:
    root = checkout.open_root()
    try:
        modes = {edit.path: _checked_mode(root, edit, checkout.max_file_bytes) for edit in edits}
        # Written before files are removed, so that a failed write of a moved file does not lose it.
        _write(root, [edit for edit in edits if edit.body is not None], modes)
        _remove(root, [edit.path for edit in edits if edit.body is None])
    finally:
        os.close(root)


def _checked_mode(root: int, edit: Edit, max_file_bytes: int) -> int | None:
    """Return the mode of the existing file, None if it is missing. Raises an error if the edit does not apply to that file."""
    try:
        mode, checksum = _stat_and_hash(root, edit.path, max_file_bytes)
    except FileNotFoundError:
        if edit.replaced_checksum is None and edit.body is not None:
            return None
        raise Conflict(f"{edit.path} does not exist any more: read the directory again and repeat the change") from None
    except OSError as fault:
        raise _error_for(edit.path, fault) from fault
    if edit.replaced_checksum is None:
        raise AlreadyExists(f"{edit.path} exists already")
    if edit.replaced_checksum != checksum:
        raise Conflict(f"{edit.path} was changed by another writer: read it again and repeat the change")
    return mode


def _stat_and_hash(root: int, path: str, max_file_bytes: int) -> tuple[int, str]:
    """Return the permission bits and the checksum of a file. Raises OSError."""
    with _open_parent(root, path) as directory:
        name = _file_name(path)
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        return mode & 0o777, read_at(directory, (name,), max_file_bytes).checksum


def _write(root: int, edits: Sequence[Edit], modes: dict[str, int | None]) -> None:
    """Write files: all under temporary names first, so that a full disk is noticed before any file is replaced.

    ``modes`` are the permission bits of replaced files, None for a new file.
    """
    new_directories: list[str] = []
    staged_paths: list[str] = []
    try:
        for edit in edits:
            with _translate_errors(edit.path):
                _make_directories(root, edit.path, new_directories)
                # Before the write, which may fail and leave a part of the file.
                staged_paths.append(edit.path)
                _stage(root, edit, modes[edit.path])
        for path in tuple(staged_paths):
            with _translate_errors(path):
                _publish(root, path)
            staged_paths.remove(path)
    except (OSError, DashwrightError):
        _roll_back(root, staged_paths, new_directories)
        raise
    _flush(root, [edit.path for edit in edits])


def _make_directories(root: int, path: str, new_directories: list[str]) -> None:
    """Create the missing directories of a path from the top, and add each to ``new_directories``."""
    for directory in reversed(list(paths.directories(path))):
        with _open_parent(root, directory.rstrip("/")) as parent, suppress(FileExistsError):
            os.mkdir(_file_name(directory.rstrip("/")), dir_fd=parent)
            new_directories.append(directory)


def _stage(root: int, edit: Edit, mode: int | None) -> None:
    """Write the new content of a file to the disk under its temporary name."""
    with _open_parent(root, edit.path) as directory:
        with suppress(FileNotFoundError):
            # Delete the file of a process that ended between staging and renaming.
            os.unlink(_staging_name(edit.path), dir_fd=directory)
        with open(os.open(_staging_name(edit.path), _CREATE_FILE, 0o666, dir_fd=directory), "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(edit.body or b"")
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())


def _publish(root: int, path: str) -> None:
    """Rename a staged file to its final name, in place of an existing file."""
    with _open_parent(root, path) as directory:
        os.rename(_staging_name(path), _file_name(path), src_dir_fd=directory, dst_dir_fd=directory)


def _remove(root: int, removed_paths: Sequence[str]) -> None:
    """Remove files, and the directories that become empty."""
    for path in removed_paths:
        with _translate_errors(path), _open_parent(root, path) as directory:
            os.unlink(_file_name(path), dir_fd=directory)
    for path in removed_paths:
        for directory_path in paths.directories(path):
            if not _remove_directory(root, directory_path):
                break
    _flush(root, removed_paths)


def _remove_directory(root: int, path: str) -> bool:
    """Delete an empty directory and return whether it is missing now. It is kept if it has content or the worker may not delete it."""
    try:
        with _open_parent(root, path.rstrip("/")) as parent:
            os.rmdir(_file_name(path.rstrip("/")), dir_fd=parent)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _roll_back(root: int, staged_paths: Sequence[str], new_directories: Sequence[str]) -> None:
    """Remove staged files and new directories after a failure, as far as possible."""
    for path in staged_paths:
        with suppress(OSError), _open_parent(root, path) as directory:
            os.unlink(_staging_name(path), dir_fd=directory)
    for directory_path in reversed(new_directories):
        _remove_directory(root, directory_path)


def _flush(root: int, changed_paths: Sequence[str]) -> None:
    """Flush the changed directories and their parents to the disk, so that the change survives a power failure."""
    for directory in {directory_path for path in changed_paths for directory_path in ("", *paths.directories(path))}:
        with _translate_errors(directory or "the directory"), suppress(FileNotFoundError), _open_parent(root, directory) as descriptor:
            os.fsync(descriptor)


@contextmanager
def _open_parent(root: int, path: str) -> Iterator[int]:
    """Yield a descriptor of a file's directory; for a path that ends in a slash, of that directory itself."""
    directory = open_below(os.dup(root), path.split("/")[:-1], DIRECTORY_FLAGS)
    try:
        yield directory
    finally:
        os.close(directory)


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


def _staging_name(path: str) -> str:
    """Return the temporary name of a file. It is hidden, so that no sync reads it, and has a fixed length."""
    return f".dashwright-{hashlib.sha256(path.encode()).hexdigest()[:24]}"


@contextmanager
def _translate_errors(path: str) -> Iterator[None]:
    """Raise the errors of the system as errors of this project."""
    try:
        yield
    except OSError as fault:
        raise _error_for(path, fault) from fault


def _error_for(path: str, fault: OSError) -> DashwrightError:
    if fault.errno == errno.ENOENT:
        return Conflict(f"{path} was deleted while it was changed: read the directory again and repeat the change")
    if fault.errno in _FILE_TYPE_ERRORS:
        return BadRequest(f"{path} cannot be written: it, or a directory above it, is of another kind, a link or not a regular file")
    if fault.errno == errno.EROFS:
        return Forbidden(f"{path} cannot be written: the folder is mounted read-only; mount it writable, or remove the workflow 'write'")
    if fault.errno in _PERMISSION_ERRORS:
        return Forbidden(f"{path} cannot be written: give the worker's user the right to write in the folder")
    if fault.errno in _DISK_FULL_ERRORS:
        return SourceFailed(f"{path} cannot be written: the disk is full")
    return SourceFailed(f"{path} cannot be written: {fault.strerror or fault}; check the disk or mount")
