"""The names that ``_folder.json`` files claim for folders, and the decision on which directory gets each name."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from dashwright.jobs_worker.domain.folder_files import FolderFiles
from dashwright.jobs_worker.domain.folders import shallow_first
from dashwright.jobs_worker.domain.objects import ManagedObject


@dataclass(slots=True)
class DecidedClaims:
    """The decisions on all claims."""

    #: Names of folders by directory.
    names: dict[str, str] = field(default_factory=dict)
    #: The reasons why other directories did not get the names that they claim, by directory.
    refusals: dict[str, str] = field(default_factory=dict)


def decide_claims(
    folder_files: FolderFiles,
    stored_folders: Sequence[ManagedObject],
    present_directories: AbstractSet[str],
    names_elsewhere: AbstractSet[str],
    foreign_names: Mapping[str, str],
) -> DecidedClaims:
    """Decide which directory gets each claimed name.

    The directory whose folder has the name keeps it; otherwise the first directory gets it, parents before children. ``stored_folders``
    are those of the repository at the examined directories, and ``names_elsewhere`` the names of its other folders. ``foreign_names`` are
    names that no directory can get, with the reason.
    """
    decided = DecidedClaims()
    holders = _holders(folder_files, stored_folders, present_directories)
    claimants: defaultdict[str, list[str]] = defaultdict(list)
    for directory in shallow_first(folder_files.files):
        claimants[folder_files.files[directory].name].append(directory)
    for name, directories in claimants.items():
        if reason := foreign_names.get(name) or (_used_elsewhere(name) if name in names_elsewhere else ""):
            decided.refusals |= dict.fromkeys(directories, reason)
            continue
        holder = holders.get(name, directories[0])
        # A holder without a valid file does not claim the name, but prevents other directories from getting it.
        if holder in directories:
            decided.names[holder] = name
        decided.refusals |= {directory: _used_elsewhere(name) for directory in directories if directory != holder}
    return decided


def _used_elsewhere(name: str) -> str:
    return f"uid {name!r} is used by another directory"


def _holders(folder_files: FolderFiles, stored_folders: Sequence[ManagedObject], present_directories: AbstractSet[str]) -> dict[str, str]:
    """Return the directories that keep the names of their stored folders, by name.

    A directory loses the name if its file claims another one, or if the file that claimed the name was deleted. A
    directory with an invalid file keeps its name, and so does one that never had a file.
    """
    holders = {}
    for item in stored_folders:
        directory, name = item.directory, item.key.name
        file = folder_files.files.get(directory)
        if file is not None:
            keeps_name = file.name == name
        else:
            never_had_file = not item.checksum
            keeps_name = never_had_file or directory in folder_files.faults
        if directory in present_directories and keeps_name:
            holders[name] = directory
    return holders
