"""Store of everything that has metadata: objects and their history. Triggers write the change feed.

Bodies are text from end to end: an object is assembled by joining its stored parts.
"""

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NewType

import asyncpg
import orjson

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.errors import AlreadyExists, NotFound
from dashwright.common.kinds import rendering
from dashwright.common.kinds.annotations import FOLDER_KEY, GRANT_PERMISSIONS, MESSAGE, NUMBER_LABEL, SET_BY_STORE
from dashwright.common.kinds.kind import Body, Extract, Kind

_SET_BY_SERVER = SET_BY_STORE | {MESSAGE, GRANT_PERMISSIONS}
_STAGED = (
    *("position", "uid", "generation", "api_group", "resource", "name", "stored_version", "title", "layout", "tags", "subtype", "refs"),
    *("labels", "annotations", "finalizers", "owner_references", "managed_fields", "content_hash", "number", "spec"),
)

_sql = queries.load(__package__, "resources.sql")

#: Connection in a transaction that holds the lock of objects. Only ``lock`` returns one.
LockedConnection = NewType("LockedConnection", "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]")

#: Seconds. A little above the statement timeout of the server, so that the server ends a write that takes too long.
_LONGEST_WRITE = 310.0


@dataclass(frozen=True, slots=True)
class StoredObject:
    """Object as the store holds it.

    ``metadata``, ``spec`` and ``status`` are JSON text. Jobs have no ``number``, ``folder`` or ``title``.
    """

    kind: Kind
    uid: uuid.UUID
    name: str
    namespace: str
    resource_version: int
    generation: int
    stored_version: str
    metadata: str
    spec: str
    status: str | None
    number: int = 0  #: Numeric id for older clients.
    title: str = ""
    folder: str | None = None  #: Name of the folder; None at the root.
    layout: bool = False
    subtype: str = ""

    @property
    def body(self) -> Body:
        """Body with the columns that rendering needs."""
        return Body(self.name, self.title, self.subtype, self.stored_version, self.layout, self.spec, self.status)

    def with_spec(self, spec: str) -> "StoredObject":
        """Return a copy with ``spec``, for a body that was read separately."""
        # A list makes thousands of copies, and dataclasses.replace takes three times as long.
        return StoredObject(
            self.kind,
            self.uid,
            self.name,
            self.namespace,
            self.resource_version,
            self.generation,
            self.stored_version,
            self.metadata,
            spec,
            self.status,
            self.number,
            self.title,
            self.folder,
            self.layout,
            self.subtype,
        )

    def encode(self, version: str) -> bytes:
        """Return the object as JSON in a version of its kind."""
        return "".join(self.parts(version)).encode()

    def parts(self, version: str) -> Sequence[str]:
        """Return the pieces of text that ``encode`` joins.

        A list joins the pieces of all its objects once, since copying bodies is most of its work.
        """
        spec, status, secure = rendering.render(self.kind, self.body, version)
        head = f'{{"kind":"{self.kind.kind}","apiVersion":"{self.kind.api_version(version)}","metadata":'
        named = () if secure is None else (',"secure":', secure)
        seen = () if status is None else (',"status":', status)
        return (head, self.whole_metadata(), ',"spec":', spec, *named, *seen, "}")

    def whole_metadata(self) -> str:
        """Return the metadata as JSON text, including resource version and generation."""
        version = f'"resourceVersion":"{self.resource_version}",' if self.resource_version else ""
        return f'{{{version}"generation":{self.generation},{self.metadata[1:]}'


