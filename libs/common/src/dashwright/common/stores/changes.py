"""Change feed: all changes of objects and jobs, in the order of resource versions."""

import uuid
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
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

#: Group of a change that concerns the access rules of a namespace instead of an object.
ACCESS: Final = "access"

#: Maximum number of changes in the feed, regardless of age.
MAX_CHANGES: Final = 1_000_000

#: No transaction lasts longer than this. Younger changes are not trimmed, since their transactions may still be running.
MAX_TRANSACTION_AGE: Final = timedelta(minutes=10)

#: Application names of older gateways, from before 0040_change_feed_by_namespace.sql. They require that transactions commit in the
#: order of their resource versions.
OLD_READERS: Final = ("dashwright-api", "dashwright")

#: Suffix of the application name of gateways that read changes by snapshot. The name of their service precedes it.
READS_BY_SNAPSHOT: Final = "/snapshot"

#: Maximum number of changes that one call of ``trim`` deletes.
_TRIM_BATCH: Final = 20_000

_sql = queries.load(__package__, "changes.sql")
_KINDS: Final[Mapping[tuple[str, str], Kind]] = MappingProxyType({(kind.group, kind.plural): kind for kind in KINDS})


class StreamName(IntEnum):
    """Change stream. Changes are ordered by version within a stream, but not across streams."""

    OBJECTS = 1
    JOBS = 2


@dataclass(frozen=True, slots=True)
class ObjectState:
    """State of an object at a version, without its body. ``metadata``, ``status`` and ``labels`` are JSON strings."""

    generation: int
    metadata: str
    status: str | None
    labels: str
    folder: str | None
    stored_version: str
    layout: bool  #: True if a dashboard consists of elements and a layout.
    title: str
    subtype: str


