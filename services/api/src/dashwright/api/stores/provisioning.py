"""Repositories that files declared, and the lock of the gateway that applies the files."""

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection, Database
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


@asynccontextmanager
async def lock(database: Database) -> "AsyncIterator[Connection | None]":
    """Yield a connection that holds the lock of provisioning, or None if another gateway holds the lock."""
    async with database.connection() as connection:
        if not await connection.fetchval(_sql.try_lock):
            yield None
            return
        try:
            yield connection
        finally:
            if not connection.is_closed():
                await connection.execute(_sql.release_lock)