@dataclass(frozen=True, slots=True)
class Write:
    """Object to create or replace."""

    kind: Kind
    name: str
    spec: str  #: JSON object as text.
    stored_version: str
    extract: Extract = field(default_factory=Extract)  #: What the kind extracts from ``spec``.
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    finalizers: Sequence[str] = ()
    owner_references: Sequence[Mapping[str, Any]] = ()
    managed_fields: Sequence[Mapping[str, Any]] = ()
    #: Numeric id for a new object whose id is already known; None: the next free one.
    number: int | None = None
    restored_from: int | None = None  #: Generation whose body ``spec`` is.
    uid: uuid.UUID | None = None  #: Uid of a deleted object that is created again.
    generation: int = 1  #: Generation of a new object; above 1 for one that existed before.

    def staged(self, position: int) -> tuple[Any, ...]:
        """Return the values of the staging table's columns."""
        annotations = {key: text for key, text in self.annotations.items() if key not in _SET_BY_SERVER}
        digest = hashlib.sha256(self.spec.encode())
        digest.update(b"\0" + annotations.get(FOLDER_KEY, "").encode())
        return (
            position,
            self.uid or uuid.uuid4(),
            self.generation,
            self.kind.group,
            self.kind.plural,
            self.name,
            self.stored_version,
            *self.extract,
            orjson.dumps({key: text for key, text in self.labels.items() if key != NUMBER_LABEL}).decode(),
            orjson.dumps(annotations).decode(),
            list(self.finalizers),
            orjson.dumps(list(self.owner_references)).decode(),
            orjson.dumps(list(self.managed_fields)).decode(),
            digest.digest(),
            self.number,
            self.spec,
        )


@dataclass(frozen=True, slots=True)
class MarkedObject:
    """Versions of an object that has been marked as being deleted."""

    name: str
    uid: uuid.UUID
    resource_version: int
    generation: int


async def lock(connection: Connection) -> LockedConnection:
    """Make the caller's transaction the only writer of objects until it ends; return the connection for functions that need this."""
    await connection.execute(_sql.lock)
    return LockedConnection(connection)


async def create(
    connection: LockedConnection, namespace: str, write: Write, *, actor: str, now: datetime, status: str | None = None
) -> StoredObject:
    """Add an object and return it. Raises AlreadyExists when its name is taken."""
    kind = write.kind
    if await connection.fetchval(_sql.exists, namespace, kind.group, kind.plural, write.name):
        raise AlreadyExists(f'{kind.key} "{write.name}" already exists', details=kind.details(write.name))
    written = await _write(connection, namespace, write, actor=actor, now=now, status=status)
    assert written is not None, "a new object is always written"
    return written


async def put(connection: LockedConnection, namespace: str, write: Write, *, actor: str, now: datetime) -> StoredObject | None:
    """Add or replace an object and return it; return None and write nothing if it would not change."""
    return await _write(connection, namespace, write, actor=actor, now=now, status=None)


async def _write(
    connection: LockedConnection, namespace: str, write: Write, *, actor: str, now: datetime, status: str | None
) -> StoredObject | None:
    values = dict(zip(_STAGED, write.staged(0), strict=True))
    message = write.annotations.get(MESSAGE)
    query = _sql.bind(
        "write_one",
        namespace=namespace,
        actor=actor,
        now=now,
        message=message,
        status=status,
        restored_from=write.restored_from,
        **values,
    )
    row = await connection.fetchrow(*query)
    return None if row is None else object_of_row(write.kind, row)


async def version(connection: Connection, kind: Kind, namespace: str, name: str) -> int | None:
    """Return the resource version of an object; None if it does not exist."""
    found: int | None = await connection.fetchval(_sql.version, namespace, kind.group, kind.plural, name)
    return found


async def mark_deleted(connection: Connection, kind: Kind, namespace: str, name: str, *, actor: str, now: datetime) -> MarkedObject:
    """Begin the deletion of an object that has finalizers. Raises NotFound if it does not exist."""
    await lock(connection)
    row = await connection.fetchrow(_sql.mark_deleted, namespace, kind.group, kind.plural, name, now, actor)
    if row is None:
        raise not_found(kind, name)
    return MarkedObject(**row)


