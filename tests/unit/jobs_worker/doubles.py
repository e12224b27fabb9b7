"""Fakes of the ports of a sync, and functions that run a sync or preview with them."""

import hashlib
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import orjson

from dashwright.common.errors import DashwrightError, NotFound
from dashwright.common.jobs import paths
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.kinds.annotations import FOLDER_KEY, MANAGED_BY, MANAGER_ID, SOURCE_CHECKSUM, SOURCE_PATH
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.provisioning import SyncTarget
from dashwright.jobs_worker.actions.preview import Preview, preview
from dashwright.jobs_worker.actions.sync import SyncJob, SyncTools, sync
from dashwright.jobs_worker.adapters.spool import FileSpool
from dashwright.jobs_worker.domain.objects import (
    Change,
    Difference,
    Document,
    Entry,
    File,
    Key,
    ManagedObject,
    Manager,
    QuarantinedFile,
    Removal,
    Snapshot,
    Write,
)

REPOSITORY = "team-repo"


def dashboard_key(name: str) -> Key:
    """Return the key of a dashboard."""
    return Key("dashboard.grafana.app", "dashboards", name)


def folder_key(name: str) -> Key:
    """Return the key of a folder."""
    return Key("folder.grafana.app", "folders", name)


def dashboard_file(name: str, title: str = "A title") -> bytes:
    """Return the content of a classic file."""
    return orjson.dumps({"uid": name, "title": title, "panels": []})


