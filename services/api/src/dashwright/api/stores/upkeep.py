"""What is written about keys and users besides their own changes: when they were last used, and that expired tokens have gone."""

from collections.abc import Mapping
from datetime import datetime

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load

_sql = load(__package__, "upkeep.sql")


async def touch(connection: Connection, *, keys: Mapping[int, datetime], users: Mapping[int, datetime]) -> None:
    """Writes times of last use by number. An older time than the stored one changes nothing, nor does a row that has gone."""
    for statement, times in ((_sql.touch_keys, keys), (_sql.touch_users, users)):
        if times:
            await connection.execute(statement, list(times), list(times.values()))


async def claim(connection: Connection) -> bool:
    """Whether the caller's transaction is the only one that does the upkeep, until it ends."""
    return bool(await connection.fetchval(_sql.claim_upkeep))


async def drop_expired_tokens(connection: Connection, *, before: int, limit: int) -> int:
    """Deletes tokens of service accounts that expired before a time in Unix seconds; answers how many, ``limit`` at most."""
    return len(await connection.fetch(_sql.drop_expired_tokens, before, limit))
