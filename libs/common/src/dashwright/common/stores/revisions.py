"""Which commits were stored of a repository, to go back to; and whether it is held where it was put back to."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

MOST_KEPT: Final = 100
"""Of a repository."""

_sql = queries.load(__package__, "revisions.sql")


@dataclass(frozen=True, slots=True)
class StoredRevision:
    """A commit that was stored: ``at`` is when it first was, ``job`` the one that did it.

    ``withdrawn``: an earlier one was stored after it. ``current``: what is stored now is this.
    """

    ref: str
    at: datetime
    job: uuid.UUID | None
    withdrawn: bool
    current: bool


async def note(connection: Connection, repository: uuid.UUID, ref: str, *, job: uuid.UUID | None, now: datetime) -> None:
    """``ref`` is stored now. For the transaction that stores it, under the lock of objects."""
    await connection.execute(_sql.note, repository, ref, now, job)
    await connection.execute(_sql.trim, repository, MOST_KEPT)


async def list_all(connection: Connection, repository: uuid.UUID) -> Sequence[StoredRevision]:
    """All that are known, the newest first."""
    return [StoredRevision(**row) for row in await connection.fetch(_sql.list_all, repository)]


def previous(known: Sequence[StoredRevision]) -> StoredRevision | None:
    """The one to go back to: the newest that neither is stored now nor was gone back from."""
    return next((revision for revision in known if not revision.current and not revision.withdrawn), None)


async def hold_at(connection: Connection, repository: uuid.UUID, head: str, *, generation: int) -> None:
    """No sync comes by itself while the branch is at ``head`` and the spec of this generation."""
    await connection.execute(_sql.hold_at, repository, head, generation)


async def release(connection: Connection, repository: uuid.UUID) -> None:
    await connection.execute(_sql.release, repository)


async def held_head(connection: Connection, repository: uuid.UUID, *, generation: int) -> str | None:
    """Where the branch stood when the repository was put back; None where it is not held."""
    head: str | None = await connection.fetchval(_sql.held_head, repository, generation)
    return head
