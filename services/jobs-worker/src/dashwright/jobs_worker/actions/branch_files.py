"""The files of a branch before an export, and the paths among them at which the export may write."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dashwright.common.errors import DashwrightError
from dashwright.common.jobs import paths
from dashwright.jobs_worker.domain.export import may_replace
from dashwright.jobs_worker.domain.objects import Entry, File


@dataclass(slots=True)
class BranchFiles:
    """The files of the branch before the export."""

    entries: Mapping[str, Entry]
    #: Reads a file by path; None if the branch has no files at all.
    read: Callable[[str], File] | None
    #: Path and content of the file that was read last, which several checks read in succession.
    _last_file: tuple[str, File] | None = None

    def file(self, path: str) -> File | None:
        """Return the file at a path; None if nothing can be read there."""
        if self.read is None or path not in self.entries or self.entries[path].fault:
            return None
        if self._last_file is None or self._last_file[0] != path:
            try:
                self._last_file = path, self.read(path)
            except DashwrightError as fault:
                if fault.is_server_error:
                    raise
                return None
        return self._last_file[1]

    def is_free(self, path: str, *, name: str, body: bytes) -> bool:
        """Return whether an object of that name may be written to a path without destroying another file."""
        if path not in self.entries:
            return not self.is_blocked(path)
        file = self.file(path)
        return file is not None and (file.body == body or may_replace(file.body, name))

    def is_blocked(self, path: str) -> bool:
        """Return whether a directory is at ``path``, or a file is at the path of a directory above ``path``."""
        return f"{path}/" in self.entries or any(self._is_file_or_fault(directory) for directory in paths.directories(path))

    def _is_file_or_fault(self, path: str) -> bool:
        return path.rstrip("/") in self.entries or (path in self.entries and bool(self.entries[path].fault))