class MemoryCheckout:
    """A checkout of ``files``, the bytes by path. A path that ends in ``/`` is an empty directory."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        #: Paths of the files that were read, in this order.
        self.reads: list[str] = []

    @property
    def commit(self) -> str:
        """An empty string, as for a local directory."""
        return ""

    async def entries(self) -> Sequence[Entry]:
        """Return the entries of all files, without those of the directories above them."""
        return [Entry(path) if path.endswith("/") else _file_entry(path, body) for path, body in self.files.items()]

    async def entries_at(self, paths: Collection[str]) -> Sequence[Entry]:
        """Return the entries of the existing files among ``paths``."""
        return [_file_entry(path, self.files[path]) for path in paths if path in self.files]

    async def difference_since(self, since: str, extra_paths: Collection[str] = ()) -> Difference | None:
        """Return None: the earlier files are not known."""
        return None

    def open_reader(self) -> Callable[[str], File]:
        """Return a function that reads a file by path, and records the path."""

        def read(path: str) -> File:
            self.reads.append(path)
            if path not in self.files:
                raise NotFound("file was deleted")
            return File(self.files[path], _checksum(self.files[path]))

        return read

    @asynccontextmanager
    async def reading(self, checksums: Sequence[str]) -> AsyncIterator[Callable[[str, str], File]]:
        """Yield a function that reads a file by path; the checksum is ignored."""
        read = self.open_reader()
        yield lambda path, _: read(path)


class Revision(MemoryCheckout):
    """The commit ``number`` in memory. ``before`` are the files of the commit with the next lower number.

    Directories exist while they contain files, as in git.
    """

    def __init__(self, number: int, files: Mapping[str, bytes], before: Mapping[str, bytes]) -> None:
        super().__init__(files)
        self.number = number
        self.before = before

    @property
    def commit(self) -> str:
        """The number of the commit."""
        return str(self.number)

    async def entries(self) -> Sequence[Entry]:
        """Return the entries of all files and directories."""
        entry_paths = {path for file in self.files for path in _directories_and_file(file)}
        return [Entry(path) if path.endswith("/") else Entry(path, _checksum(self.files[path])) for path in entry_paths]

    async def difference_since(self, since: str, extra_paths: Collection[str] = ()) -> Difference | None:
        """Return the difference from the previous commit; None for any other commit."""
        if since != str(self.number - 1):
            return None
        differing = {path for path in self.files.keys() | self.before.keys() if self.files.get(path) != self.before.get(path)}
        touched = frozenset(path for file in (*differing, *extra_paths) for path in _directories_and_file(file))
        return Difference(touched, [entry for entry in await self.entries() if entry.path in touched], base_commit=since)


def _directories_and_file(file: str) -> Iterator[str]:
    """Yield the directories above a file, from the root on, and then the file. A hidden directory ends the sequence."""
    for directory in reversed([*paths.directories(file)]):
        yield directory
        if paths.is_hidden(directory):
            return
    yield file


def _file_entry(path: str, body: bytes) -> Entry:
    """Return the entry of a file."""
    return Entry(path, checksum=_checksum(body), size=len(body))


def _checksum(body: bytes) -> str:
    """Return the checksum of a file in a local directory."""
    return hashlib.sha1(body).hexdigest()


@dataclass
class Store:
    """The stored objects of one namespace. ``commit`` is the commit that the last sync stored completely.

    ``apply`` checks that each change is possible in its order, and makes all changes or none.
    """

    objects: dict[Key, Write] = field(default_factory=dict)
    #: Changes of each call of ``apply``.
    applied: list[list[Change]] = field(default_factory=list)
    #: Error that each call of ``apply`` raises in place of storing its changes; None for a store that works.
    failure: DashwrightError | None = None
    commit: str = ""
    #: Files in quarantine by path.
    quarantine: dict[str, QuarantinedFile] = field(default_factory=dict)
    #: Quota of dashboards that one sync may create.
    max_created: int = 1000

    async def managed(self, namespace: str, repository: str) -> Sequence[ManagedObject]:
        """Return the objects that the repository manages."""
        return [_managed(write) for write in self.objects.values() if write.annotations.get(MANAGER_ID) == repository]

    async def managed_at(self, namespace: str, repository: str, paths: Collection[str], keys: Collection[Key]) -> Sequence[ManagedObject]:
        """Return the objects of the repository at one of the paths, or with one of the keys."""
        clean_paths = {path.rstrip("/") for path in paths}
        owned = await self.managed(namespace, repository)
        return [item for item in owned if (item.path and item.path in clean_paths) or item.key in keys]

    async def managers(self, namespace: str, keys: Sequence[Key]) -> Mapping[Key, Manager]:
        """Return the managers of the existing objects among ``keys``."""
        return {key: _manager(self.objects[key]) for key in keys if key in self.objects}

    async def quarantined(self) -> Sequence[QuarantinedFile]:
        """Return the files in quarantine."""
        return list(self.quarantine.values())

    async def documents(self, namespace: str, keys: Sequence[Key]) -> Mapping[Key, Document]:
        """Return the existing objects among ``keys``."""
        return {key: document(self.objects[key]) for key in keys if key in self.objects}

    async def quota_refusal(self, namespace: str, *, created: int, removed: int) -> str:
        """Return a refusal if more dashboards are created than the quota allows."""
        return "too many" if created > self.max_created else ""

    async def apply(self, namespace: str, changes: AsyncIterator[Change], snapshot: Snapshot) -> None:
        """Make all changes, after a check of each one, or raise ``failure``."""
        after, applied = dict(self.objects), []
        async for change in changes:
            applied.append(change)
            if isinstance(change, Removal):
                assert not any(write.folder == change.key.name for write in after.values()), "a folder is removed before its content"
                del after[change.key]
            else:
                assert change.is_new == (change.key not in after)
                assert not change.folder or folder_key(change.folder) in after, "a folder is created after its content"
                after[change.key] = change
        if self.failure:
            raise self.failure
        self.objects = after
        self.applied.append(applied)
        await self.store_snapshot(snapshot)

    async def store_snapshot(self, snapshot: Snapshot) -> None:
        """Store the commit, and replace the quarantine of the examined paths."""
        assert snapshot.base_commit in (None, self.commit)
        self.commit = snapshot.commit
        unexamined = {
            path: item
            for path, item in self.quarantine.items()
            if snapshot.examined_paths is not None and path not in snapshot.examined_paths
        }
        self.quarantine = unexamined | {item.path: item for item in snapshot.quarantined}

    def store_unrelated(self, name: str, annotations: Mapping[str, str] | None = None, *, folder: bool = False) -> Write:
        """Store an object that was not created by a sync of the repository."""
        key = folder_key(name) if folder else dashboard_key(name)
        self.objects[key] = Write(
            key,
            kind="Any",
            version="v0alpha1",
            extract=Extract(title="Unrelated"),
            folder="",
            spec=b"{}",
            is_new=True,
            annotations=annotations or {},
        )
        return self.objects[key]

    def dashboards(self) -> dict[str, Write]:
        """Return the dashboards by the path of their files."""
        return {self._path(write): write for key, write in self.objects.items() if key.resource == "dashboards"}

    def folders(self) -> dict[str, Write]:
        """Return the folders by the path of their directories."""
        return {self._path(write): write for key, write in self.objects.items() if key.resource == "folders"}

    @staticmethod
    def _path(write: Write) -> str:
        """Return the path that an object comes from."""
        return write.annotations.get(SOURCE_PATH, "")


def document(write: Write) -> Document:
    """Return an object in the form in which a store returns it with its body."""
    return Document(write.api_version, write.labels, write.annotations, write.spec)


def _managed(write: Write) -> ManagedObject:
    """Return an object in the form in which a store lists it."""
    annotations = write.annotations
    return ManagedObject(
        write.key,
        path=annotations.get(SOURCE_PATH, ""),
        checksum=annotations.get(SOURCE_CHECKSUM, ""),
        folder=annotations.get(FOLDER_KEY, ""),
        title=write.extract.title,
    )


def _manager(write: Write) -> Manager:
    """Return the manager that the annotations of an object name."""
    annotations = write.annotations
    return Manager(
        kind=annotations.get(MANAGED_BY, ""),
        identity=annotations.get(MANAGER_ID, ""),
        allows_edits=annotations.get("grafana.app/managerAllowsEdits") == "true",
    )


class Messages:
    """A reporter that records each new message, and the percentage of each report."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.percents: list[float] = []

    async def report(self, progress: JobProgress) -> None:
        """Record the message, if it is new, and the percentage."""
        if not self.texts or self.texts[-1] != progress.message:
            self.texts.append(progress.message)
        self.percents.append(progress.percent)


async def run_preview(
    checkout: MemoryCheckout, store: Store, *, target: SyncTarget = SyncTarget.INSTANCE, with_items: bool = True
) -> Preview:
    """Run the preview of a sync of all files."""
    job = SyncJob("default", REPOSITORY, title="The team", target=target, enabled=True)
    with FileSpool() as spool:
        return await preview(job, checkout, store, SyncTools(spool, AdmissionSettings()), with_items=with_items)


async def run_sync(
    files: Mapping[str, bytes] | MemoryCheckout,
    store: Store,
    *,
    target: SyncTarget = SyncTarget.INSTANCE,
    title: str = "The team",
    enabled: bool = True,
    messages: Messages | None = None,
    since: str = "",
) -> JobProgress:
    """Run a sync of the difference from the stored commit ``since``, or of all files if ``since`` is empty."""
    checkout = files if isinstance(files, MemoryCheckout) else MemoryCheckout(files)
    job = SyncJob("default", REPOSITORY, title=title, target=target, enabled=enabled)
    with FileSpool() as spool:
        difference = await checkout.difference_since(since, store.quarantine.keys()) if since else None
        return await sync(job, checkout, store, messages or Messages(), SyncTools(spool, AdmissionSettings()), difference)
