"""Store of older generations of objects, and of the last state of deleted objects (the trash)."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import orjson

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.document import read_json
from dashwright.common.kinds.annotations import FOLDER_KEY, MESSAGE, UPDATED_AT, UPDATED_BY
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.resources import StoredObject

_sql = queries.load(__package__, "histories.sql")


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A past version of an object, numbered by its generation."""

    generation: int
    resource_version: int
    created_at: datetime
    created_by: str  #: Actor of the write that created it.
    message: str | None  #: Message of that write.
    parent_version: int | None  #: Generation that it replaced.
    restored_from: int | None  #: Generation whose body it copied.
    metadata: str
    stored_version: str
    layout: bool
    spec: str  #: JSON text; ``{}`` in a list.

    def of(self, current: StoredObject) -> StoredObject:
        """Return the object as it was, with the message. ``current`` is its present state.

        Without a body the title is unknown and empty.
        """
        metadata = orjson.loads(self.metadata)
        annotations = metadata.setdefault("annotations", {})
        if self.message:
            annotations[MESSAGE] = self.message
        return StoredObject(
            current.kind,
            current.uid,
            current.name,
            current.namespace,
            # No object has version 1. Generations stored before the column ``resource_version`` existed have 0, which a client
            # would read as "any".
            max(self.resource_version, 1),
            self.generation,
            self.stored_version,
            orjson.dumps(metadata).decode(),
            self.spec,
            None,
            current.number,
            current.kind.extract(read_json(self.spec)).title,
            annotations.get(FOLDER_KEY),
            self.layout,
        )


class TrashPosition(NamedTuple):
    """The position after the last object of a page of deleted objects."""

    name: str = ""
    uid: uuid.UUID = uuid.UUID(int=0)


START: Final = TrashPosition()


class TrashedObject(NamedTuple):
    """Identity of an object in the trash, and its last generation."""

    uid: uuid.UUID
    generation: int
    number: int


async def versions(connection: Connection, uid: uuid.UUID, *, before: int | None = None, limit: int) -> Sequence[StoredVersion]:
    """Return generations of an object without their bodies, the newest first.

    ``before`` is the last generation of the previous page.
    """
    return [StoredVersion(**row) for row in await connection.fetch(_sql.versions, uid, before, limit)]


async def version(connection: Connection, uid: uuid.UUID, generation: int) -> StoredVersion | None:
    """Return a generation, or None if it does not exist or was deleted."""
    row = await connection.fetchrow(_sql.version, uid, generation)
    return None if row is None else StoredVersion(**row)


async def list_trash(
    connection: Connection,
    kind: Kind,
    namespace: str,
    *,
    name: str | None = None,
    after: TrashPosition = START,
    limit: int,
    deleted_by: str | None = None,
) -> Sequence[StoredObject]:
    """Return deleted objects that can be restored, in their last state without bodies, ordered by name.

    Their metadata says when and by whom each was deleted. ``deleted_by`` selects the objects that one caller deleted.
    """
    rows = await connection.fetch(_sql.list_trash, namespace, kind.group, kind.plural, name, *after, limit, deleted_by)
    return [_trashed(kind, row) for row in rows]


async def restore(
    connection: Connection, kind: Kind, namespace: str, name: str, uid: str, *, deleted_by: str | None = None
) -> TrashedObject | None:
    """Remove an object from the trash and return it, or None if it is not in the trash.

    Call this in the transaction that creates the object again. ``uid`` is the text that a client sent; ``deleted_by`` is the same
    as in ``list_trash``.
    """
    row = await connection.fetchrow(_sql.restore, namespace, kind.group, kind.plural, name, uid, deleted_by)
    return None if row is None else TrashedObject(**row)


async def trim(connection: Connection, uids: Sequence[uuid.UUID], *, keep: int) -> int:
    """Delete all but the ``keep`` newest generations of each object, and return how many were deleted.

    All generations are deleted of an object that is neither stored nor in the trash.

    Generations in the feed must not be deleted: call this with objects whose changes have just left the feed, in the
    same transaction.
    """
    if not uids:
        return 0
    dropped: int = await connection.fetchval(_sql.trim, uids, keep)
    return dropped + await _forget(connection, uids)


async def empty_trash(connection: Connection, *, older_than: timedelta) -> int:
    """Remove objects that were deleted longer ago than ``older_than`` from the trash, with their generations.

    Returns the number of deleted generations. Call this in a transaction.
    """
    return await _forget(connection, [row["uid"] for row in await connection.fetch(_sql.expire, older_than)])


async def _forget(connection: Connection, uids: Sequence[uuid.UUID]) -> int:
    gone = [row["uid"] for row in await connection.fetch(_sql.gone, uids)]
    dropped: int = await connection.fetchval(_sql.forget, gone) if gone else 0
    return dropped


def _trashed(kind: Kind, row: Any) -> StoredObject:
    metadata = orjson.loads(row["metadata"])
    deleted_at = row["deleted_at"].astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata["deletionTimestamp"] = deleted_at
    metadata.setdefault("annotations", {}).update({UPDATED_BY: row["deleted_by"], UPDATED_AT: deleted_at})
    return StoredObject(
        kind,
        row["uid"],
        row["name"],
        row["namespace"],
        row["resource_version"],
        row["generation"],
        row["stored_version"],
        orjson.dumps(metadata).decode(),
        "{}",
        None,
        row["number"],
        row["title"],
        row["folder"],
        row["layout"],
    )
