"""The change feed: what happened to any object, in the order of resource versions."""

from datetime import timedelta

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

_sql = queries.load(__package__, "changes.sql")


async def trim(connection: Connection, *, older_than: timedelta) -> None:
    """Drops changes that nobody is expected to resume from any more."""
    await connection.execute(_sql.trim, older_than)
