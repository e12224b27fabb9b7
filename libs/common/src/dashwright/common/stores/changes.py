"""Change feed: what happened to any object, in the order of resource versions."""

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

#: Group of a change to the access rules of a namespace, which is not a change of an object.
ACCESS: Final = "access"

#: Maximum number of changes in the feed, whatever their age.
MOST_CHANGES: Final = 1_000_000

#: Time after which every transaction has ended.
SETTLED: Final = timedelta(minutes=10)

_TRIM_BATCH: Final = 20_000

_sql = queries.load(__package__, "changes.sql")
_KINDS: Final[Mapping[tuple[str, str], Kind]] = MappingProxyType({(kind.group, kind.plural): kind for kind in KINDS})


class StreamName(IntEnum):
    """Change stream. Changes are ordered by version within a stream, but not across streams."""

    OBJECTS = 1
    JOBS = 2


@dataclass(frozen=True, slots=True)
class ObjectState:
    """State of an object at a version, without its body. ``metadata``, ``status`` and ``labels`` are JSON text."""

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
    """Row of the feed."""

    resource_version: int
    kind: Kind | None  #: None for a change that is not of an object.
    group: str
    namespace: str
    name: str
    uid: uuid.UUID
    type: str  #: ``ADDED``, ``MODIFIED`` or ``DELETED``.
    state: ObjectState  #: State after the change; of a deleted object the last one.
    old: ObjectState | None  #: State before an update. Not recorded for jobs.
    old_resource_version: int | None
    spec: str | None  #: Body of a job. The body of an object is read by its generation.

    @property
    def moves_access(self) -> bool:
        """True if other callers than before may see objects of the namespace: rules changed, or a folder was moved or deleted."""
        return self.kind is None and self.group == ACCESS

    @property
    def alters_tree(self) -> bool:
        """True if cached trees of folders and rules are outdated."""
        return self.moves_access or (self.kind is not None and self.kind.is_tree and self.old is None)


class TrimResult(NamedTuple):
    """Objects of dropped changes, and whether there may be more to drop."""

    objects: Sequence[uuid.UUID]
    is_more: bool


def stream_of(kind: Kind) -> StreamName:
    """Return the stream with the changes of a kind."""
    return StreamName.JOBS if kind.storage is Storage.JOBS else StreamName.OBJECTS


async def head(connection: Connection, stream_name: StreamName) -> int:
    """Return the newest version in this snapshot: that of a list, and the position from which a watch continues.

    Never 0, which means any version.
    """
    position: int = await connection.fetchval(_sql.head, stream_name)
    return position


async def horizon(connection: Connection) -> int:
    """Return the newest version that was dropped. Changes up to it are unknown."""
    version: int = await connection.fetchval(_sql.horizon)
    return version


async def latest(connection: Connection) -> int:
    """Return the newest version that was assigned, committed or not. A version above it is from another database."""
    version: int = await connection.fetchval(_sql.latest)
    return version


async def moved_access(connection: Connection, namespace: str, version: int) -> bool:
    """Return whether access to objects of a namespace has changed since a version."""
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
    """Return at most ``limit`` changes above ``version`` up to ``until``, in order.

    With ``kind``, only changes of it in ``namespace``, or of one object; for a kind in folders also those with
    ``moves_access``. Raises Gone if changes above ``version`` have been dropped.
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
    """Return the error for a position that is too old to resume from."""
    return Gone(f"too old resource version: {version}; list again and continue from there")


async def bodies(connection: Connection, wanted: Sequence[tuple[uuid.UUID, int]], *, most: int) -> dict[tuple[uuid.UUID, int], str | None]:
    """Return the bodies of those generations that are still kept, by uid and generation.

    Bodies after the first ``most`` bytes are None; request them again.
    """
    rows = await connection.fetch(_sql.bodies, [uid for uid, _ in wanted], [generation for _, generation in wanted], most)
    return {(row["uid"], row["generation"]): row["spec"] for row in rows}


async def trim(connection: Connection, *, older_than: timedelta, most: int = MOST_CHANGES) -> TrimResult:
    """Drop changes that are older, and the oldest beyond ``most``; at most one batch of them."""
    bound = await connection.fetchval(_sql.due, older_than, most, SETTLED)
    rows = () if bound is None else await connection.fetch(_sql.trim, bound, _TRIM_BATCH)
    return TrimResult([row["uid"] for row in rows if row["feed"] == StreamName.OBJECTS], sum(row["number"] for row in rows) == _TRIM_BATCH)


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
