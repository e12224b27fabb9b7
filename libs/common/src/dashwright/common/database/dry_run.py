"""Transactions that are rolled back in a dry run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dashwright.common.database.pool import Connection


@asynccontextmanager
async def transaction_or_dry_run(connection: Connection, *, dry_run: bool) -> AsyncIterator[None]:
    """Run the block in a transaction and roll it back if ``dry_run``, so that it stores nothing and sends no notifications."""
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
