"""Store of accepted messages. They are kept for a time, so that a redelivered message creates no second job."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

_sql = queries.load(__package__, "accepted_messages.sql")


@dataclass(frozen=True, slots=True)
class NewMessage:
    """Message that created one job."""

    namespace: str
    submitter: str
    message_id: str
    body_hash: bytes  #: SHA-256.
    job_uid: uuid.UUID


class AcceptedMessage(NamedTuple):
    """Message that was accepted before."""

    body_hash: bytes
    job_uids: Sequence[uuid.UUID]  #: Jobs that the message created.


async def find(connection: Connection, namespace: str, submitter: str, message_id: str) -> AcceptedMessage | None:
    """Return an accepted message, or None if the message is new."""
    row = await connection.fetchrow(_sql.find, namespace, submitter, message_id)
    return None if row is None else AcceptedMessage(row["body_hash"], row["jobs"])


async def record(
    connection: Connection, namespace: str, submitter: str, message_id: str, body_hash: bytes, uids: Sequence[uuid.UUID]
) -> bool:
    """Record the jobs that a message created. Return False if another consumer has recorded the message already."""
    return await connection.fetchval(_sql.record, namespace, submitter, message_id, body_hash, list(uids)) is not None


async def record_all(connection: Connection, messages: Sequence[NewMessage]) -> bool:
    """Record several messages. Return False if one of them was recorded before: the transaction must then be rolled back."""
    query = _sql.bind(
        "record_all",
        namespaces=[message.namespace for message in messages],
        submitters=[message.submitter for message in messages],
        message_ids=[message.message_id for message in messages],
        body_hashes=[message.body_hash for message in messages],
        jobs=[message.job_uid for message in messages],
    )
    return len(await connection.fetch(*query)) == len(messages)


async def delete_old(connection: Connection, *, older_than: timedelta, limit: int) -> int:
    """Delete at most ``limit`` messages that were accepted longer than ``older_than`` ago, and return their number."""
    return len(await connection.fetch(_sql.delete_old, older_than, limit))


async def delete_namespace(connection: Connection, namespace: str) -> None:
    """Delete all records of a namespace."""
    await connection.execute(_sql.delete_namespace, namespace)
