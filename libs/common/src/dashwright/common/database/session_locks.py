"""Advisory locks that belong to a connection and not to a transaction, for work that one process does at a time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from dashwright.common.database.errors import QUERY_ERRORS
from dashwright.common.database.pool import Connection, Database


@asynccontextmanager
async def session_lock(database: Database, *, acquire: str, release: str) -> "AsyncIterator[Connection | None]":
    """Yield a connection that holds a lock, or None if another process holds the lock.

    ``acquire`` is a statement that returns whether it took the lock, and ``release`` one that gives the lock back.
    """
    async with database.connection() as connection:
        if not await connection.fetchval(acquire):
            yield None
            return
        try:
            yield connection
        finally:
            # A lost connection, or one that a closed pool has taken back, holds no lock. Its error must not replace a cancellation of the
            # caller, which would continue to run.
            with suppress(*QUERY_ERRORS):
                if not connection.is_closed():
                    await connection.execute(release)
