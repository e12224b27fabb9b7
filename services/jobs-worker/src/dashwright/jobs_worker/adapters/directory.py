"""A checkout of a local directory.

The directory may be anywhere below a permitted directory. Nothing in it leads out of it: symbolic links are not followed, neither on the
way to the directory nor inside it, and only regular files are opened. Each name is opened relative to the descriptor of the directory
above, so a link that is created in between is refused as well.

An unreadable file or directory is an entry with a fault, and its stored objects are kept. A failing disk or process is not the fault of one
file: it ends the sync.
"""

import asyncio
import errno
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from threading import Event

from dashwright.common.errors import Forbidden, NotFound, SourceFailed, TooLarge
from dashwright.common.jobs import paths
from dashwright.jobs_worker.domain.file_forms import MAX_FILE_BYTES, check_size
from dashwright.jobs_worker.domain.objects import Entry, File, LastChange

MAX_ENTRIES = 50_000
"""Default limit on files and directories together."""

MAX_TOTAL_BYTES = 1 << 30
"""Default limit on the bytes of all resource files."""

# Non-blocking, because a pipe may have replaced the file since ``stat``, and opening a pipe can block.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
DIRECTORY_FLAGS = _FILE_FLAGS | os.O_DIRECTORY
# With O_PATH, where the system has it, the right to search a directory is enough to pass through it.
_TRAVERSAL_FLAGS = DIRECTORY_FLAGS | getattr(os, "O_PATH", 0)

