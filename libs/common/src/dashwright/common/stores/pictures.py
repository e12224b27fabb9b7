"""Store of pictures for comments on pull requests, which readers fetch by an unguessable id."""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.errors import TooLarge
from dashwright.common.kinds.registry import REPOSITORY

#: Bytes of one picture.
LARGEST: Final = 8 * 1024 * 1024

#: Pictures kept of one repository, the newest.
KEPT: Final = 400

_sql = queries.load(__package__, "pictures.sql")


@dataclass(frozen=True, slots=True)
class StoredPicture:
    """Picture with its media type."""

    media_type: str
    body: bytes


async def put(connection: Connection, repository: uuid.UUID, picture: StoredPicture) -> uuid.UUID | None:
    """Store a picture, delete the oldest of its repository beyond ``KEPT``, and return its id.

    Call in a transaction. Returns None if the repository does not exist. Raises TooLarge.
    """
    if len(picture.body) > LARGEST:
        raise TooLarge(f"the picture has {len(picture.body)} bytes, at most {LARGEST} are kept; draw it smaller")
    made: uuid.UUID | None = await connection.fetchval(_sql.put, uuid.uuid4(), repository, picture.media_type, picture.body)
    await connection.execute(_sql.trim, repository, KEPT)
    return made


async def find(connection: Connection, namespace: str, repository: str, picture: uuid.UUID) -> StoredPicture | None:
    """Return a picture of the repository with that name, or None."""
    row = await connection.fetchrow(_sql.find, picture, REPOSITORY.group, REPOSITORY.plural, namespace, repository)
    return None if row is None else StoredPicture(row["media_type"], row["body"])


async def expire(connection: Connection, *, older_than: timedelta) -> int:
    """Delete pictures that are older and return their number."""
    return len(await connection.fetch(_sql.expire, older_than))
