"""Store of the results of evaluations: frames as bytes, in pieces, in each format, until they expire."""

import uuid
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.kinds.registry import EVALUATION

Format = Literal["json", "arrow"]

#: Largest size of a piece.
PIECE_BYTES = 1 << 20

#: Evaluations that one statement deletes at most, of those with a result and of those without.
_BATCH: Final = 500

_sql = queries.load(__package__, "evaluations.sql")


class Outcome(NamedTuple):
    """Outcome of an evaluation."""

    status: int  #: HTTP status that its request would have had.
    expires_at: datetime
    is_expired: bool


async def open_outcome(connection: Connection, uid: uuid.UUID, *, status: int, keep: timedelta) -> None:
    """Begin the outcome of an evaluation and delete what an earlier attempt has left. ``status`` is its HTTP status."""
    await connection.execute(_sql.forget, uid)
    await connection.execute(_sql.open, uid, status, keep)


async def add_piece(connection: Connection, uid: uuid.UUID, form: Format, piece: int, body: bytes) -> None:
    """Add the next piece, at most ``PIECE_BYTES`` long."""
    await connection.execute(_sql.add_piece, uid, form, piece, body)


async def find(connection: Connection, uid: uuid.UUID) -> Outcome | None:
    """Return the outcome of an evaluation; None where it has none."""
    row = await connection.fetchrow(_sql.find, uid)
    return None if row is None else Outcome(row["status"], row["expires_at"], row["is_expired"])


async def piece(connection: Connection, uid: uuid.UUID, form: Format, number: int) -> bytes | None:
    """Return one piece; None after the last."""
    body: bytes | None = await connection.fetchval(_sql.piece, uid, form, number)
    return body


async def expire(connection: Connection, *, keep: timedelta) -> int:
    """Drop evaluations whose result has expired, and those without a result that ended longer than ``keep`` ago; return how many.

    Their names are remembered with the time, see ``expired_at``.
    """
    dropped, is_more = 0, True
    while is_more:
        batch = len(await connection.fetch(_sql.expire, keep, _BATCH, EVALUATION.group, EVALUATION.plural))
        dropped, is_more = dropped + batch, batch >= _BATCH
    return dropped


async def expired_at(connection: Connection, namespace: str, name: str) -> datetime | None:
    """Return when the last evaluation of this name expired; None where none did that is remembered."""
    found: datetime | None = await connection.fetchval(_sql.expired_at, namespace, name)
    return found


async def forget_expired(connection: Connection, *, older_than: timedelta) -> None:
    """Forget the names of evaluations that expired longer ago."""
    await connection.execute(_sql.forget_expired, older_than)


async def forget_namespace(connection: Connection, namespace: str) -> None:
    """Forget the names of every evaluation that expired in a namespace."""
    await connection.execute(_sql.forget_namespace, namespace)
