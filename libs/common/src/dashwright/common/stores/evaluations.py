"""The store of what evaluations came to: frames as bytes, in pieces, in each format, until they expire."""

import uuid
from datetime import timedelta
from typing import Literal

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

Format = Literal["json", "arrow"]

PIECE_BYTES = 1 << 20

_sql = queries.load(__package__, "evaluations.sql")


async def open_outcome(connection: Connection, uid: uuid.UUID, *, status: int, keep: timedelta) -> None:
    """Begins the outcome of an evaluation; what an earlier attempt has left is dropped. ``status`` is its HTTP status."""
    await connection.execute(_sql.forget, uid)
    await connection.execute(_sql.open, uid, status, keep)


async def add_piece(connection: Connection, uid: uuid.UUID, form: Format, piece: int, body: bytes) -> None:
    """Adds the next piece, at most ``PIECE_BYTES`` long."""
    await connection.execute(_sql.add_piece, uid, form, piece, body)


async def find(connection: Connection, uid: uuid.UUID) -> int | None:
    """The status of an outcome that has not expired."""
    status: int | None = await connection.fetchval(_sql.find, uid)
    return status


async def piece(connection: Connection, uid: uuid.UUID, form: Format, number: int) -> bytes | None:
    """One piece; None after the last."""
    body: bytes | None = await connection.fetchval(_sql.piece, uid, form, number)
    return body


async def expire(connection: Connection) -> int:
    """Drops outcomes whose time is up; answers how many."""
    return len(await connection.fetch(_sql.expire))
