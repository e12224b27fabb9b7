"""The store of pictures that others than their makers fetch: those in comments of pull requests, by an id that nobody can guess."""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.errors import TooLarge
from dashwright.common.kinds.registry import REPOSITORY

LARGEST: Final = 8 * 1024 * 1024
"""Bytes of one picture."""

KEPT: Final = 400
"""Pictures of one repository, the newest."""

_sql = queries.load(__package__, "pictures.sql")


@dataclass(frozen=True, slots=True)
class StoredPicture:
    media_type: str
    body: bytes


async def put(connection: Connection, repository: uuid.UUID, picture: StoredPicture) -> uuid.UUID | None:
    """Keeps a picture, and of its repository's others the newest; answers its id, None where the repository is gone.

    Call it in a transaction. Raises TooLarge.
    """
    if len(picture.body) > LARGEST:
        raise TooLarge(f"the picture has {len(picture.body)} bytes, at most {LARGEST} are kept; draw it smaller")
    made: uuid.UUID | None = await connection.fetchval(_sql.put, uuid.uuid4(), repository, picture.media_type, picture.body)
    await connection.execute(_sql.trim, repository, KEPT)
    return made


async def find(connection: Connection, namespace: str, repository: str, picture: uuid.UUID) -> StoredPicture | None:
    """A picture of the repository with that name."""
    row = await connection.fetchrow(_sql.find, picture, REPOSITORY.group, REPOSITORY.plural, namespace, repository)
    return None if row is None else StoredPicture(row["media_type"], row["body"])


async def expire(connection: Connection, *, older_than: timedelta) -> int:
    """Answers how many were dropped."""
    return len(await connection.fetch(_sql.expire, older_than))
