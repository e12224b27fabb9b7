"""Store of the results of evaluations, until they expire. Each format of a result is stored in chunks of bytes."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from dashwright.common.database import queries
from dashwright.common.database.notifier import notify_after_commit
from dashwright.common.database.pool import Connection
from dashwright.common.kinds.registry import EVALUATION

Format = Literal["json", "arrow"]

#: Maximum size of a chunk.
CHUNK_BYTES = 1 << 20

_sql = queries.load(__package__, "evaluations.sql")


@dataclass(frozen=True, slots=True)
class NewResult:
    """Result of an evaluation to store with the end of its job."""

    uid: uuid.UUID
    status: int  #: HTTP status that the response to the same query would have.
    retention: timedelta  #: Time until the result expires.
    bodies: Mapping[Format, bytes]  #: At most ``CHUNK_BYTES`` bytes each.


class EvaluationResult(NamedTuple):
    """Result of an evaluation, without its chunks."""

    status: int  #: HTTP status that the response to the same query would have.
    expires_at: datetime
    is_expired: bool


async def create_result(connection: Connection, uid: uuid.UUID, *, status: int, retention: timedelta) -> None:
    """Create the result of an evaluation without chunks, and delete the result of an earlier attempt.

    The result expires after ``retention``.
    """
    await connection.execute(_sql.delete_result, uid)
    await connection.execute(_sql.create_result, uid, status, retention)


async def create_results(connection: Connection, results: Sequence[NewResult]) -> None:
    """Create complete results of evaluations, and delete the results of earlier attempts."""
    await connection.execute(_sql.delete_results, [result.uid for result in results])
    bodies = [(result.uid, form, body) for result in results for form, body in result.bodies.items()]
    query = _sql.bind(
        "create_results",
        uids=[result.uid for result in results],
        statuses=[result.status for result in results],
        retentions=[result.retention for result in results],
        body_uids=[uid for uid, _, _ in bodies],
        formats=[form for _, form, _ in bodies],
        bodies=[body for _, _, body in bodies],
    )
    await connection.execute(*query)


async def add_chunk(connection: Connection, uid: uuid.UUID, result_format: Format, index: int, body: bytes) -> None:
    """Add the chunk with the next index to a result. It has at most ``CHUNK_BYTES`` bytes."""
    await connection.execute(_sql.add_chunk, uid, result_format, index, body)


async def find(connection: Connection, uid: uuid.UUID) -> EvaluationResult | None:
    """Return the result of an evaluation, or None if it has none."""
    row = await connection.fetchrow(_sql.find, uid)
    return None if row is None else EvaluationResult(row["status"], row["expires_at"], row["is_expired"])


async def read_chunk(connection: Connection, uid: uuid.UUID, result_format: Format, index: int) -> bytes | None:
    """Return the chunk with an index, or None after the last chunk."""
    chunk: bytes | None = await connection.fetchval(_sql.read_chunk, uid, result_format, index)
    return chunk


async def delete_expired(connection: Connection, *, retention: timedelta, limit: int) -> int:
    """Delete evaluations with an expired result, and those without a result that ended longer than ``retention`` ago.

    At most ``limit`` evaluations of each of these two groups are deleted. Returns the number of all. Their names and the time are
    recorded for ``expired_at``. Call this in a transaction.
    """
    parameters: dict[str, Any] = {"retention": retention, "limit": limit, "api_group": EVALUATION.group, "resource": EVALUATION.plural}
    await connection.execute(*_sql.bind("lock_expired", **parameters))
    notify_after_commit(connection, "job")
    return len(await connection.fetch(*_sql.bind("delete_expired", **parameters)))


async def expired_at(connection: Connection, namespace: str, name: str) -> datetime | None:
    """Return when the last evaluation of this name expired, or None if no such time is recorded."""
    expired_at: datetime | None = await connection.fetchval(_sql.expired_at, namespace, name)
    return expired_at


async def delete_expired_names(connection: Connection, *, older_than: timedelta, limit: int) -> int:
    """Delete at most ``limit`` names of evaluations that expired longer than ``older_than`` ago, and return their number."""
    return len(await connection.fetch(_sql.delete_expired_names, older_than, limit))


async def delete_namespace(connection: Connection, namespace: str) -> None:
    """Delete the recorded names of all expired evaluations of a namespace."""
    await connection.execute(_sql.delete_namespace, namespace)