_SHORTAGE_ERRORS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Errors of a worker with too many open files or too little memory."""

_DISK_ERRORS = frozenset({errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN})
"""Errors of a failing disk or of a network file system."""


class DirectoryCheckout:
    """The files of a local directory.

    ``path`` is absolute or relative to the first of ``permitted_directories``. ``max_entries`` is the limit of files and directories
    together, ``max_file_bytes`` the limit for one file and ``max_total_bytes`` for all files. Raises Forbidden if the path is not
    permitted.
    """

    def __init__(
        self,
        path: str,
        permitted_directories: Sequence[Path],
        *,
        max_entries: int = MAX_ENTRIES,
        max_total_bytes: int = MAX_TOTAL_BYTES,
        max_file_bytes: int = MAX_FILE_BYTES,
    ) -> None:
        self._root = _permitted_root(path, permitted_directories)
        self._max_entries = max_entries
        self._max_total_bytes = max_total_bytes
        self.max_file_bytes = max_file_bytes

    @property
    def commit(self) -> str:
        """An empty string: a local directory has no commits."""
        return ""

    async def check_readable(self) -> None:
        """Check that the directory exists and can be read. Raises NotFound, Forbidden or SourceFailed."""
        os.close(await asyncio.to_thread(self.open_root))

    async def entries(self) -> Sequence[Entry]:
        """Return all entries. When cancelled, the walk ends after the present file."""
        cancelled = Event()
        try:
            return await asyncio.to_thread(self._entries, cancelled)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def entries_at(self, paths: Collection[str]) -> Sequence[Entry]:
        """Return the entries of the existing files among ``paths``."""
        return await asyncio.to_thread(lambda: [entry for path in sorted(paths) for entry in self._entry_at(path)])

    async def with_sizes(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return the entries unchanged: the walk has added their sizes already."""
        return entries

    async def last_changes(self, paths: Collection[str]) -> Mapping[str, LastChange]:
        """Return when files were last written. The author is unknown."""
        return await asyncio.to_thread(self._last_changes, paths)

    async def difference_since(self, base_commit: str, extra_paths: Collection[str] = ()) -> None:
        """Return None: a local directory keeps no earlier files."""

    def open_reader(self) -> Callable[[str], File]:
        """Return a function that reads a file by path."""
        return self._read_file

    def reading(self, checksums: Sequence[str]) -> AbstractAsyncContextManager[Callable[[str, str], File]]:
        """Return a context with a function that reads a file by path. The checksum is ignored: the file may have changed since."""
        return nullcontext(lambda path, _: self._read_file(path))

    def _entries(self, cancelled: Event) -> list[Entry]:
        entries: list[Entry] = []
        total_bytes = 0
        root_descriptor = self.open_root()
        try:
            for entry in self._walk(root_descriptor, ""):
                if cancelled.is_set():
                    break
                entries.append(entry)
                # Only resource files are read, and only files that were read have a checksum.
                total_bytes += entry.size if entry.checksum else 0
                self._check_limits(len(entries), total_bytes)
        except OSError as fault:
            raise _root_error(self._root, fault) from fault
        finally:
            os.close(root_descriptor)
        return entries

    def _check_limits(self, entries: int, total_bytes: int) -> None:
        if entries > self._max_entries:
            raise TooLarge(
                f"the folder holds more than {self._max_entries} files and directories: split it or raise DASHWRIGHT_REPOSITORY_FILES"
            )
        if total_bytes > self._max_total_bytes:
            raise TooLarge(
                f"the resource files of the folder have more than {self._max_total_bytes} bytes: "
                "split it or raise DASHWRIGHT_REPOSITORY_BYTES"
            )

    def open_root(self) -> int:
        """Return a descriptor of the directory. Raises NotFound, Forbidden or SourceFailed."""
        try:
            return open_below(os.open("/", _TRAVERSAL_FLAGS), self._root.parts[1:], DIRECTORY_FLAGS)
        except OSError as fault:
            raise _root_error(self._root, fault) from fault

    def _walk(self, descriptor: int, parent_path: str) -> Iterator[Entry]:
        """Yield the content of a directory. Raise OSError if the directory itself cannot be listed or searched."""
        for name in sorted(os.listdir(descriptor)):
            path = parent_path + _printable(name)
            try:
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except FileNotFoundError:
                # Deleted while the directory was read: treated as if it had never existed.
                continue
            if stat.S_ISDIR(status.st_mode):
                yield from self._descend(descriptor, name, path + "/")
            else:
                yield from self._read_entry(descriptor, name, path, status)

    def _read_entry(self, descriptor: int, name: str, path: str, status: os.stat_result) -> Iterator[Entry]:
        """Yield the entry of a file, unless it was just deleted. Only a resource file or ``_folder.json`` is read and has a checksum."""
        try:
            if not stat.S_ISREG(status.st_mode):
                yield Entry(path, fault=_refused_type_message(status.st_mode))
            elif not (paths.is_resource(path) or paths.is_folder_file(path)) or paths.is_hidden(path):
                yield Entry(path, size=status.st_size)
            else:
                check_size(status.st_size, self.max_file_bytes)
                file = read_at(descriptor, (name,), self.max_file_bytes)
                yield Entry(path, file.checksum, len(file.body))
        except FileNotFoundError:
            return
        except OSError as fault:
            yield Entry(path, fault=_fault_message(path, fault))
        except TooLarge as fault:
            yield Entry(path, fault=fault.message)

    def _entry_at(self, path: str) -> Iterator[Entry]:
        """Yield the file at a path, unless it is missing."""
        try:
            file = self._read_file(path)
        except NotFound:
            return
        except (Forbidden, TooLarge) as fault:
            yield Entry(path, fault=fault.message)
        else:
            yield Entry(path, file.checksum, len(file.body))

    def _descend(self, descriptor: int, name: str, path: str) -> Iterator[Entry]:
        """Yield a directory and everything below it; hidden and very deep directories are named but not entered.

        An unreadable directory has a further entry with the fault.
        """
        try:
            if not paths.is_hidden(path) and path.count("/") < paths.MAX_WALK_DEPTH:
                child_descriptor = os.open(name, DIRECTORY_FLAGS, dir_fd=descriptor)
                try:
                    yield from self._walk(child_descriptor, path)
                finally:
                    os.close(child_descriptor)
        except FileNotFoundError:
            pass
        except OSError as fault:
            yield Entry(path, fault=_fault_message(path, fault))
        yield Entry(path)

    def _last_changes(self, paths: Collection[str]) -> dict[str, LastChange]:
        root_descriptor = self.open_root()
        try:
            return {
                path: LastChange(milliseconds) for path in paths if (milliseconds := _modification_time(root_descriptor, path)) is not None
            }
        finally:
            os.close(root_descriptor)

    def _read_file(self, path: str) -> File:
        root_descriptor = self.open_root()
        try:
            return read_at(root_descriptor, path.split("/"), self.max_file_bytes)
        except FileNotFoundError as fault:
            raise NotFound("the file was deleted during the sync; the next sync handles that") from fault
        except OSError as fault:
            raise Forbidden(_fault_message(path, fault)) from fault
        finally:
            os.close(root_descriptor)


