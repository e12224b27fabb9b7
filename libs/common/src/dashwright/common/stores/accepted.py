"""Store of accepted messages, remembered for a while so that a repeated message creates no second job."""

import uuid
from collections.abc import Sequence
from datetime import timedelta

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

_sql = queries.load(__package__, "accepted.sql")


async def find(connection: Connection, namespace: str, submitter: str, message_id: str) -> tuple[bytes, Sequence[uuid.UUID]] | None:
    """Return (hash of the body, uids of the jobs) of a message that was accepted before, or None."""
    row = await connection.fetchrow(_sql.find, namespace, submitter, message_id)
    return None if row is None else (row["body_hash"], row["jobs"])


async def record(
    connection: Connection, namespace: str, submitter: str, message_id: str, body_hash: bytes, uids: Sequence[uuid.UUID]
) -> bool:
    """Record the jobs that a message created. Return False if another consumer was faster."""
    return await connection.fetchval(_sql.record, namespace, submitter, message_id, body_hash, list(uids)) is not None


async def forget(connection: Connection, *, older_than: timedelta) -> None:
    """Delete records that are older."""
    await connection.execute(_sql.forget, older_than)


async def forget_namespace(connection: Connection, namespace: str) -> None:
    """Delete the records of a namespace."""
    await connection.execute(_sql.forget_namespace, namespace)
