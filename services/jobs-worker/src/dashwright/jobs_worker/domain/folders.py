"""The folders of the directories of a repository."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from dashwright.common.jobs import paths
from dashwright.common.jobs.names import folder_name
from dashwright.common.json_documents import write_json
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import FOLDER
from dashwright.jobs_worker.domain.folder_files import FolderFile
from dashwright.jobs_worker.domain.objects import Key, ManagedObject, Write
from dashwright.jobs_worker.domain.ownership import manager_annotations

_NO_FILE: Final = FolderFile("")


@dataclass(frozen=True, slots=True)
class Folders:
    """The names and parents of one repository's folders."""

    #: Name of the repository.
    repository: str
    #: Title of the repository.
    title: str
    #: ``True`` if all objects are in a folder with the name and title of the repository; otherwise top directories are at the root.
    has_root_folder: bool
    #: Folder names by directory, without the root directory.
    names: Mapping[str, str] = field(default_factory=dict)
    #: Contents of ``_folder.json`` files by directory. The name in a file has no effect if another directory has that name.
    files: Mapping[str, FolderFile] = field(default_factory=dict)

    def name(self, directory: str) -> str:
        """Return the folder name of a directory; for the root directory the name of the root folder, or an empty string without one."""
        if directory:
            return self.names.get(directory) or folder_name(self.repository, directory)
        return self.repository if self.has_root_folder else ""

    def key(self, directory: str) -> Key:
        """Return the key of a directory's folder."""
        return Key(FOLDER.group, FOLDER.plural, self.name(directory))

    def write_for(self, directory: str, *, is_new: bool) -> Write:
        """Return the write that stores the folder of a directory. ``is_new`` is ``True`` if the folder does not exist yet."""
        title, parent_name, file = self._title(directory), self._parent_name(directory), self.files.get(directory, _NO_FILE)
        spec = {"title": title} | ({"description": file.description} if file.description else {})
        return Write(
            key=self.key(directory),
            kind=FOLDER.kind,
            version=FOLDER.version,
            extract=Extract(title),
            folder=parent_name,
            spec=write_json(spec),
            is_new=is_new,
            annotations=manager_annotations(self.repository, directory, file.checksum, parent_name),
        )

    def is_current(self, directory: str, stored_folder: ManagedObject) -> bool:
        """Return whether the stored folder has the title, parent and path of its directory, and the content of its file."""
        return (
            stored_folder.title == self._title(directory)
            and stored_folder.folder == self._parent_name(directory)
            and stored_folder.path.rstrip("/") == directory.rstrip("/")
            and stored_folder.checksum == self.files.get(directory, _NO_FILE).checksum
        )

    def _title(self, directory: str) -> str:
        if not directory:
            return self.title
        return self.files.get(directory, _NO_FILE).title or directory.rstrip("/").rpartition("/")[2]

    def _parent_name(self, directory: str) -> str:
        return self.name(paths.parent(directory)) if directory else ""


def shallow_first(directories: Iterable[str]) -> list[str]:
    """Return the directories in an order in which each comes after its parent directory."""
    return sorted(directories, key=lambda directory: (directory.count("/"), directory))