def _permitted_root(path: str, permitted_directories: Sequence[Path]) -> Path:
    """Return the resolved path. Raises Forbidden if the path, as written or with links resolved, is outside the permitted directories."""
    if not permitted_directories:
        raise Forbidden("no folder is permitted for local repositories: set DASHWRIGHT_PERMITTED_PATHS")
    normalized = Path(os.path.normpath(permitted_directories[0] / path))
    for directory in permitted_directories:
        if normalized.is_relative_to(os.path.normpath(directory)):
            resolved = normalized.resolve()
            if resolved.is_relative_to(directory.resolve()):
                return resolved
    permitted_list = ", ".join(map(str, permitted_directories))
    raise Forbidden(f"path {path!r} is not in a permitted folder: use one of {permitted_list}, or set DASHWRIGHT_PERMITTED_PATHS")


def open_below(descriptor: int, names: Iterable[str], flags: int) -> int:
    """Open a path below a directory, name by name, and return its descriptor. ``descriptor``, that of the directory, is closed.

    Raises OSError, with ELOOP or ENOTDIR for a link anywhere on the way.
    """
    steps = list(names)
    for index, name in enumerate(steps):
        try:
            next_descriptor = os.open(name, flags if index == len(steps) - 1 else _TRAVERSAL_FLAGS, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = next_descriptor
    return descriptor


def _modification_time(root_descriptor: int, path: str) -> int | None:
    """Return when a file was last written, in Unix milliseconds; None if that is unknown."""
    parent_path, _, name = path.rpartition("/")
    try:
        directory = open_below(os.dup(root_descriptor), parent_path.split("/"), DIRECTORY_FLAGS) if parent_path else os.dup(root_descriptor)
        try:
            return os.stat(name, dir_fd=directory, follow_symlinks=False).st_mtime_ns // 1_000_000
        finally:
            os.close(directory)
    except OSError:
        return None


def read_at(descriptor: int, names: Sequence[str], max_file_bytes: int) -> File:
    """Return the regular file at the path ``names`` below a directory.

    Raises OSError, and TooLarge for more than ``max_file_bytes`` bytes.
    """
    file_descriptor = open_below(os.dup(descriptor), names, _FILE_FLAGS)
    with open(file_descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
        mode = os.fstat(file_descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, _refused_type_message(mode))
        body = file.read(max_file_bytes + 1)
    check_size(len(body), max_file_bytes)
    return File(body, hashlib.sha1(body, usedforsecurity=False).hexdigest())


def _root_error(root: Path, fault: OSError) -> NotFound | Forbidden:
    if fault.errno == errno.ENOENT:
        return NotFound(f"directory not found: {root}")
    return Forbidden(f"directory {root} cannot be read: {_fault_message(f'directory {root}', fault)}")


def _fault_message(subject: str, fault: OSError) -> str:
    """Return why this file or directory cannot be read. Raises SourceFailed if the disk or the worker is at fault."""
    if fault.errno in _SHORTAGE_ERRORS:
        raise SourceFailed(
            f"{subject} cannot be read: {os.strerror(fault.errno)}; raise this limit for the worker, or let it run fewer jobs concurrently"
        ) from fault
    if fault.errno in _DISK_ERRORS:
        raise SourceFailed(f"{subject} cannot be read: {os.strerror(fault.errno)}; check the disk or mount") from fault
    # The error for a link that is not followed is ELOOP on Linux, and EMLINK on FreeBSD.
    if fault.errno in (errno.ELOOP, errno.EMLINK):
        return _refused_type_message(stat.S_IFLNK)
    if fault.errno in (errno.EACCES, errno.EPERM):
        return "the worker may not read it: give its user the right to"
    return fault.strerror or str(fault)


def _refused_type_message(mode: int) -> str:
    type_names = {
        stat.S_IFLNK: "a symbolic link",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFBLK: "a device",
        stat.S_IFCHR: "a device",
        stat.S_IFDIR: "a directory",
    }
    return f"{type_names.get(stat.S_IFMT(mode), 'not a regular file')} is not followed or opened: put the file itself there"


def _printable(name: str) -> str:
    """Return a name with the bytes that are not UTF-8 escaped: the file is refused later but can be shown."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
