"""A transaction that may be only tried: all its checks are made, and nothing of it is kept."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dashwright.common.database.pool import Connection


@asynccontextmanager
async def trial(connection: Connection, *, dry_run: bool) -> AsyncIterator[None]:
    """One transaction. Of a dry run nothing is kept, and nobody hears of it."""
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
