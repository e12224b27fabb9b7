"""Store of the commits that were synced, for rollbacks, and of the commit at which a rollback holds a repository."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

#: Revisions kept of a repository.
MOST_KEPT: Final = 100

_sql = queries.load(__package__, "revisions.sql")


@dataclass(frozen=True, slots=True)
class StoredRevision:
    """Commit that was stored."""

    ref: str
    at: datetime  #: Time at which it was first stored.
    job: uuid.UUID | None  #: Job that stored it.
    withdrawn: bool  #: Whether an earlier commit was stored after it.
    current: bool  #: Whether it is stored now.


async def note(connection: Connection, repository: uuid.UUID, ref: str, *, job: uuid.UUID | None, now: datetime) -> None:
    """Record that ``ref`` is stored now. Call in the transaction that stores it, under the lock of objects."""
    await connection.execute(_sql.note, repository, ref, now, job)
    await connection.execute(_sql.trim, repository, MOST_KEPT)


async def list_all(connection: Connection, repository: uuid.UUID) -> Sequence[StoredRevision]:
    """Return all revisions, the newest first."""
    return [StoredRevision(**row) for row in await connection.fetch(_sql.list_all, repository)]


def previous(known: Sequence[StoredRevision]) -> StoredRevision | None:
    """Return the revision to roll back to: the newest that is neither current nor withdrawn."""
    return next((revision for revision in known if not revision.current and not revision.withdrawn), None)


async def hold_at(connection: Connection, repository: uuid.UUID, head: str, *, generation: int) -> None:
    """Prevent automatic syncs while the branch is at ``head`` and the spec has this generation."""
    await connection.execute(_sql.hold_at, repository, head, generation)


async def release(connection: Connection, repository: uuid.UUID) -> None:
    """Allow automatic syncs again."""
    await connection.execute(_sql.release, repository)


async def held_head(connection: Connection, repository: uuid.UUID, *, generation: int) -> str | None:
    """Return the commit at which the branch is held, or None."""
    head: str | None = await connection.fetchval(_sql.held_head, repository, generation)
    return head
