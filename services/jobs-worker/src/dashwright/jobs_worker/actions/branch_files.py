"""The files of a branch before an export, and the paths among them at which the export may write."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dashwright.common.errors import DashwrightError
from dashwright.common.jobs import paths
from dashwright.jobs_worker.domain.export import may_replace
from dashwright.jobs_worker.domain.folder_files import FolderFile, read_folder_file
from dashwright.jobs_worker.domain.objects import Entry, File, Key


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

    def checksum(self, path: str) -> str | None:
        """Return the checksum of the file at a path; None if nothing can be read there."""
        file = self.file(path)
        return file.checksum if file is not None else None

    def is_free(self, path: str, *, key: Key, body: bytes) -> bool:
        """Return whether an object may be written to a path without destroying another file."""
        if path not in self.entries:
            return not self.is_blocked(path)
        file = self.file(path)
        return file is not None and (file.body == body or may_replace(file.body, key))

    def has_folder_file(self, path: str, expected: FolderFile) -> bool:
        """Return whether the ``_folder.json`` at a path has the expected content, in any form."""
        file = self._folder_file(path)
        return file is not None and (file.name, file.title, file.description) == (expected.name, expected.title, expected.description)

    def folder_file_fault(self, path: str, expected: FolderFile) -> str:
        """Return why a ``_folder.json`` cannot be written, or an empty string. A file that names another folder is not replaced."""
        if path not in self.entries:
            return ""
        file = self._folder_file(path)
        if file is None:
            return f"{path} exists and is invalid: correct or delete it"
        return "" if file.name == expected.name else f"{path} names the folder {file.name!r}"

    def _folder_file(self, path: str) -> FolderFile | None:
        """Return the ``_folder.json`` at a path; None if it is missing or invalid."""
        file = self.file(path)
        try:
            return read_folder_file(file.body, None) if file is not None else None
        except DashwrightError:
            return None

    def is_blocked(self, path: str) -> bool:
        """Return whether a directory is at ``path``, or a file is at the path of a directory above ``path``."""
        return f"{path}/" in self.entries or any(self._is_file_or_fault(directory) for directory in paths.directories(path))

    def _is_file_or_fault(self, path: str) -> bool:
        """Return whether a file is in place of a directory, or the directory cannot be read."""
        return path.rstrip("/") in self.entries or (path in self.entries and bool(self.entries[path].fault))
