"""The store of everything that has metadata: current objects, their history, and by triggers the change feed.

Bodies are text from end to end: an object is put together by joining its stored parts.
"""

import asyncio
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
from dashwright.common.kinds.annotations import FOLDER_KEY, GRANT_PERMISSIONS, MESSAGE, NUMBER_LABEL, REPOSITORY_MANAGER, SET_BY_STORE
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
    """One object as the store holds it.

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
    number: int = 0
    title: str = ""
    folder: str | None = None
    layout: bool = False
    subtype: str = ""

    @property
    def body(self) -> Body:
        return Body(self.name, self.title, self.subtype, self.stored_version, self.layout, self.spec, self.status)

    def with_spec(self, spec: str) -> "StoredObject":
        """The same object with the body that was not read with it. Lists make many: ``replace`` takes three times as long."""
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
        """The object as JSON in one of the kind's versions."""
        return "".join(self.parts(version)).encode()

    def parts(self, version: str) -> Sequence[str]:
        """The same in pieces of text: a list joins those of many objects once, since copying bodies is most of its work."""
        spec, status, secure = rendering.render(self.kind, self.body, version)
        head = f'{{"kind":"{self.kind.kind}","apiVersion":"{self.kind.api_version(version)}","metadata":'
        named = () if secure is None else (',"secure":', secure)
        seen = () if status is None else (',"status":', status)
        return (head, self.whole_metadata(), ',"spec":', spec, *named, *seen, "}")

    def whole_metadata(self) -> str:
        """The metadata as JSON text, its version and generation in it."""
        version = f'"resourceVersion":"{self.resource_version}",' if self.resource_version else ""
        return f'{{{version}"generation":{self.generation},{self.metadata[1:]}'


@dataclass(frozen=True, slots=True)
class Write:
    """An object to create or replace. ``spec`` is a JSON object as text, ``extract`` what its kind extracts from it.

    ``number`` is given to new objects only, by who brings them along with it, ``uid`` and ``generation`` to those that have been before;
    ``restored_from`` is the generation that the spec is of.
    """

    kind: Kind
    name: str
    spec: str
    stored_version: str
    extract: Extract = field(default_factory=Extract)
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    finalizers: Sequence[str] = ()
    owner_references: Sequence[Mapping[str, Any]] = ()
    managed_fields: Sequence[Mapping[str, Any]] = ()
    number: int | None = None
    restored_from: int | None = None
    uid: uuid.UUID | None = None
    generation: int = 1

    def staged(self, position: int) -> tuple[Any, ...]:
        """The columns of the staging table."""
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


@dataclass(frozen=True, slots=True)
class ManagedObject:
    """An object that a repository owns."""

    group: str
    resource: str
    name: str
    path: str
    checksum: str
    folder: str | None
    title: str


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
    """The resource version of an object, None where there is none."""
    found: int | None = await connection.fetchval(_sql.version, namespace, kind.group, kind.plural, name)
    return found


async def mark_deleted(connection: Connection, kind: Kind, namespace: str, name: str, *, actor: str, now: datetime) -> MarkedObject:
    """Begins the deletion of an object that has finalizers; NotFound when there is none."""
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
        await self._connection.execute(_sql.stage)

    async def add(self, writes: Sequence[Write]) -> None:
        """Objects are written in the order they are added."""
        rows = [write.staged(self._count + index) for index, write in enumerate(writes)]
        self._count += len(rows)
        await self._connection.copy_records_to_table("staged", records=rows, columns=_STAGED)

    async def taken_over(self, namespace: str, repository: str) -> str | None:
        """The name of a staged object that somebody else owns by now; ask under the lock."""
        row = await self._connection.fetchrow(_sql.taken_over, namespace, repository)
        return None if row is None else f"{row['resource']} '{row['name']}'"

    async def write(self, namespace: str, *, actor: str, now: datetime, message: str = "") -> int:
        """Creates or replaces what is staged; answers how many objects changed. Their versions have the ``message``."""
        await self._connection.execute(_sql.extend_statement)
        query = _sql.bind(
            "write_staged", namespace=namespace, actor=actor, now=now, message=message or None, status=None, restored_from=None
        )
        return int(await self._connection.fetchval(*query, timeout=_LONGEST_WRITE))

    async def created(self, kind: Kind) -> int:
        """How many objects of a kind the write has made rather than replaced."""
        return int(await self._connection.fetchval(_sql.created, kind.group, kind.plural))


async def delete(
    connection: Connection, kind: Kind, namespace: str, names: Sequence[str], *, actor: str, keep: bool = False
) -> Sequence[str]:
    """Removes objects; answers the names that were there. ``keep``: they can be had again from the trash."""
    await lock(connection)
    rows = await connection.fetch(_sql.delete, namespace, kind.group, kind.plural, list(names), keep, actor)
    return [row["name"] for row in rows]


