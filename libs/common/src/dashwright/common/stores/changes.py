"""The change feed: what happened to any object, in the order of resource versions."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.errors import Gone
from dashwright.common.kinds.kind import Kind, Storage
from dashwright.common.kinds.registry import KINDS

ACCESS: Final = "access"
"""The group of a change that is none of an object: the rules of access of a namespace."""

MOST_CHANGES: Final = 1_000_000
"""The feed is cut to so many changes, whatever their age."""

SETTLED: Final = timedelta(minutes=10)
"""By then a transaction has ended, one way or the other."""

_DROPPED_AT_ONCE: Final = 20_000

_sql = queries.load(__package__, "changes.sql")
_KINDS: Final[Mapping[tuple[str, str], Kind]] = MappingProxyType({(kind.group, kind.plural): kind for kind in KINDS})


class StreamName(IntEnum):
    """The two halves of the feed: each is in the order of its versions, one beside the other is not."""

    OBJECTS = 1
    JOBS = 2


@dataclass(frozen=True, slots=True)
class ObjectState:
    """What an object was at a version, but for its body. ``metadata``, ``status`` and ``labels`` are JSON text."""

    generation: int
    metadata: str
    status: str | None
    labels: str
    folder: str | None
    stored_version: str
    layout: bool
    title: str
    subtype: str


@dataclass(frozen=True, slots=True)
class Change:
    """One row of the feed.

    ``kind`` is None where it is not an object's. ``state`` is what the object became, or was last where it was deleted; ``old`` what an
    update found, with its version (jobs do not tell). ``spec`` is the body of a job; that of an object is read by its generation.
    """

    resource_version: int
    kind: Kind | None
    group: str
    namespace: str
    name: str
    uid: uuid.UUID
    type: str
    state: ObjectState
    old: ObjectState | None
    old_resource_version: int | None
    spec: str | None

    @property
    def moves_access(self) -> bool:
        """Whether others than before may see objects of the namespace: its rules changed, or a folder moved or went."""
        return self.kind is None and self.group == ACCESS

    @property
    def alters_tree(self) -> bool:
        """Whether a tree of folders and rules from before is out of date, be it by a folder more or less."""
        return self.moves_access or (self.kind is not None and self.kind.is_tree and self.old is None)


class TrimResult(NamedTuple):
    """The uids of the objects that dropped changes were of, and whether there may be more to drop."""

    objects: Sequence[uuid.UUID]
    is_more: bool


def stream_of(kind: Kind) -> StreamName:
    """The half of the feed that tells of a kind."""
    return StreamName.JOBS if kind.storage is Storage.JOBS else StreamName.OBJECTS


async def head(connection: Connection, stream_name: StreamName) -> int:
    """The newest version that this snapshot holds: where a list stands, and whence a watch goes on. Never 0, which stands for any."""
    position: int = await connection.fetchval(_sql.head, stream_name)
    return position


async def horizon(connection: Connection) -> int:
    """The newest version that was dropped: nothing is known of what happened up to it."""
    version: int = await connection.fetchval(_sql.horizon)
    return version


async def latest(connection: Connection) -> int:
    """The newest version that anybody has drawn, seen or not: one above it comes from another database."""
    version: int = await connection.fetchval(_sql.latest)
    return version


async def moved_access(connection: Connection, namespace: str, version: int) -> bool:
    """Whether others than before may see objects of a namespace since a version."""
    return bool(await connection.fetchval(_sql.moved_access, namespace, version))


async def after(
    connection: Connection,
    stream_name: StreamName,
    version: int,
    *,
    until: int,
    limit: int,
    kind: Kind | None = None,
    namespace: str = "",
    name: str | None = None,
) -> Sequence[Change]:
    """At most ``limit`` changes above ``version`` up to ``until``, in order; with ``kind`` those of it in ``namespace``, or of one object.

    Beside those of a kind that lies in folders come the changes that ``moves_access``. Raises Gone where changes above ``version``
    have been dropped.
    """
    if kind is None:
        rows = await connection.fetch(_sql.after, stream_name, version, until, limit)
    else:
        of_kind = (namespace, kind.group, kind.plural, kind.in_folder or kind.is_tree, name)
        rows = await connection.fetch(_sql.after_of_kind, stream_name, version, until, limit, *of_kind)
    if version < rows[0]["horizon"]:
        raise gone(version)
    return [_change(row) for row in rows if row["resource_version"] is not None]


def gone(version: int) -> Gone:
    return Gone(f"too old resource version: {version}; list again, and go on from there")


async def bodies(connection: Connection, wanted: Sequence[tuple[uuid.UUID, int]], *, most: int) -> dict[tuple[uuid.UUID, int], str | None]:
    """The bodies of generations of objects, of those that are still kept.

    None in place of those that follow the first ``most`` bytes: they are had by asking for them.
    """
    rows = await connection.fetch(_sql.bodies, [uid for uid, _ in wanted], [generation for _, generation in wanted], most)
    return {(row["uid"], row["generation"]): row["spec"] for row in rows}


async def trim(connection: Connection, *, older_than: timedelta, most: int = MOST_CHANGES) -> TrimResult:
    """Drops some of the changes that nobody is expected to resume from any more: those that are older, and the oldest beyond ``most``."""
    bound = await connection.fetchval(_sql.due, older_than, most, SETTLED)
    rows = () if bound is None else await connection.fetch(_sql.trim, bound, _DROPPED_AT_ONCE)
    return TrimResult(
        [row["uid"] for row in rows if row["feed"] == StreamName.OBJECTS], sum(row["number"] for row in rows) == _DROPPED_AT_ONCE
    )


def _change(row: Any) -> Change:
    old = None
    if row["old_generation"] is not None:
        old = _state(row, "old_")
    return Change(
        row["resource_version"],
        _KINDS.get((row["api_group"], row["resource"])),
        row["api_group"],
        row["namespace"],
        row["name"],
        row["uid"],
        row["type"],
        _state(row, ""),
        old,
        row["old_resource_version"],
        row["spec"],
    )


def _state(row: Any, prefix: str) -> ObjectState:
    return ObjectState(
        row[f"{prefix}generation"],
        row[f"{prefix}metadata"],
        row[f"{prefix}status"],
        row[f"{prefix}labels"],
        row[f"{prefix}folder"],
        row[f"{prefix}stored_version"],
        row[f"{prefix}layout"],
        row[f"{prefix}title"],
        row[f"{prefix}subtype"],
    )
