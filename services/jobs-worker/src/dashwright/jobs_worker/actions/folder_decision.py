"""The decision of a sync on the folders of directories: their names and titles, from ``_folder.json`` files and stored folders."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from dashwright.common.jobs import paths
from dashwright.common.kinds.registry import FOLDER
from dashwright.jobs_worker.domain.folder_claims import DecidedClaims, decide_claims
from dashwright.jobs_worker.domain.folder_files import FolderFile, FolderFiles, read_folder_files
from dashwright.jobs_worker.domain.folder_identity import folder_names, is_renamed, present_directories, stored_folders
from dashwright.jobs_worker.domain.folders import Folders
from dashwright.jobs_worker.domain.objects import Difference, Entry, File, Key, ManagedObject
from dashwright.jobs_worker.domain.ownership import write_refusal
from dashwright.jobs_worker.domain.scan import Fault
from dashwright.jobs_worker.ports import Checkout, ObjectStore


@dataclass(frozen=True, slots=True)
class FolderDecision:
    """The folders of the examined directories."""

    folders: Folders
    #: Stored objects of the examined paths.
    managed: list[ManagedObject]
    #: ``_folder.json`` files that are invalid or claim a name that their folder does not get.
    faults: list[Fault]
    #: Directories that are folders even without a dashboard, because they have or had a ``_folder.json``.
    directories: set[str]
    #: ``True`` if an existing directory gets a folder other than its stored one.
    is_renamed: bool


async def with_folder_files(checkout: Checkout, difference: Difference) -> Difference:
    """Return the difference together with the ``_folder.json`` files of all of its directories, changed or not."""
    candidates = {path + paths.FOLDER_FILE for path in difference.paths if path and paths.is_directory(path) and not paths.is_hidden(path)}
    unchanged_files = await checkout.entries_at(candidates - difference.paths)
    known_paths = difference.paths | {entry.path for entry in unchanged_files}
    return replace(difference, paths=known_paths, entries=[*difference.entries, *unchanged_files])


async def decide_folders(
    folders: Folders,
    namespace: str,
    checkout: Checkout,
    store: ObjectStore,
    entries: Sequence[Entry],
    difference: Difference | None,
    *,
    max_folder_depth: int,
) -> FolderDecision:
    """Read the ``_folder.json`` files among the entries, load the stored objects, and decide the folder of each directory.

    ``folders`` are those of the repository, without names. Without a ``difference`` all paths are examined. Raises SourceFailed if a
    file cannot be read because the disk or the mirror fails.
    """
    folder_files = await asyncio.to_thread(
        lambda: read_folder_files(entries, _reader(checkout), namespace, max_folder_depth=max_folder_depth)
    )
    claimed_keys = sorted({Key(FOLDER.group, FOLDER.plural, file.name) for file in folder_files.files.values()})
    managed, names_elsewhere = await _load_managed(folders, namespace, store, difference, claimed_keys)
    foreign_names = await _foreign_names(folders, namespace, store, managed, names_elsewhere, claimed_keys)
    decide = partial(_decide, folders, entries, folder_files, managed, names_elsewhere, foreign_names, checkout.commit)
    return await asyncio.to_thread(decide)


def _reader(checkout: Checkout) -> Callable[[str], File]:
    """Return a function that reads a file, and opens the checkout only for the first file."""
    readers: list[Callable[[str], File]] = []

    def read(path: str) -> File:
        if not readers:
            readers.append(checkout.open_reader())
        return readers[0](path)

    return read


async def _load_managed(
    folders: Folders, namespace: str, store: ObjectStore, difference: Difference | None, claimed_keys: Iterable[Key]
) -> tuple[list[ManagedObject], set[str]]:
    """Return the stored objects of the examined paths, and the names of stored folders at other paths."""
    if difference is None:
        return list(await store.managed(namespace, folders.repository)), set()
    examined_paths = {path.rstrip("/") for path in difference.paths} | {""}
    keys = {folders.key(path) for path in ("", *difference.paths) if paths.is_directory(path) and folders.name(path)}
    stored_objects = await store.managed_at(namespace, folders.repository, difference.paths, sorted(keys.union(claimed_keys)))
    managed = [item for item in stored_objects if item.path.rstrip("/") in examined_paths]
    return managed, {item.key.name for item in stored_objects if item.path.rstrip("/") not in examined_paths}


async def _foreign_names(
    folders: Folders,
    namespace: str,
    store: ObjectStore,
    managed: Iterable[ManagedObject],
    names_elsewhere: set[str],
    claimed_keys: Iterable[Key],
) -> Mapping[str, str]:
    """Return the claimed names that belong to other managers or to the repository's root folder, with the reason."""
    own_keys = {item.key for item in managed}
    unknown_keys = [key for key in claimed_keys if key not in own_keys and key.name not in names_elsewhere]
    managers = await store.managers(namespace, unknown_keys) if unknown_keys else {}
    reasons = {key.name: write_refusal(key, managers.get(key), folders.repository) for key in unknown_keys}
    reasons |= {key.name: "it is the uid of the repository's own folder" for key in claimed_keys if key.name == folders.name("")}
    return {name: f"uid {name!r} cannot be used: {reason}" for name, reason in reasons.items() if reason}


def _decide(
    folders: Folders,
    entries: Sequence[Entry],
    folder_files: FolderFiles,
    managed: list[ManagedObject],
    names_elsewhere: set[str],
    foreign_names: Mapping[str, str],
    commit: str,
) -> FolderDecision:
    """Return the decision, once everything that it needs is read."""
    folders_before = stored_folders(managed)
    present_paths = present_directories(entries, folders_before)
    claims = decide_claims(folder_files, folders_before, present_paths, names_elsewhere, foreign_names)
    names = folder_names(folders.repository, entries, present_paths, managed, names_elsewhere, claims.names, commit=commit)
    # The folder of an invalid file keeps its title, as a dashboard of an invalid file keeps its content.
    kept_files = {
        item.directory: FolderFile(item.key.name, item.title, checksum=item.checksum)
        for item in folders_before
        if item.directory in folder_files.faults and names.get(item.directory) == item.key.name
    }
    return FolderDecision(
        replace(folders, names=names, files={**folder_files.files, **kept_files}),
        managed,
        _faults(folder_files, claims),
        folder_files.files.keys() | {item.directory for item in folders_before if item.checksum and item.directory in present_paths},
        is_renamed(folders_before, names, present_paths),
    )


def _faults(folder_files: FolderFiles, claims: DecidedClaims) -> list[Fault]:
    """Return the faults of ``_folder.json`` files that are invalid or whose claim is refused, by path."""
    reasons = {**folder_files.faults, **claims.refusals}
    reasons_by_path = {directory + paths.FOLDER_FILE: reasons[directory] for directory in sorted(reasons)}
    return [Fault(path, f"{path} has no effect on the folder: {reason}", public_message=reason) for path, reason in reasons_by_path.items()]
