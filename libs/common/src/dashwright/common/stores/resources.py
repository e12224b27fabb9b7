"""Store of objects. Database triggers write the change feed.

Specs are JSON strings from the request to the response: an object is assembled by joining its stored parts.
"""

import hashlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NewType, TypeVar

import asyncpg
import orjson

from dashwright.common.database import queries
from dashwright.common.database.notifier import notify_after_commit
from dashwright.common.database.pool import Connection
from dashwright.common.errors import AlreadyExists, NotFound
from dashwright.common.kinds.annotations import CLASSIC_ID_LABEL, FOLDER_KEY, GRANT_PERMISSIONS, MESSAGE, SET_BY_STORE
from dashwright.common.kinds.kind import Body, Extract, Kind
from dashwright.common.kinds.version_messages import restored_generation
from dashwright.common.models.api_model import ApiModel

Status = TypeVar("Status", bound=ApiModel)

#: Annotations that are not stored: the store sets them, or they are instructions for the write.
_SET_BY_SERVER = SET_BY_STORE | {MESSAGE, GRANT_PERMISSIONS}
#: Columns of the staging table, in the order of ``Write.staging_row``.
_STAGING_COLUMNS = (
    *("position", "uid", "generation", "api_group", "resource", "name", "stored_version", "title", "layout", "tags", "subtype", "refs"),
    *("labels", "annotations", "finalizers", "owner_references", "managed_fields", "content_hash", "number", "status", "spec"),
)

_sql = queries.load(__package__, "resources.sql")

#: Connection in a transaction that holds the lock of objects. Only ``lock`` returns one.
LockedConnection = NewType("LockedConnection", "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]")

#: Slightly more than the 5 minutes that ``extend_statement`` allows, so that the server ends a write that takes too long.
_WRITE_TIMEOUT_SECONDS = 310.0


