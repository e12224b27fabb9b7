"""Data that checkout, plan and store exchange: plain, frozen, without behaviour."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from dashwright.common.kinds.kind import Extract
from dashwright.common.models.provisioning import RepositorySpec

ACTOR: Final = "access-policy:provisioning"
"""The actor of work that no user requested, and ``createdBy`` of everything that a job writes."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A stored repository, as its readers need it."""

    namespace: str
    name: str
    uid: str
    #: Generation of the spec.
    generation: int
    spec: RepositorySpec
    #: Commit of the last sync, empty before the first sync.
    commit: str = ""
    #: Dashboards from this repository are stored.
    has_dashboards: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a checkout."""

    #: A directory ends in ``/``.
    path: str
    #: Empty for a directory.
    checksum: str = ""
    #: Bytes.
    size: int = 0
    #: Reason why the entry cannot be read, such as a symbolic link. It is refused then, and nothing below it is known.
    fault: str = ""


@dataclass(frozen=True, slots=True)
class LastChange:
    """The last change of a file."""

    #: Unix milliseconds.
    at: int
    #: Empty for a file in a folder.
    author: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between two commits."""

    #: Added, changed and removed files, and all directories above them. A directory ends in ``/``.
    paths: frozenset[str]
    #: The entries that exist now at these paths.
    entries: Sequence[Entry]
    #: Files and directories added, less those removed.
    growth: int = 0
    #: The earlier commit.
    since: str = ""
    #: Directories that become folders without a resource in them, because a client creates them.
    folders: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class File:
    """A file that was read in one go."""

    body: bytes
    #: Checksum of exactly these bytes.
    checksum: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one file."""

    path: str
    #: New bytes; None removes the file.
    body: bytes | None
    #: Checksum of the present file, None if there must be none. Only folders are checked: in git the base commit is.
    replaces: str | None


@dataclass(frozen=True, slots=True)
class GitIdentity:
    """The name and address of an author in git."""

    name: str
    email: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A commit to make."""

    #: Iterated one by one, so that they need not be in memory together.
    edits: Iterable[Edit]
    by: GitIdentity
    message: str
    #: Time of the author; None for now.
    at: datetime | None = None


class Key(NamedTuple):
    """The identity of an object in a namespace."""

    group: str
    #: Plural.
    resource: str
    name: str


@dataclass(frozen=True, slots=True)
class ManagedObject:
    """A stored object that the repository owns."""

    key: Key
    #: The path of a folder may end in ``/``; that of the root folder is empty.
    path: str
    checksum: str = ""
    folder: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class QuarantinedFile:
    """A file or directory that could not be stored, with the reason."""

    path: str
    message: str
    #: Name of its object, if known.
    name: str = ""
    #: Checksum of the bytes if they are the reason, else empty.
    checksum: str = ""
    #: Fingerprint of the rules that refused the bytes. Empty for another reason; every sync then examines the file again.
    rules: str = ""
    #: The file has the same bytes as the one that its object comes from, which is not an error.
    is_copy: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The stored state of a repository, apart from its objects, after a plan is written."""

    #: Commit of the files, empty for a folder.
    commit: str = ""
    #: Commit at which the paths outside ``looked_at`` were examined; None if all were examined now.
    since: str | None = None
    #: Examined paths, None for all.
    looked_at: AbstractSet[str] | None = None
    #: Files among ``looked_at`` that could not be stored.
    quarantined: Sequence[QuarantinedFile] = ()
    #: Number of files and directories; with ``since`` the difference from that commit.
    entries: int = 0


@dataclass(frozen=True, slots=True)
class Owner:
    """The manager of a stored object."""

    #: ``repo`` or the name of another tool; empty for an unmanaged object.
    kind: str = ""
    identity: str = ""
    allows_edits: bool = False
    #: Folder of the object, empty at the root.
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Write:
    """An object to create or update, complete: members that are missing here are removed, except those that the store adds."""

    key: Key
    kind: str
    #: Version of the file.
    version: str
    #: Values that the kind reads from the spec.
    extract: Extract
    #: Empty at the root; also among the annotations.
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
    """An object as it is stored."""

    api_version: str
    labels: Mapping[str, str]
    #: They include the folder.
    annotations: Mapping[str, str]
    #: JSON.
    spec: bytes


@dataclass(frozen=True, slots=True)
class Removal:
    """An object to delete."""

    key: Key


Change = Write | Removal
