"""What was: older generations of objects, and the last state of what was deleted."""

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
    """One generation. ``created_by`` and ``message`` are of the write that made it, ``spec`` is JSON text, in a list that of no members.

    ``parent_version`` is the generation before, ``restored_from`` the one whose body it took.
    """

    generation: int
    resource_version: int
    created_at: datetime
    created_by: str
    message: str | None
    parent_version: int | None
    restored_from: int | None
    metadata: str
    stored_version: str
    layout: bool
    spec: str

    def of(self, current: StoredObject) -> StoredObject:
        """The object as it was, with the message; ``current`` is as it is. Of what has no body here the title is not known."""
        metadata = orjson.loads(self.metadata)
        annotations = metadata.setdefault("annotations", {})
        if self.message:
            annotations[MESSAGE] = self.message
        return StoredObject(
            current.kind,
            current.uid,
            current.name,
            current.namespace,
            # Version 1 is nobody's; generations older than the column are at 0, which stands for any.
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
    """Where a page of the trash ended."""

    name: str = ""
    uid: uuid.UUID = uuid.UUID(int=0)


START: Final = TrashPosition()


class TrashedObject(NamedTuple):
    """What was in the trash: its identity, and the generation it had."""

    uid: uuid.UUID
    generation: int
    number: int


async def versions(connection: Connection, uid: uuid.UUID, *, before: int | None = None, limit: int) -> Sequence[StoredVersion]:
    """Generations of an object without their bodies, the newest first; ``before`` is the one that the page before ended with."""
    return [StoredVersion(**row) for row in await connection.fetch(_sql.versions, uid, before, limit)]


async def version(connection: Connection, uid: uuid.UUID, generation: int) -> StoredVersion | None:
    """One generation; None where it is none, or is not kept any more."""
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
    """What was deleted and can be made again, by name: the last state but for its body, with when and by whom it was deleted.

    ``deleted_by`` narrows it down to what one caller has deleted.
    """
    rows = await connection.fetch(_sql.list_trash, namespace, kind.group, kind.plural, name, *after, limit, deleted_by)
    return [_trashed(kind, row) for row in rows]


async def restore(
    connection: Connection, kind: Kind, namespace: str, name: str, uid: str, *, deleted_by: str | None = None
) -> TrashedObject | None:
    """Removes from the trash what the caller is about to make again, in the caller's transaction; None where it is not there.

    ``uid`` is text as a client sent it, ``deleted_by`` as in ``list_trash``.
    """
    row = await connection.fetchrow(_sql.restore, namespace, kind.group, kind.plural, name, uid, deleted_by)
    return None if row is None else TrashedObject(**row)


async def trim(connection: Connection, uids: Sequence[uuid.UUID], *, keep: int) -> int:
    """Drops the generations of objects beyond the ``keep`` newest, and all of those that are gone; answers how many.

    Never what the feed still tells of: call it with the objects whose changes have just left the feed, in the same transaction.
    """
    if not uids:
        return 0
    dropped: int = await connection.fetchval(_sql.trim, uids, keep)
    return dropped + await _forget(connection, uids)


async def empty_trash(connection: Connection, *, older_than: timedelta) -> int:
    """Drops what was deleted longer ago, in the caller's transaction; answers how many generations went with it."""
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
