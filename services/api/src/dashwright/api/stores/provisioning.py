"""Repositories that files declared, and the lock of the gateway that applies the files."""

import uuid
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection, Database
from dashwright.common.database.session_locks import session_lock
from dashwright.common.kinds.annotations import FILE_PROVISIONER, FROM_FILE

_sql = queries.load(__package__, "provisioning.sql")


@dataclass(frozen=True, slots=True)
class ProvisionedRepository:
    """The state of a stored repository that a file declared."""

    namespace: str
    name: str
    uid: uuid.UUID
    generation: int
    resource_version: int
    #: The path of the file, relative to the directory of files.
    source_path: str
    is_deleting: bool


async def list_all(connection: Connection) -> Sequence[ProvisionedRepository]:
    """Return the repositories that files declared, in all organizations, sorted by namespace and name."""
    return [ProvisionedRepository(**row) for row in await connection.fetch(_sql.list_all, FROM_FILE, FILE_PROVISIONER)]


def lock(database: Database) -> "AbstractAsyncContextManager[Connection | None]":
    """Return a context manager of the connection that holds the lock of provisioning; None if another gateway holds the lock."""
    return session_lock(database, acquire=_sql.try_lock, release=_sql.release_lock)
