"""What passes between a checkout, the plan and the store: plain, frozen, without behaviour."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dashwright.common.kinds.kind import Extract
from dashwright.common.models.provisioning import RepositorySpec


@dataclass(frozen=True, slots=True)
class Repository:
    """A stored repository, as those see it who read from it. ``generation`` is that of its spec."""

    namespace: str
    name: str
    uid: str
    generation: int
    spec: RepositorySpec


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
class Difference:
    """Where two commits differ. ``paths``: the files that came, changed or went, and all directories above them; a directory ends in ``/``.

    ``entries`` are those of the paths that are there now.
    """

    paths: frozenset[str]
    entries: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class File:
    """What was read in one go, with the checksum of exactly these bytes."""

    body: bytes
    checksum: str


class Key(NamedTuple):
    """What identifies an object in a namespace; ``resource`` is the plural."""

    group: str
    resource: str
    name: str


@dataclass(frozen=True, slots=True)
class Managed:
    """A stored object that the repository owns. The path of a folder may end in ``/``; that of the root folder is empty."""

    key: Key
    path: str
    checksum: str = ""
    folder: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who manages a stored object: ``repo`` and its name, or another tool; ``kind`` is empty where nobody does."""

    kind: str = ""
    identity: str = ""
    allows_edits: bool = False


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
class Removal:
    """An object to delete."""

    key: Key


Change = Write | Removal