class StagedWrites:
    """Many writes of one transaction: staged without a lock, then written in one statement."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._count = 0

    async def open(self) -> None:
        """Create the staging table, which is dropped when the transaction commits."""
        await self._connection.execute(_sql.stage)

    async def add(self, writes: Sequence[Write]) -> None:
        """Stage objects; they are written in the order in which they are added."""
        rows = [write.staged(self._count + index) for index, write in enumerate(writes)]
        self._count += len(rows)
        await self._connection.copy_records_to_table("staged", records=rows, columns=_STAGED)

    async def taken_over(self, namespace: str, repository: str) -> str | None:
        """Return a staged object, as ``plural 'name'``, that the repository may not write, or None.

        Call under the lock.
        """
        row = await self._connection.fetchrow(_sql.taken_over, namespace, repository)
        return None if row is None else f"{row['resource']} '{row['name']}'"

    async def write(self, namespace: str, *, actor: str, now: datetime, message: str = "") -> int:
        """Create or replace the staged objects and return how many changed.

        ``message`` is stored with their new generations.
        """
        await self._connection.execute(_sql.extend_statement)
        query = _sql.bind(
            "write_staged", namespace=namespace, actor=actor, now=now, message=message or None, status=None, restored_from=None
        )
        return int(await self._connection.fetchval(*query, timeout=_LONGEST_WRITE))

    async def created(self, kind: Kind) -> int:
        """Return how many objects of a kind ``write`` has created rather than replaced."""
        return int(await self._connection.fetchval(_sql.created, kind.group, kind.plural))


async def delete(
    connection: Connection, kind: Kind, namespace: str, names: Sequence[str], *, actor: str, keep: bool = False
) -> Sequence[str]:
    """Delete objects and return the names of those that existed. ``keep``: put them into the trash."""
    await lock(connection)
    rows = await connection.fetch(_sql.delete, namespace, kind.group, kind.plural, list(names), keep, actor)
    return [row["name"] for row in rows]


async def delete_namespace(connection: Connection, namespace: str) -> int:
    """Delete everything in a namespace and return the number of objects. Call under the lock."""
    await connection.execute(_sql.extend_statement)
    return int((await connection.execute(_sql.delete_namespace, namespace)).rpartition(" ")[2])


async def get(connection: Connection, kind: Kind, namespace: str, name: str) -> StoredObject:
    """Return an object. Raises NotFound if it does not exist."""
    row = await connection.fetchrow(_sql.get, namespace, kind.group, kind.plural, name)
    if row is None:
        raise not_found(kind, name)
    return object_of_row(kind, row)


async def get_many(connection: Connection, kind: Kind, namespace: str, names: Sequence[str]) -> Sequence[StoredObject]:
    """Return those of the named objects that exist."""
    return [object_of_row(kind, row) for row in await connection.fetch(_sql.get_many, namespace, kind.group, kind.plural, list(names))]


def not_found(kind: Kind, name: str) -> NotFound:
    """Return the error for an object that does not exist."""
    return NotFound(f'{kind.key} "{name}" not found', details=kind.details(name))


async def write_status(
    connection: Connection,
    kind: Kind,
    namespace: str,
    name: str,
    status: bytes,
    managed_fields: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Replace the status, and the owners of its fields unless ``managed_fields`` is None.

    Raises NotFound if the object does not exist.
    """
    owners = None if managed_fields is None else orjson.dumps(list(managed_fields)).decode()
    version = await connection.fetchval(_sql.write_status, namespace, kind.group, kind.plural, name, status.decode(), owners)
    if version is None:
        raise not_found(kind, name)


async def owners(connection: Connection, kind: Kind, namespace: str, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the annotations of those of the named objects that exist, by name."""
    rows = await connection.fetch(_sql.owners, namespace, kind.group, kind.plural, list(names))
    return {row["name"]: orjson.loads(row["annotations"]) for row in rows}


async def has_children(connection: Connection, namespace: str, folder: str) -> bool:
    """Return whether a folder contains any object."""
    return bool(await connection.fetchval(_sql.has_children, namespace, folder))


async def is_referred_to(connection: Connection, namespace: str, panel: str) -> bool:
    """Return whether a dashboard shows a library panel."""
    return bool(await connection.fetchval(_sql.is_referred_to, namespace, panel))


def object_of_row(kind: Kind, row: Any) -> StoredObject:
    """Return the object in a row of a statement that selects all its columns."""
    return StoredObject(
        kind,
        row["uid"],
        row["name"],
        row["namespace"],
        row["resource_version"],
        row["generation"],
        row["stored_version"],
        row["metadata"],
        row["spec"],
        row["status"],
        row["number"],
        row["title"],
        row["folder"],
        row["layout"],
        row["subtype"],
    )
