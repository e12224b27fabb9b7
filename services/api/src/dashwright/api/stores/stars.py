"""The dashboards a user has starred, in each organization."""

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load

_sql = load(__package__, "stars.sql")


async def add(connection: Connection, user_id: int, org_id: int, dashboard: str) -> None:
    """Once or twice is the same."""
    await connection.execute(_sql.add, user_id, org_id, dashboard)


async def remove(connection: Connection, user_id: int, org_id: int, dashboard: str) -> None:
    """Also where there was none."""
    await connection.execute(_sql.remove, user_id, org_id, dashboard)
