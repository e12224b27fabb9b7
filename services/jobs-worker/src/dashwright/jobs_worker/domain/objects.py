"""What passes between a checkout, the plan and the store: plain, frozen, without behaviour."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from dashwright.common.kinds.kind import Extract
from dashwright.common.models.provisioning import RepositorySpec

ACTOR: Final = "access-policy:provisioning"
"""Who does what nobody asked for, and whom ``createdBy`` names for what a job writes."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A stored repository, as those see it who read from it. ``generation`` is that of its spec, ``commit`` what was last synced of it.

    ``has_dashboards``: some that came from it are stored.
    """

    namespace: str
    name: str
    uid: str
    generation: int
    spec: RepositorySpec
    commit: str = ""
    has_dashboards: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a checkout. A directory's path ends in ``/`` and has no checksum.

    ``size`` is in bytes. ``fault`` says why it cannot be read (a symbolic link, a pipe, too large, a directory without the right to it); it
    is then there, but refused, and what lies below a refused directory is not known.
    """

    path: str
    checksum: str = ""
    size: int = 0
    fault: str = ""


@dataclass(frozen=True, slots=True)
class LastChange:
    """When a file was last changed, in Unix milliseconds, and by whom; ``author`` is empty of a file of a folder."""

    at: int
    author: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two commits differ. ``paths``: the files that came, changed or went, and all directories above them; a directory ends in ``/``.

    ``entries`` are those of the paths that are there now, ``growth`` how many files and directories there are more than before, ``since``
    the earlier commit. ``folders`` are directories that somebody makes from here: each becomes a folder although it holds no resource.
    """

    paths: frozenset[str]
    entries: Sequence[Entry]
    growth: int = 0
    since: str = ""
    folders: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class File:
    """What was read in one go, with the checksum of exactly these bytes."""

    body: bytes
    checksum: str


@dataclass(frozen=True, slots=True)
class Edit:
    """One file of a change: its new bytes, or None where it is removed.

    ``replaces`` is the checksum of the file that is there before, None where there must be none. Only a folder on disk is checked against
    it: in git the commit that the change is made on tells as much.
    """

    path: str
    body: bytes | None
    replaces: str | None


@dataclass(frozen=True, slots=True)
class GitIdentity:
    """Who a change is by, as a commit names its author."""

    name: str
    email: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A commit to be. ``edits`` are taken one by one, so that they need not all be in memory; ``at`` is when it was made, None for now."""

    edits: Iterable[Edit]
    by: GitIdentity
    message: str
    at: datetime | None = None


class Key(NamedTuple):
    """What identifies an object in a namespace; ``resource`` is the plural."""

    group: str
    resource: str
    name: str


@dataclass(frozen=True, slots=True)
class ManagedObject:
    """A stored object that the repository owns. The path of a folder may end in ``/``; that of the root folder is empty."""

    key: Key
    path: str
    checksum: str = ""
    folder: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class QuarantinedFile:
    """A file or directory that cannot go in, and why; ``name`` is that of its object, where it is known.

    ``checksum`` is that of the bytes, where these are the reason. ``rules`` are those that the bytes were refused by, empty where something
    else is the reason (somebody else's object, another file): every sync then looks at the file again. ``is_copy``: the file has the same
    bytes as the one that its object comes from, which is no error.
    """

    path: str
    message: str
    name: str = ""
    checksum: str = ""
    rules: str = ""
    is_copy: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is stored of a repository beside its objects, once a plan is written.

    ``commit`` is that of the files, empty of a directory. ``looked_at`` are the paths that were looked at, None for all; the others are as
    they were at the commit ``since``. ``quarantined`` are those of ``looked_at`` that cannot go in. ``entries`` counts the files and
    directories, or, with ``since``, how many more there are than at that commit.
    """

    commit: str = ""
    since: str | None = None
    looked_at: AbstractSet[str] | None = None
    quarantined: Sequence[QuarantinedFile] = ()
    entries: int = 0


@dataclass(frozen=True, slots=True)
class Owner:
    """Who manages a stored object: ``repo`` and its name, or another tool; ``kind`` is empty where nobody does.

    ``folder`` is where the object lies, empty at the root.
    """

    kind: str = ""
    identity: str = ""
    allows_edits: bool = False
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Write:
    """An object to create or update, complete: what it does not carry is not kept, save what the store itself adds.

    ``spec`` is compact JSON, ``extract`` what its kind reads from it. ``version`` is that of the file. ``folder`` is empty at the root
    and stands in the annotations, too.
    """

    key: Key
    kind: str
    version: str
    extract: Extract
    folder: str
    spec: bytes
    is_new: bool
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def api_version(self) -> str:
        return f"{self.key.group}/{self.version}"


@dataclass(frozen=True, slots=True)
class Document:
    """An object as it is stored. ``spec`` is JSON; the annotations tell of the folder, too."""

    api_version: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: bytes


@dataclass(frozen=True, slots=True)
class Removal:
    """An object to delete."""

    key: Key


Change = Write | Removal