async def delete_managed(connection: Connection, kind: Kind, namespace: str, names: Sequence[str], repository: str) -> Sequence[str]:
    """Removes those of the named objects that a repository still owns; answers their names."""
    rows = await connection.fetch(_sql.delete_managed, namespace, kind.group, kind.plural, list(names), repository)
    return [row["name"] for row in rows]


async def release_managed(connection: Connection, namespace: str, repository: str) -> None:
    """Lets go of everything a repository owns, under the lock."""
    await connection.execute(_sql.extend_statement)
    await connection.execute(_sql.release_managed, namespace, repository, None)


async def release_holding(connection: Connection, namespace: str, folders: Sequence[str], repository: str) -> Sequence[str]:
    """Lets go of those of a repository's folders that hold more than one another, under the lock; answers their names.

    To be asked when what goes with them has gone: what is in them then is somebody else's, who would find it nowhere without them.
    """
    holding = [row["name"] for row in await connection.fetch(_sql.holding, namespace, list(folders))]
    if holding:
        await connection.execute(_sql.release_managed, namespace, repository, holding)
    return holding


async def delete_namespace(connection: Connection, namespace: str) -> int:
    """Removes everything a namespace holds, under the lock; answers how many objects there were."""
    await connection.execute(_sql.extend_statement)
    return int((await connection.execute(_sql.delete_namespace, namespace)).rpartition(" ")[2])


async def get(connection: Connection, kind: Kind, namespace: str, name: str) -> StoredObject:
    """One object; NotFound when there is none."""
    row = await connection.fetchrow(_sql.get, namespace, kind.group, kind.plural, name)
    if row is None:
        raise not_found(kind, name)
    return object_of_row(kind, row)


async def get_many(connection: Connection, kind: Kind, namespace: str, names: Sequence[str]) -> Sequence[StoredObject]:
    """Those of the named objects that exist."""
    return [object_of_row(kind, row) for row in await connection.fetch(_sql.get_many, namespace, kind.group, kind.plural, list(names))]


def not_found(kind: Kind, name: str) -> NotFound:
    return NotFound(f'{kind.key} "{name}" not found', details=kind.details(name))


async def write_status(
    connection: Connection,
    kind: Kind,
    namespace: str,
    name: str,
    status: bytes,
    managed_fields: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Replaces the status, and who owns its fields, where that is said; NotFound when the object has gone."""
    owners = None if managed_fields is None else orjson.dumps(list(managed_fields)).decode()
    version = await connection.fetchval(_sql.write_status, namespace, kind.group, kind.plural, name, status.decode(), owners)
    if version is None:
        raise not_found(kind, name)


async def managed(connection: Connection, namespace: str, repository: str) -> Sequence[ManagedObject]:
    """Everything a repository owns."""
    rows = await connection.fetch(_sql.managed, namespace, REPOSITORY_MANAGER, repository)
    return await asyncio.to_thread(lambda: [_managed(row) for row in rows])


async def managed_at(
    connection: Connection, namespace: str, repository: str, paths: Sequence[str], keys: Sequence[tuple[str, str, str]]
) -> Sequence[ManagedObject]:
    """What a repository owns that came from one of the paths (directories without a slash at the end) or has one of the keys.

    A key is group, resource and name. The cost does not grow with the repository.
    """
    groups, plurals, names = zip(*keys, strict=True) if keys else ((), (), ())
    rows = await connection.fetch(_sql.managed_at, namespace, REPOSITORY_MANAGER, repository, paths, groups, plurals, names)
    return [_managed(row) for row in rows]


def _managed(row: Any) -> ManagedObject:
    return ManagedObject(
        row["api_group"],
        row["resource"],
        row["name"],
        row["source_path"] or "",
        row["source_checksum"] or "",
        row["folder"],
        row["title"],
    )


async def owners(connection: Connection, kind: Kind, namespace: str, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """The annotations of those named objects that exist."""
    rows = await connection.fetch(_sql.owners, namespace, kind.group, kind.plural, list(names))
    return {row["name"]: orjson.loads(row["annotations"]) for row in rows}


async def has_children(connection: Connection, namespace: str, folder: str) -> bool:
    """Whether any object lies in a folder."""
    return bool(await connection.fetchval(_sql.has_children, namespace, folder))


async def is_referred_to(connection: Connection, namespace: str, panel: str) -> bool:
    """Whether a dashboard shows a library panel."""
    return bool(await connection.fetchval(_sql.is_referred_to, namespace, panel))


async def count_managed(connection: Connection, namespace: str, repository: str) -> Sequence[tuple[str, str, int]]:
    """(group, resource, count) of what a repository owns."""
    return [(row["api_group"], row["resource"], row["count"]) for row in await connection.fetch(_sql.count_managed, namespace, repository)]


def object_of_row(kind: Kind, row: Any) -> StoredObject:
    """What a row of a statement that tells of objects says."""
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
