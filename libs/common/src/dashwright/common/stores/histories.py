"""Store of the generations of objects, and of the last state of deleted objects (the trash)."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import orjson

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.json_documents import read_json
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
    created_by: str  #: Actor of the write that created this version.
    message: str | None  #: Message of that write.
    parent_version: int | None  #: Generation that this version replaced.
    restored_from: int | None  #: Generation from which this version was restored.
    metadata: str  #: JSON string.
    stored_version: str
    layout: bool  #: True if a dashboard consists of elements and a layout.
    spec: str  #: JSON string; ``{}`` in a list.

    def to_object(self, current: StoredObject) -> StoredObject:
        """Return the object in this version. ``current`` is the stored object, which has the fields without history.

        The message becomes an annotation. The title is empty if this version was read without its spec.
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
    """Position in the trash after the last object of a page."""

    name: str = ""
    uid: uuid.UUID = uuid.UUID(int=0)


TRASH_START: Final = TrashPosition()


class TrashedObject(NamedTuple):
    """Identity and last generation of a deleted object."""

    uid: uuid.UUID
    generation: int
    number: int  #: Numeric id of the object.


async def versions(connection: Connection, uid: uuid.UUID, *, before: int | None = None, limit: int) -> Sequence[StoredVersion]:
    """Return generations of an object without their bodies, the newest first.

    ``before`` is the last generation of the previous page.
    """
    return [StoredVersion(**row) for row in await connection.fetch(_sql.versions, uid, before, limit)]


async def version(connection: Connection, uid: uuid.UUID, generation: int) -> StoredVersion | None:
    """Return a generation of an object, or None if it does not exist or was deleted."""
    row = await connection.fetchrow(_sql.version, uid, generation)
    return None if row is None else StoredVersion(**row)


async def list_trash(
    connection: Connection,
    kind: Kind,
    namespace: str,
    *,
    name: str | None = None,
    after: TrashPosition = TRASH_START,
    limit: int,
    deleted_by: str | None = None,
) -> Sequence[StoredObject]:
    """Return deleted objects that can be restored, in their last state without bodies, ordered by name.

    The metadata of each has the time of the deletion and its actor. With ``name``, return only the objects of this name. With
    ``deleted_by``, return only the objects that this actor deleted.
    """
    rows = await connection.fetch(_sql.list_trash, namespace, kind.group, kind.plural, name, *after, limit, deleted_by)
    return [_trashed(kind, row) for row in rows]


async def restore(
    connection: Connection, kind: Kind, namespace: str, name: str, uid: str, *, deleted_by: str | None = None
) -> TrashedObject | None:
    """Remove an object from the trash and return it, or None if it is not in the trash.

    Call this in the transaction that creates the object again. ``uid`` is a string, since a client may send an
    invalid one. With ``deleted_by``, restore the object only if this actor deleted it.
    """
    row = await connection.fetchrow(_sql.restore, namespace, kind.group, kind.plural, name, uid, deleted_by)
    return None if row is None else TrashedObject(**row)


async def trim(connection: Connection, uids: Sequence[uuid.UUID], *, keep: int) -> int:
    """Delete all but the ``keep`` newest generations of each object, and return the number of deleted generations.

    All generations of an object that is neither stored nor in the trash are deleted. Generations that the change feed refers
    to must remain: call this in the transaction that trims the feed, with the objects of the trimmed changes.
    """
    if not uids:
        return 0
    deleted_count: int = await connection.fetchval(_sql.trim, uids, keep)
    return deleted_count + await _delete_orphans(connection, uids)


async def empty_trash(connection: Connection, *, older_than: timedelta, limit: int) -> int:
    """Delete at most ``limit`` objects from the trash that were deleted longer than ``older_than`` ago, with their generations.

    Returns the number of deleted objects. Call this in a transaction.
    """
    rows = await connection.fetch(_sql.empty_trash, older_than, limit)
    await _delete_orphans(connection, [row["uid"] for row in rows])
    return len(rows)


async def _delete_orphans(connection: Connection, uids: Sequence[uuid.UUID]) -> int:
    """Delete the generations of those objects that are neither stored nor in the trash; return the number of generations."""
    orphan_uids = [row["uid"] for row in await connection.fetch(_sql.list_orphans, uids)]
    deleted_count: int = await connection.fetchval(_sql.delete_generations, orphan_uids) if orphan_uids else 0
    return deleted_count


def _trashed(kind: Kind, row: Any) -> StoredObject:
    """Return the deleted object of a row, whose metadata has the time and the actor of the deletion."""
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
