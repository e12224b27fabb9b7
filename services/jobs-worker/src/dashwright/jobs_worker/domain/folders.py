"""The folders of the directories of a repository."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dashwright.common.document import write_json
from dashwright.common.jobs import paths
from dashwright.common.jobs.names import folder_name
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import FOLDER
from dashwright.jobs_worker.domain.objects import Key, ManagedObject, Write
from dashwright.jobs_worker.domain.ownership import annotations


@dataclass(frozen=True, slots=True)
class Folders:
    """The names and parents of one repository's folders."""

    repository: str
    title: str
    #: All objects are in a folder that has the repository's name and title; otherwise the top directories are at the root.
    rooted: bool
    #: Folder names by directory, without the root's.
    names: Mapping[str, str] = field(default_factory=dict)

    def name(self, directory: str) -> str:
        """Return the folder of a directory; for the root directory the root folder, or empty without one."""
        if directory:
            return self.names.get(directory) or folder_name(self.repository, directory)
        return self.repository if self.rooted else ""

    def key(self, directory: str) -> Key:
        """Return the key of a directory's folder."""
        return Key(FOLDER.group, FOLDER.plural, self.name(directory))

    def write(self, directory: str, *, is_new: bool) -> Write:
        """Return the folder as it must be stored."""
        title, above = self._title(directory), self._above(directory)
        return Write(
            key=self.key(directory),
            kind=FOLDER.kind,
            version=FOLDER.version,
            extract=Extract(title),
            folder=above,
            spec=write_json({"title": title}),
            is_new=is_new,
            annotations=annotations(self.repository, directory, "", above),
        )

    def is_current(self, directory: str, stored: ManagedObject) -> bool:
        """Return whether the stored folder is as it must be."""
        return (
            stored.title == self._title(directory)
            and stored.folder == self._above(directory)
            and stored.path.rstrip("/") == directory.rstrip("/")
        )

    def _title(self, directory: str) -> str:
        return directory.rstrip("/").rpartition("/")[2] if directory else self.title

    def _above(self, directory: str) -> str:
        return self.name(paths.parent(directory)) if directory else ""


def shallow_first(directories: Iterable[str]) -> list[str]:
    """Return the directories in an order in which each comes after the one above it."""
    return sorted(directories, key=lambda directory: (directory.count("/"), directory))
