"""Counts of objects and accounts of the whole server."""

from collections.abc import Mapping

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load

_sql = load(__package__, "statistics.sql")


async def server_counts(connection: Connection) -> Mapping[str, int]:
    """Return the counts of the whole server, by column name."""
    row = await connection.fetchrow(_sql.server)
    assert row is not None
    return dict(row)
