"""Data that checkout, plan and store exchange: plain, frozen, without behaviour."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from dashwright.common.kinds.kind import Extract
from dashwright.common.models.provisioning import RepositorySpec

PROVISIONING_ACTOR: Final = "access-policy:provisioning"
"""The actor of work that no user requested, and ``createdBy`` of everything that a job writes."""

SHORT_HASH_DIGITS: Final = 10
"""Digits of a commit hash in messages for users."""


@dataclass(frozen=True, slots=True)
class Repository:
    """The members of a stored repository that jobs and calls need."""

    namespace: str
    name: str
    uid: str
    #: Generation of the spec.
    generation: int
    spec: RepositorySpec
    #: Commit of the last sync, empty before the first sync.
    commit: str = ""
    #: ``True`` if dashboards from this repository are stored.
    has_dashboards: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or directory in a checkout."""

    #: A directory ends in ``/``.
    path: str
    #: Empty for a directory.
    checksum: str = ""
    #: Bytes.
    size: int = 0
    #: Reason why the entry cannot be read, such as that it is a symbolic link; empty for a readable entry. Entries below it are unknown.
    fault: str = ""
    is_submodule: bool = False


@dataclass(frozen=True, slots=True)
class LastChange:
    """The last change of a file."""

    #: Unix milliseconds.
    milliseconds: int
    #: Name of the author, empty for a file in a local directory.
    author: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between two states of the files, such as two commits."""

    #: Added, changed and removed files, and all directories above them. A directory ends in ``/``.
    paths: frozenset[str]
    #: The entries that exist now at these paths.
    entries: Sequence[Entry]
    #: Number of added files and directories minus the number of removed ones.
    growth: int = 0
    #: The earlier commit; empty if the difference is not between two commits.
    base_commit: str = ""
    #: Directories that become folders without a resource in them, because a client creates them.
    folders: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class File:
    """The content of a file with the checksum of that content."""

    body: bytes
    #: Checksum of exactly these bytes.
    checksum: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one file."""

    path: str
    #: New bytes; None removes the file.
    body: bytes | None
    #: Checksum of the present file; None if the file must not exist. Checked in local directories only: git checks the base commit.
    replaced_checksum: str | None


@dataclass(frozen=True, slots=True)
class GitIdentity:
    """The name and address of an author in git."""

    name: str
    email: str


@dataclass(frozen=True, slots=True)
class CommitDraft:
    """A commit that is not made yet."""

    #: An iterable that may produce edits on demand, so that not all are in memory together.
    edits: Iterable[Edit]
    author: GitIdentity
    message: str
    #: Time of the author; None for now.
    author_time: datetime | None = None


class Key(NamedTuple):
    """The identity of an object in a namespace."""

    group: str
    #: Plural name of the kind.
    resource: str
    name: str


@dataclass(frozen=True, slots=True)
class ManagedObject:
    """A stored object that the repository manages."""

    key: Key
    #: The path of a folder may end in ``/``; that of the root folder is empty.
    path: str
    checksum: str = ""
    folder: str = ""
    title: str = ""

    @property
    def directory(self) -> str:
        """The directory of a folder, with a slash at the end."""
        return self.path.rstrip("/") + "/"


@dataclass(frozen=True, slots=True)
class QuarantinedFile:
    """A file or directory that could not be stored, with the reason."""

    path: str
    message: str
    #: Name of its object, if known.
    name: str = ""
    #: Checksum of the file's bytes if the bytes are the reason, else empty.
    checksum: str = ""
    #: Fingerprint of the rules that refused the bytes. Empty for another reason; every sync then examines the file again.
    rules_fingerprint: str = ""
    #: ``True`` if the file has the same bytes as the file that its object comes from. This is not an error.
    is_copy: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The stored state of a repository, apart from its objects, after a plan is written."""

    #: Commit of the files, empty for a local directory.
    commit: str = ""
    #: Commit at which the paths outside ``examined_paths`` were examined; None if this sync examined all paths.
    base_commit: str | None = None
    #: Examined paths, None for all.
    examined_paths: AbstractSet[str] | None = None
    #: Files among ``examined_paths`` that could not be stored.
    quarantined: Sequence[QuarantinedFile] = ()
    #: Number of files and directories; with ``base_commit`` the change of that number since that commit.
    entry_count: int = 0


@dataclass(frozen=True, slots=True)
class Manager:
    """The manager of a stored object."""

    #: ``repo`` or the name of another tool; empty for an unmanaged object.
    kind: str = ""
    #: Name of the repository, or identifier of another tool.
    identity: str = ""
    #: ``True`` if other clients may change the object.
    allows_edits: bool = False
    #: Folder of the object, empty at the root.
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Write:
    """An object to create or update. Stored members that are missing here are removed, unless the store sets them."""

    key: Key
    kind: str
    #: API version of the object in the file, without the group.
    version: str
    #: Values that the kind extracts from the spec, such as the title.
    extract: Extract
    #: Name of the folder, empty at the root; the annotations contain it, too.
    folder: str
    #: Compact JSON.
    spec: bytes
    is_new: bool
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def api_version(self) -> str:
        """The group and version of the object."""
        return f"{self.key.group}/{self.version}"


@dataclass(frozen=True, slots=True)
class Document:
    """A stored object with its body."""

    api_version: str
    labels: Mapping[str, str]
    #: The annotations include the name of the folder.
    annotations: Mapping[str, str]
    #: JSON.
    spec: bytes


@dataclass(frozen=True, slots=True)
class Removal:
    """An object to delete."""

    key: Key


Change = Write | Removal
