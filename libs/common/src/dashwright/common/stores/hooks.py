"""Hooks that git hosts were asked for: when each is looked at next, and which are to be taken back."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.kinds.repository import CLEAN_UP
from dashwright.common.models.provisioning import GitHostRepositoryConfig, RepositorySpec, RepositoryStatus

_sql = queries.load(__package__, "hooks.sql")


@dataclass(frozen=True, slots=True)
class HookClaim:
    """A repository whose hook is to be looked at. ``hook`` was made by ``asked_by``, None where there is none."""

    uid: uuid.UUID
    namespace: str
    name: str
    generation: int
    spec: RepositorySpec
    status: RepositoryStatus
    hook: int | None
    asked_by: GitHostRepositoryConfig | None
    failures: int


@dataclass(frozen=True, slots=True)
class HookRemoval:
    """A hook to remove. ``is_old``: that was tried for so long that it is given up."""

    id: int
    namespace: str
    name: str
    hook: int
    asked_by: GitHostRepositoryConfig
    failures: int
    is_old: bool


async def claim(connection: Connection, *, most: int, lease: timedelta) -> Sequence[HookClaim]:
    """Repositories that are new, changed or due; for the ``lease`` nobody else gets them."""
    return [
        HookClaim(
            row["uid"],
            row["namespace"],
            row["name"],
            row["generation"],
            RepositorySpec.model_validate_json(row["spec"]),
            RepositoryStatus.model_validate_json(row["status"] or "{}"),
            row["hook"],
            GitHostRepositoryConfig.model_validate_json(row["githost"]) if row["githost"] else None,
            row["failures"],
        )
        for row in await connection.fetch(_sql.claim, most, lease)
    ]


async def note(connection: Connection, repository: uuid.UUID, hook: int, by: GitHostRepositoryConfig, *, again: timedelta) -> None:
    """The host calls; that is looked at again after a while."""
    await connection.execute(_sql.note, repository, hook, by.to_json().decode(), again)


async def wait_for_change(connection: Connection, repository: uuid.UUID) -> None:
    """There is nothing to look at until the repository changes."""
    await connection.execute(_sql.wait_for_change, repository)


async def fail(connection: Connection, repository: uuid.UUID, *, again: timedelta) -> None:
    """It could not be seen to."""
    await connection.execute(_sql.fail, repository, again)


async def mark_for_removal(connection: Connection, repository: uuid.UUID, namespace: str, name: str) -> None:
    """The hook of a repository, where it has one, is to be removed: for the transaction that removes the repository or its reason."""
    await connection.execute(_sql.mark_for_removal, repository, namespace, name)


async def mark_namespace_for_removal(connection: Connection, namespace: str) -> None:
    """The hooks of all repositories of a namespace are to be removed, where these say so: for the transaction that removes them."""
    await connection.execute(_sql.mark_namespace_for_removal, namespace, CLEAN_UP)


async def claim_removals(connection: Connection, *, most: int, lease: timedelta, patience: timedelta) -> Sequence[HookRemoval]:
    """Hooks to remove; for the ``lease`` nobody else gets them. After ``patience`` they are old."""
    return [
        HookRemoval(
            row["id"],
            row["namespace"],
            row["name"],
            row["hook"],
            GitHostRepositoryConfig.model_validate_json(row["githost"]),
            row["failures"],
            row["is_old"],
        )
        for row in await connection.fetch(_sql.claim_removals, most, lease, patience)
    ]


async def forget_removal(connection: Connection, number: int) -> None:
    """Nothing more is to be done about it."""
    await connection.execute(_sql.forget_removal, number)


async def fail_removal(connection: Connection, number: int, *, again: timedelta) -> None:
    await connection.execute(_sql.fail_removal, number, again)
