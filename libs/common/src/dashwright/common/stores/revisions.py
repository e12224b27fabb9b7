"""Store of revisions, which are synced commits to which a repository can be rolled back, and of holds after rollbacks.

A hold prevents automatic syncs while the head of the branch is still the commit that was its head at the rollback.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

#: Maximum number of revisions of a repository. The oldest are deleted.
MAX_REVISIONS: Final = 100

_sql = queries.load(__package__, "revisions.sql")


@dataclass(frozen=True, slots=True)
class StoredRevision:
    """Commit whose files have been stored as objects."""

    ref: str
    at: datetime  #: Time at which the commit was first stored.
    job: uuid.UUID | None  #: Job that stored the commit.
    withdrawn: bool  #: True if an earlier revision became current again after this one, such as by a rollback.
    current: bool  #: True if the stored objects are those of this commit.


async def record(connection: Connection, repository: uuid.UUID, ref: str, *, job: uuid.UUID | None, now: datetime) -> None:
    """Record ``ref`` as the current revision of a repository.

    Call this in the transaction that stores the files of the commit, which holds the lock of objects of the namespace.
    """
    await connection.execute(_sql.record, repository, ref, now, job)
    await connection.execute(_sql.trim, repository, MAX_REVISIONS)


async def list_all(connection: Connection, repository: uuid.UUID) -> Sequence[StoredRevision]:
    """Return all revisions, the newest first."""
    return [StoredRevision(**row) for row in await connection.fetch(_sql.list_all, repository)]


def previous(revisions: Sequence[StoredRevision]) -> StoredRevision | None:
    """Return the revision to roll back to, which is the newest that is neither current nor withdrawn, or None."""
    return next((revision for revision in revisions if not revision.current and not revision.withdrawn), None)


async def hold_at(connection: Connection, repository: uuid.UUID, head: str, *, generation: int) -> None:
    """Prevent automatic syncs while ``head`` is the newest commit of the branch and ``generation`` is the generation of the spec."""
    await connection.execute(_sql.hold_at, repository, head, generation)


async def release(connection: Connection, repository: uuid.UUID) -> None:
    """Allow automatic syncs again."""
    await connection.execute(_sql.release, repository)


async def held_head(connection: Connection, repository: uuid.UUID, *, generation: int) -> str | None:
    """Return the head of the hold of a repository, or None without a hold.

    Automatic syncs are prevented while this commit is the newest one of the branch.
    """
    head: str | None = await connection.fetchval(_sql.held_head, repository, generation)
    return head
