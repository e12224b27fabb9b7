"""Transaction that may be a dry run: all its checks are made, and nothing of it is stored."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dashwright.common.database.pool import Connection


@asynccontextmanager
async def trial(connection: Connection, *, dry_run: bool) -> AsyncIterator[None]:
    """Run the block in a transaction; roll back a dry run. A rolled back transaction also sends no notifications."""
    if not dry_run:
        async with connection.transaction():
            yield
        return
    transaction = connection.transaction()
    await transaction.start()
    try:
        yield
    finally:
        await transaction.rollback()
