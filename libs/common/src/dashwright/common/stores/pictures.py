"""Store of pictures for comments on pull requests. A picture is requested by an unguessable id."""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.errors import TooLarge
from dashwright.common.kinds.registry import REPOSITORY

#: Maximum size of a picture.
MAX_PICTURE_BYTES: Final = 8 * 1024 * 1024

#: Maximum number of pictures of a repository. The oldest are deleted.
MAX_PICTURES: Final = 400

_sql = queries.load(__package__, "pictures.sql")


@dataclass(frozen=True, slots=True)
class StoredPicture:
    """Picture with its media type."""

    media_type: str
    body: bytes


async def insert(connection: Connection, repository: uuid.UUID, picture: StoredPicture) -> uuid.UUID | None:
    """Store a picture, delete the oldest pictures of its repository beyond ``MAX_PICTURES``, and return the id.

    Call this in a transaction. Returns None if the repository does not exist. Raises TooLarge if the picture is too large.
    """
    if len(picture.body) > MAX_PICTURE_BYTES:
        raise TooLarge(f"the picture has {len(picture.body)} bytes, at most {MAX_PICTURE_BYTES} are kept; draw it smaller")
    picture_id: uuid.UUID | None = await connection.fetchval(_sql.insert, uuid.uuid4(), repository, picture.media_type, picture.body)
    await connection.execute(_sql.trim, repository, MAX_PICTURES)
    return picture_id


async def find(connection: Connection, namespace: str, repository: str, picture_id: uuid.UUID) -> StoredPicture | None:
    """Return a picture of the repository with this name, or None if the picture does not exist."""
    row = await connection.fetchrow(_sql.find, picture_id, REPOSITORY.group, REPOSITORY.plural, namespace, repository)
    return None if row is None else StoredPicture(row["media_type"], row["body"])


async def expire(connection: Connection, *, older_than: timedelta, limit: int) -> int:
    """Delete at most ``limit`` pictures that are older than ``older_than``, and return their number."""
    return len(await connection.fetch(_sql.expire, older_than, limit))
