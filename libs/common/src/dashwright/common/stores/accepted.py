"""Messages that were accepted, remembered for a while: one that comes twice makes no second job."""

import uuid
from collections.abc import Sequence
from datetime import timedelta

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

_sql = queries.load(__package__, "accepted.sql")


async def find(connection: Connection, namespace: str, submitter: str, message_id: str) -> tuple[bytes, Sequence[uuid.UUID]] | None:
    """(hash of the body, jobs) of a message that was accepted before."""
    row = await connection.fetchrow(_sql.find, namespace, submitter, message_id)
    return None if row is None else (row["body_hash"], row["jobs"])


async def record(
    connection: Connection, namespace: str, submitter: str, message_id: str, body_hash: bytes, uids: Sequence[uuid.UUID]
) -> bool:
    """Remembers what a message made; False when another consumer was quicker."""
    return await connection.fetchval(_sql.record, namespace, submitter, message_id, body_hash, list(uids)) is not None


async def forget(connection: Connection, *, older_than: timedelta) -> None:
    await connection.execute(_sql.forget, older_than)


async def forget_namespace(connection: Connection, namespace: str) -> None:
    await connection.execute(_sql.forget_namespace, namespace)