@dataclass(frozen=True, slots=True)
class Change:
    """Change of an object, a job or the access rules of a namespace."""

    resource_version: int
    kind: Kind | None  #: None for a change of access rules.
    group: str
    namespace: str
    name: str
    uid: uuid.UUID
    type: str  #: ``ADDED``, ``MODIFIED`` or ``DELETED``.
    state: ObjectState  #: State after the change, or the last state of a deleted object.
    old: ObjectState | None  #: State before an update. None for jobs.
    old_resource_version: int | None  #: Resource version before an update.
    spec: str | None  #: Spec of a job. None for objects: ``bodies`` returns their specs.

    @property
    def changes_access(self) -> bool:
        """True if the change affects who may read objects of the namespace: changed rules, or a moved or deleted folder."""
        return self.kind is None and self.group == ACCESS

    @property
    def changes_trees(self) -> bool:
        """True if the change makes cached trees of folders and access rules outdated."""
        # A created or deleted folder has no ``old`` state. The move of a folder is reported as a change of access.
        return self.changes_access or (self.kind is not None and self.kind.is_tree and self.old is None)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Snapshot of the change feed: the transactions whose changes were visible at one time."""

    text: str  #: String form of PostgreSQL's ``pg_snapshot``.
    latest: int  #: The newest version that was assigned, committed or not.
    horizon: int  #: The newest version that was trimmed.


class TrimResult(NamedTuple):
    """Result of ``trim``."""

    objects: Sequence[uuid.UUID]  #: Uids of the objects whose changes were deleted.
    is_more: bool  #: True if there may be more changes to delete.


def stream_of(kind: Kind) -> StreamName:
    """Return the stream with the changes of a kind."""
    return StreamName.JOBS if kind.storage is Storage.JOBS else StreamName.OBJECTS


async def visible_version(connection: Connection, stream_name: StreamName, namespace: str) -> int:
    """Return the newest resource version of a namespace that is visible to this statement. Lists return it, and watches resume from it.

    An empty ``namespace`` means all namespaces. The result is at least 1, since 0 means any version to clients.
    """
    version: int = await connection.fetchval(*_sql.bind("head", feed=stream_name, namespace=namespace))
    return version


async def horizon(connection: Connection) -> int:
    """Return the newest version that was trimmed. The feed has no changes up to this version."""
    version: int = await connection.fetchval(_sql.horizon)
    return version


async def latest_version(connection: Connection) -> int:
    """Return the newest version that was assigned, committed or not. A greater version comes from another database."""
    version: int = await connection.fetchval(_sql.latest_version)
    return version


async def order_by_namespace(connection: Connection) -> bool:
    """Let transactions write to different namespaces concurrently, and return True.

    If an older gateway is connected, change nothing and return False. Call this in a transaction.
    """
    if await connection.fetchval(_sql.is_ordered_by_namespace):
        return True
    # Until now all writers took these locks. Once this transaction has the locks, no such writer is running, and writers that wait for
    # the locks will take the lock of their namespace as well.
    await connection.execute(_sql.lock_tables)
    return bool(await connection.fetchval(_sql.order_by_namespace, OLD_READERS))


async def access_changed_since(connection: Connection, namespace: str, version: int) -> bool:
    """Return whether a change since ``version`` affects who may read objects of a namespace."""
    return bool(await connection.fetchval(_sql.access_changed_since, namespace, version))


async def snapshot(connection: Connection) -> Snapshot:
    """Return the snapshot of the statement, or of the transaction if that is ``repeatable read``."""
    (row,) = await connection.fetch(_sql.snapshot)
    return Snapshot(row["text"], row["latest"], row["horizon"])


async def list_since(connection: Connection, stream_name: StreamName, earlier: Snapshot, *, page: int) -> AsyncIterator[Change]:
    """Yield the changes that are not in the snapshot ``earlier``, ordered by version. Fetch ``page`` rows at a time.

    Call this in a transaction. Within a namespace, all of these changes are newer than those in ``earlier``.
    """
    query, *values = _sql.bind("list_since", feed=stream_name, snapshot=earlier.text)
    async for row in connection.cursor(query, *values, prefetch=page):
        yield _change(row)


async def list_after(
    connection: Connection,
    stream_name: StreamName,
    version: int,
    *,
    snapshot: Snapshot,
    limit: int,
    kind: Kind,
    namespace: str,
    name: str | None = None,
) -> Sequence[Change]:
    """Return at most ``limit`` changes above ``version`` that ``snapshot`` contains, in order.

    The changes are those of a kind in a namespace or, with ``name``, of one object. For kinds in folders they include those
    with ``changes_access``. Raises Gone if changes above ``version`` have been trimmed.
    """
    rows = await connection.fetch(
        *_sql.bind(
            "list_after",
            feed=stream_name,
            version=version,
            snapshot=snapshot.text,
            limit=limit,
            api_group=kind.group,
            resource=kind.plural,
            namespace=namespace,
            name=name,
            with_access=kind.in_folder or kind.is_tree,
        )
    )
    # Each row has the horizon. Without changes there is one row, which has nothing else.
    if version < rows[0]["horizon"]:
        raise version_expired(version)
    return [_change(row) for row in rows if row["resource_version"] is not None]


async def settled_version(connection: Connection, stream_name: StreamName, namespaces: Collection[str]) -> tuple[int, Sequence[str]]:
    """Return a version, and the given namespaces in which no running transaction can still commit a change up to this version."""
    # The version is read first: a transaction that was assigned a lower one then either still holds its lock or has ended.
    version = await latest_version(connection)
    rows = await connection.fetch(*_sql.bind("without_writer", feed=stream_name, namespaces=list(namespaces)))
    return version, [row["namespace"] for row in rows]


def version_expired(version: int) -> Gone:
    """Return the error for a position that is too old to resume from."""
    return Gone(f"too old resource version: {version}; list again and continue from there")


async def bodies(
    connection: Connection, generations: Sequence[tuple[uuid.UUID, int]], *, max_bytes: int
) -> dict[tuple[uuid.UUID, int], str | None]:
    """Return the specs of the generations that still exist. Keys are uid and generation.

    Specs beyond ``max_bytes`` in total are None: request them again.
    """
    uids = [uid for uid, _ in generations]
    rows = await connection.fetch(_sql.bodies, uids, [generation for _, generation in generations], max_bytes)
    return {(row["uid"], row["generation"]): row["spec"] for row in rows}


async def trim(connection: Connection, *, older_than: timedelta, max_changes: int = MAX_CHANGES) -> TrimResult:
    """Delete changes that are older than ``older_than``, and the oldest beyond ``max_changes``, but at most ``_TRIM_BATCH``."""
    last_version = await connection.fetchval(_sql.last_to_trim, older_than, max_changes, MAX_TRANSACTION_AGE)
    rows = () if last_version is None else await connection.fetch(_sql.trim, last_version, _TRIM_BATCH)
    deleted_count = sum(row["number"] for row in rows)
    return TrimResult([row["uid"] for row in rows if row["feed"] == StreamName.OBJECTS], deleted_count == _TRIM_BATCH)


def _change(row: Any) -> Change:
    """Return the change of a row."""
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
    """Return the state of an object in the columns of a row that begin with ``prefix``."""
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
