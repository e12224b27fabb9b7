"""All repositories of all organizations, as whoever plans their syncs sees them."""

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection, Database
from dashwright.common.models.provisioning import RepositorySpec, RepositoryStatus

_sql = queries.load(__package__, "repositories.sql")


@dataclass(frozen=True, slots=True)
class Planned:
    """A repository, and when its spec last changed (Unix milliseconds)."""

    uid: uuid.UUID
    namespace: str
    name: str
    generation: int
    spec: RepositorySpec
    status: RepositoryStatus
    changed: int
    is_deleting: bool


async def planned(connection: Connection) -> Sequence[Planned]:
    """All of them, in no order."""
    return [
        Planned(
            row["uid"],
            row["namespace"],
            row["name"],
            row["generation"],
            RepositorySpec.model_validate_json(row["spec"]),
            RepositoryStatus.model_validate_json(row["status"] or "{}"),
            row["changed"],
            row["is_deleting"],
        )
        for row in await connection.fetch(_sql.all)
    ]


async def commit_of(connection: Connection, repository: uuid.UUID, *, generation: int) -> str | None:
    """The commit that is stored of a repository without a file left out, by that generation of its spec; None where none is."""
    found: str | None = await connection.fetchval(_sql.commit_of, repository, generation)
    return found


async def note_commit(connection: Connection, repository: uuid.UUID, commit: str, *, generation: int) -> None:
    """What ``commit_of`` answers from now on; nothing where ``commit`` is empty."""
    if commit:
        await connection.execute(_sql.note_commit, repository, commit, generation)
    else:
        await connection.execute(_sql.forget_commit, repository)


async def uids(connection: Connection) -> Sequence[str]:
    """Of every repository there is."""
    return [row["uid"] for row in await connection.fetch(_sql.uids)]


@asynccontextmanager
async def schedule(database: Database) -> "AsyncIterator[Connection | None]":
    """The connection of whoever may plan, as long as the block runs; None where somebody else does."""
    async with database.connection() as connection:
        if not await connection.fetchval(_sql.hold_schedule):
            yield None
            return
        try:
            yield connection
        finally:
            if not connection.is_closed():
                await connection.execute(_sql.release_schedule)
