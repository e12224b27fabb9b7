"""A checkout of a folder on this machine.

The folder may be anywhere below a permitted one, but nothing in it leads out: symbolic links are not followed, neither on the way to the
folder nor inside it, and only regular files are opened. Every step uses the descriptor of the directory before it, so a link that is
created in between is refused as well.

An unreadable file or directory is an entry with a fault, and its stored objects are kept. A failing disk or process is not the fault of one
file: it ends the sync.
"""

import asyncio
import errno
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event

from dashwright.common.errors import Forbidden, NotFound, SourceFailed, TooLarge
from dashwright.common.jobs import paths
from dashwright.jobs_worker.domain.file_forms import LARGEST_FILE, check_size
from dashwright.jobs_worker.domain.objects import Entry, File, LastChange

MOST_ENTRIES = 50_000
MOST_BYTES = 1 << 30

# Non-blocking: a pipe that takes a file's place between look and open must not hold the worker.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
DIRECTORY = _FILE | os.O_DIRECTORY
# On the way down, where the system has it, the right to search is enough.
_STEP = DIRECTORY | getattr(os, "O_PATH", 0)

_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_DISK_FAILURES = frozenset({errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN})


class DirectoryCheckout:
    """The files of a folder.

    ``path`` is absolute or relative to the first permitted folder. ``most_entries`` limits files and directories together, ``largest`` the
    bytes of a file that is read, ``most_bytes`` those of all. Raises Forbidden if the path is not in a permitted folder.
    """

    def __init__(
        self,
        path: str,
        permitted: Sequence[Path],
        *,
        most_entries: int = MOST_ENTRIES,
        most_bytes: int = MOST_BYTES,
        largest: int = LARGEST_FILE,
    ) -> None:
        self._root = _permitted_root(path, permitted)
        self._most_entries = most_entries
        self._most_bytes = most_bytes
        self.largest = largest

    @property
    def commit(self) -> str:
        """An empty string: a folder has no commits."""
        return ""

    async def check_readable(self) -> None:
        """Return if the folder exists and may be read. Raises NotFound, Forbidden or SourceFailed."""
        os.close(await asyncio.to_thread(self.open_root))

    async def entries(self) -> Sequence[Entry]:
        """Return all entries. When cancelled, the walk ends after the present file."""
        cancelled = Event()
        try:
            return await asyncio.to_thread(self._entries, cancelled)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def with_sizes(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return the entries unchanged: the walk has added their sizes already."""
        return entries

    async def last_changes(self, paths: Collection[str]) -> Mapping[str, LastChange]:
        """Return when files were last written. The author is unknown."""
        return await asyncio.to_thread(self._last_changes, paths)

    async def difference_since(self, since: str, also: Collection[str] = ()) -> None:
        """Return None: a folder keeps no earlier state."""

    def open_reader(self) -> Callable[[str], File]:
        """Return a function that reads a file by path."""
        return self._read

    def _entries(self, cancelled: Event) -> list[Entry]:
        found: list[Entry] = []
        read = 0
        root = self.open_root()
        try:
            for entry in self._walk(root, ""):
                if cancelled.is_set():
                    break
                found.append(entry)
                read += entry.size if entry.checksum else 0
                self._check_limits(len(found), read)
        except OSError as fault:
            raise _root_refusal(self._root, fault) from fault
        finally:
            os.close(root)
        return found

    def _check_limits(self, entries: int, read: int) -> None:
        if entries > self._most_entries:
            raise TooLarge(
                f"the folder holds more than {self._most_entries} files and directories: split it or raise DASHWRIGHT_REPOSITORY_FILES"
            )
        if read > self._most_bytes:
            raise TooLarge(
                f"the resource files of the folder have more than {self._most_bytes} bytes: split it or raise DASHWRIGHT_REPOSITORY_BYTES"
            )

    def open_root(self) -> int:
        """Return a descriptor of the folder. Raises NotFound, Forbidden or SourceFailed."""
        try:
            return open_below(os.open("/", _STEP), self._root.parts[1:], DIRECTORY)
        except OSError as fault:
            raise _root_refusal(self._root, fault) from fault

    def _walk(self, descriptor: int, above: str) -> Iterator[Entry]:
        """Yield the content of a directory. Raise OSError if the directory itself cannot be listed or searched."""
        for name in sorted(os.listdir(descriptor)):
            path = above + _printable(name)
            try:
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except FileNotFoundError:
                # Deleted while the folder was read: treated as if it had never existed.
                continue
            if stat.S_ISDIR(status.st_mode):
                yield from self._descend(descriptor, name, path + "/")
            else:
                yield from self._look_at(descriptor, name, path, status)

    def _look_at(self, descriptor: int, name: str, path: str, status: os.stat_result) -> Iterator[Entry]:
        try:
            if not stat.S_ISREG(status.st_mode):
                yield Entry(path, fault=_special(status.st_mode))
            elif not paths.is_resource(path) or paths.is_hidden(path):
                yield Entry(path, size=status.st_size)
            else:
                check_size(status.st_size, self.largest)
                file = read_at(descriptor, (name,), self.largest)
                yield Entry(path, file.checksum, len(file.body))
        except FileNotFoundError:
            return
        except OSError as fault:
            yield Entry(path, fault=_reason(path, fault))
        except TooLarge as fault:
            yield Entry(path, fault=fault.message)

    def _descend(self, descriptor: int, name: str, path: str) -> Iterator[Entry]:
        """Yield a directory and everything below it; hidden and very deep directories are named but not entered."""
        try:
            if not paths.is_hidden(path) and path.count("/") < paths.DEEPEST_WALK:
                inside = os.open(name, DIRECTORY, dir_fd=descriptor)
                try:
                    yield from self._walk(inside, path)
                finally:
                    os.close(inside)
        except FileNotFoundError:
            pass
        except OSError as fault:
            yield Entry(path, fault=_reason(path, fault))
        yield Entry(path)

    def _last_changes(self, paths: Collection[str]) -> dict[str, LastChange]:
        root = self.open_root()
        try:
            return {path: LastChange(at) for path in paths if (at := _written_at(root, path)) is not None}
        finally:
            os.close(root)

    def _read(self, path: str) -> File:
        root = self.open_root()
        try:
            return read_at(root, path.split("/"), self.largest)
        except FileNotFoundError as fault:
            raise NotFound("the file was deleted during the sync; the next sync handles that") from fault
        except OSError as fault:
            raise Forbidden(_reason(path, fault)) from fault
        finally:
            os.close(root)


def _permitted_root(path: str, permitted: Sequence[Path]) -> Path:
    """Return the resolved path. It is checked as written and with every link resolved, so neither ``..`` nor a linked parent leads out."""
    if not permitted:
        raise Forbidden("no folder is permitted for local repositories: set DASHWRIGHT_PERMITTED_PATHS")
    written = Path(os.path.normpath(permitted[0] / path))
    for folder in permitted:
        if written.is_relative_to(os.path.normpath(folder)):
            resolved = written.resolve()
            if resolved.is_relative_to(folder.resolve()):
                return resolved
    allowed = ", ".join(str(folder) for folder in permitted)
    raise Forbidden(f"path {path!r} is not in a permitted folder: use one of {allowed}, or set DASHWRIGHT_PERMITTED_PATHS")


def open_below(descriptor: int, parts: Iterable[str], flags: int) -> int:
    """Open a path step by step and return its descriptor; ``descriptor`` is closed.

    A link anywhere on the way is refused with ELOOP or ENOTDIR.
    """
    steps = list(parts)
    for index, part in enumerate(steps):
        try:
            below = os.open(part, flags if index == len(steps) - 1 else _STEP, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor


def _written_at(root: int, path: str) -> int | None:
    """Return when a file was last written, in Unix milliseconds; None if that is unknown."""
    above, _, name = path.rpartition("/")
    try:
        directory = open_below(os.dup(root), above.split("/"), DIRECTORY) if above else os.dup(root)
        try:
            return os.stat(name, dir_fd=directory, follow_symlinks=False).st_mtime_ns // 1_000_000
        finally:
            os.close(directory)
    except OSError:
        return None


def read_at(descriptor: int, parts: Sequence[str], largest: int) -> File:
    """Return a regular file below a directory. Raises OSError, and TooLarge for more than ``largest`` bytes."""
    opened = open_below(os.dup(descriptor), parts, _FILE)
    with open(opened, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
        mode = os.fstat(opened).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, _special(mode))
        body = file.read(largest + 1)
    check_size(len(body), largest)
    return File(body, hashlib.sha1(body, usedforsecurity=False).hexdigest())


def _root_refusal(root: Path, fault: OSError) -> NotFound | Forbidden:
    if fault.errno == errno.ENOENT:
        return NotFound(f"directory not found: {root}")
    return Forbidden(f"directory {root} cannot be read: {_reason(f'directory {root}', fault)}")


def _reason(what: str, fault: OSError) -> str:
    """Return why this file or directory cannot be read. Raises SourceFailed if the disk or the worker is at fault."""
    if fault.errno in _SHORTAGES:
        raise SourceFailed(f"{what} cannot be read: {os.strerror(fault.errno)}; give the worker more, or fewer concurrent jobs") from fault
    if fault.errno in _DISK_FAILURES:
        raise SourceFailed(f"{what} cannot be read: {os.strerror(fault.errno)}; check the disk or mount") from fault
    if fault.errno in (errno.ELOOP, errno.EMLINK):
        return _special(stat.S_IFLNK)
    if fault.errno in (errno.EACCES, errno.EPERM):
        return "the worker may not read it: give its user the right to"
    return fault.strerror or str(fault)


def _special(mode: int) -> str:
    kinds = {
        stat.S_IFLNK: "a symbolic link",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFBLK: "a device",
        stat.S_IFCHR: "a device",
        stat.S_IFDIR: "a directory",
    }
    return f"{kinds.get(stat.S_IFMT(mode), 'not a regular file')} is not followed or opened: put the file itself there"


def _printable(name: str) -> str:
    """Return a name with the bytes that are not UTF-8 escaped: the file is refused later but can be shown."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