@dataclass(frozen=True, slots=True)
class StoredObject:
    """Stored object.

    ``metadata``, ``spec`` and ``status`` are JSON strings. Jobs have no ``number``, ``folder`` or ``title``.
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
    layout: bool = False  #: True if a dashboard consists of elements and a layout.
    subtype: str = ""  #: Type within the kind, such as the type of a panel.

    @property
    def body(self) -> Body:
        """Part of the object that rendering needs."""
        return Body(self.name, self.namespace, self.title, self.subtype, self.stored_version, self.layout, self.spec, self.status)

    def with_spec(self, spec: str) -> "StoredObject":
        """Return a copy of the object with another ``spec``."""
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
        """Return the strings that ``encode`` joins.

        A list joins the strings of all its objects in one step, since it spends most of its time on copying specs.
        """
        spec, status, secure = self.kind.rendered(self.body, version)
        start = f'{{"kind":"{self.kind.kind}","apiVersion":"{self.kind.api_version(version)}","metadata":'
        secure_parts = () if secure is None else (',"secure":', secure)
        status_parts = () if status is None else (',"status":', status)
        return (start, self.metadata_json(), ',"spec":', spec, *secure_parts, *status_parts, "}")

    def metadata_json(self) -> str:
        """Return the metadata as JSON, including resource version and generation."""
        # Both are inserted after the opening brace of the stored JSON.
        version = f'"resourceVersion":"{self.resource_version}",' if self.resource_version else ""
        return f'{{{version}"generation":{self.generation},{self.metadata[1:]}'


@dataclass(frozen=True, slots=True)
class Write:
    """Object to create or replace."""

    kind: Kind
    name: str
    spec: str  #: JSON object as a string.
    stored_version: str
    extract: Extract = field(default_factory=Extract)  #: Values that the kind extracts from ``spec``.
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    finalizers: Sequence[str] = ()
    owner_references: Sequence[Mapping[str, Any]] = ()
    managed_fields: Sequence[Mapping[str, Any]] = ()
    #: Numeric id of a new object. None: the next free id.
    number: int | None = None
    restored_from: int | None = None  #: Generation from which ``spec`` was copied.
    uid: uuid.UUID | None = None  #: Uid of a deleted object to create again. None: a new uid.
    generation: int = 1  #: Generation of a new object, which is above 1 for a deleted object that is created again.
    #: Status to store, as JSON. None: the stored status is kept, and that of a new object is the default of its kind.
    status: str | None = None

    def staging_row(self, position: int) -> tuple[Any, ...]:
        """Return a row of the staging table. Rows are written in the order of ``position``."""
        annotations = {key: value for key, value in self.annotations.items() if key not in _SET_BY_SERVER}
        # The generation increases if this digest changes: a move to another folder counts as a change.
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
            orjson.dumps({key: value for key, value in self.labels.items() if key != CLASSIC_ID_LABEL}).decode(),
            orjson.dumps(annotations).decode(),
            list(self.finalizers),
            orjson.dumps(list(self.owner_references)).decode(),
            orjson.dumps(list(self.managed_fields)).decode(),
            digest.digest(),
            self.number,
            self.status,
            self.spec,
        )


@dataclass(frozen=True, slots=True)
class MarkedObject:
    """Identity and versions of an object that has been marked for deletion."""

    name: str
    uid: uuid.UUID
    resource_version: int
    generation: int


async def lock(connection: Connection, namespace: str, *further_namespaces: str) -> LockedConnection:
    """Take the lock of objects: the caller's transaction is the only writer of objects in these namespaces until it ends.

    Returns the connection, typed for functions that require the lock. Name all namespaces in one call, which avoids deadlocks.
    """
    await connection.execute(_sql.lock, [namespace, *further_namespaces])
    notify_after_commit(connection, "resource")
    return LockedConnection(connection)


async def create(
    connection: LockedConnection, namespace: str, write: Write, *, actor: str, now: datetime, status: str | None = None
) -> StoredObject:
    """Create an object and return it. Raises AlreadyExists if its name is in use."""
    kind = write.kind
    if await connection.fetchval(_sql.exists, namespace, kind.group, kind.plural, write.name):
        raise AlreadyExists(f'{kind.key} "{write.name}" already exists', details=kind.details(write.name))
    created = await _write(connection, namespace, replace(write, status=status), actor=actor, now=now)
    assert created is not None, "a new object is always written"
    return created


async def put(connection: LockedConnection, namespace: str, write: Write, *, actor: str, now: datetime) -> StoredObject | None:
    """Create or replace an object and return it. Return None without a write if the object would not change."""
    return await _write(connection, namespace, write, actor=actor, now=now)


async def _write(connection: LockedConnection, namespace: str, write: Write, *, actor: str, now: datetime) -> StoredObject | None:
    """Write an object with its message. Return None if it did not change."""
    values = dict(zip(_STAGING_COLUMNS, write.staging_row(0), strict=True))
    message = write.annotations.get(MESSAGE)
    query = _sql.bind(
        "write_one",
        namespace=namespace,
        actor=actor,
        now=now,
        message=message,
        restored_from=write.restored_from,
        **values,
    )
    row = await connection.fetchrow(*query)
    return None if row is None else object_of_row(write.kind, row)


async def find_resource_version(connection: Connection, kind: Kind, namespace: str, name: str) -> int | None:
    """Return the resource version of an object, or None if it does not exist."""
    resource_version: int | None = await connection.fetchval(_sql.find_resource_version, namespace, kind.group, kind.plural, name)
    return resource_version


async def mark_deleted(connection: Connection, kind: Kind, namespace: str, name: str, *, actor: str, now: datetime) -> MarkedObject:
    """Mark an object with finalizers for deletion. Raises NotFound if it does not exist."""
    await lock(connection, namespace)
    row = await connection.fetchrow(_sql.mark_deleted, namespace, kind.group, kind.plural, name, now, actor)
    if row is None:
        raise not_found(kind, name)
    return MarkedObject(**row)


class StagedWrites:
    """Batch of writes in one transaction. They are staged without a lock and then written in one statement."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._count = 0

    async def create_table(self) -> None:
        """Create the staging table, which is dropped when the transaction commits."""
        await self._connection.execute(_sql.create_staging_table)

    async def add(self, writes: Sequence[Write]) -> None:
        """Stage writes. They are executed in the order in which they are added."""
        rows = [write.staging_row(self._count + index) for index, write in enumerate(writes)]
        self._count += len(rows)
        await self._connection.copy_records_to_table("staged", records=rows, columns=_STAGING_COLUMNS)

    async def find_conflict(self, namespace: str, repository: str) -> str | None:
        """Return a staged object that the repository may not write, such as ``dashboards 'name'``, or None.

        Call this under the lock of objects.
        """
        row = await self._connection.fetchrow(_sql.find_conflict, namespace, repository)
        return None if row is None else f"{row['resource']} '{row['name']}'"

    async def write(self, namespace: str, *, actor: str, now: datetime, message: str = "") -> int:
        """Create or replace the staged objects and return the number of those that changed.

        ``message`` becomes the message of their new generations.
        """
        await self._connection.execute(_sql.extend_statement)
        restored_from = restored_generation(message)
        query = _sql.bind("write_staged", namespace=namespace, actor=actor, now=now, message=message or None, restored_from=restored_from)
        return int(await self._connection.fetchval(*query, timeout=_WRITE_TIMEOUT_SECONDS))

    async def count_created(self, kind: Kind) -> int:
        """Return the number of objects of a kind that ``write`` created. Replaced objects are not counted."""
        return int(await self._connection.fetchval(_sql.count_created, kind.group, kind.plural))


async def delete(
    connection: Connection, kind: Kind, namespace: str, names: Sequence[str], *, actor: str, to_trash: bool = False
) -> Sequence[str]:
    """Delete objects and return the names of those that existed. With ``to_trash``, they can be restored."""
    await lock(connection, namespace)
    rows = await connection.fetch(_sql.delete, namespace, kind.group, kind.plural, list(names), to_trash, actor)
    return [row["name"] for row in rows]


async def delete_namespace(connection: Connection, namespace: str) -> int:
    """Delete all objects of a namespace and return their number. Call this under the lock of objects."""
    await connection.execute(_sql.extend_statement)
    command_tag = await connection.execute(_sql.delete_namespace, namespace)  # such as "DELETE 5"
    return int(command_tag.rpartition(" ")[2])


async def get(connection: Connection, kind: Kind, namespace: str, name: str) -> StoredObject:
    """Return an object. Raises NotFound if it does not exist."""
    row = await connection.fetchrow(_sql.get, namespace, kind.group, kind.plural, name)
    if row is None:
        raise not_found(kind, name)
    return object_of_row(kind, row)


async def get_many(connection: Connection, kind: Kind, namespace: str, names: Sequence[str]) -> Sequence[StoredObject]:
    """Return the objects with these names, except those that do not exist."""
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
    """Replace the status of an object, and its ``managed_fields`` unless None.

    Raises NotFound if the object does not exist.
    """
    field_owners = None if managed_fields is None else orjson.dumps(list(managed_fields)).decode()
    resource_version = await connection.fetchval(_sql.write_status, namespace, kind.group, kind.plural, name, status.decode(), field_owners)
    if resource_version is None:
        raise not_found(kind, name)


async def update_status(
    connection: Connection, kind: Kind, namespace: str, name: str, model: type[Status], change: Callable[[Status, StoredObject], None]
) -> Status:
    """Call ``change`` with the status, to modify in place, and the stored object. Write and return the modified status.

    Raises NotFound if the object does not exist.
    """
    await lock(connection, namespace)
    stored_object = await get(connection, kind, namespace, name)
    status = model.model_validate_json(stored_object.status or "{}")
    before = status.to_json()
    change(status, stored_object)
    after = status.to_json()
    if after != before:
        await write_status(connection, kind, namespace, name, after)
    return status


async def annotations_by_name(connection: Connection, kind: Kind, namespace: str, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the annotations of the objects with these names, except those that do not exist, by name."""
    rows = await connection.fetch(_sql.annotations_by_name, namespace, kind.group, kind.plural, list(names))
    return {row["name"]: orjson.loads(row["annotations"]) for row in rows}


async def has_children(connection: Connection, namespace: str, folder: str) -> bool:
    """Return whether a folder contains any object."""
    return bool(await connection.fetchval(_sql.has_children, namespace, folder))


async def is_panel_used(connection: Connection, namespace: str, panel: str) -> bool:
    """Return whether a dashboard contains a library panel."""
    return bool(await connection.fetchval(_sql.is_panel_used, namespace, panel))


def object_of_row(kind: Kind, row: Any) -> StoredObject:
    """Return the object of a row with all columns."""
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
