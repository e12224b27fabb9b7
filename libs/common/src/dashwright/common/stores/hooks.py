"""Store of webhooks at git hosts: when each is checked next, and which are to be removed."""

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
    """Repository whose webhook is to be checked."""

    uid: uuid.UUID
    namespace: str
    name: str
    generation: int
    spec: RepositorySpec
    status: RepositoryStatus
    hook: int | None  #: Id of the webhook at the git host; None without one.
    asked_by: GitHostRepositoryConfig | None  #: Configuration with which the webhook was created.
    failures: int


@dataclass(frozen=True, slots=True)
class HookRemoval:
    """Webhook to remove."""

    id: int
    namespace: str
    name: str
    hook: int
    asked_by: GitHostRepositoryConfig
    failures: int
    is_old: bool  #: Whether the removal has failed for so long that it is given up.


async def claim(connection: Connection, *, most: int, lease: timedelta) -> Sequence[HookClaim]:
    """Return at most ``most`` repositories that are new, changed or due. No other process gets them during the ``lease``."""
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
    """Record a webhook that works; check it again after ``again``."""
    await connection.execute(_sql.note, repository, hook, by.to_json().decode(), again)


async def wait_for_change(connection: Connection, repository: uuid.UUID) -> None:
    """Record that nothing needs checking until the repository changes."""
    await connection.execute(_sql.wait_for_change, repository)


async def fail(connection: Connection, repository: uuid.UUID, *, again: timedelta) -> None:
    """Record a failed check; try again after ``again``."""
    await connection.execute(_sql.fail, repository, again)


async def mark_for_removal(connection: Connection, repository: uuid.UUID, namespace: str, name: str) -> None:
    """Mark the webhook of a repository for removal, in the transaction that removes the repository or the need for it."""
    await connection.execute(_sql.mark_for_removal, repository, namespace, name)


async def mark_namespace_for_removal(connection: Connection, namespace: str) -> None:
    """Mark the webhooks of a namespace for removal if a finalizer demands it, in the transaction that deletes it."""
    await connection.execute(_sql.mark_namespace_for_removal, namespace, CLEAN_UP)


async def claim_removals(connection: Connection, *, most: int, lease: timedelta, patience: timedelta) -> Sequence[HookRemoval]:
    """Return at most ``most`` webhooks to remove. No other process gets them during the ``lease``.

    They are old after ``patience``.
    """
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
    """Delete a removal that is done or given up."""
    await connection.execute(_sql.forget_removal, number)


async def fail_removal(connection: Connection, number: int, *, again: timedelta) -> None:
    """Record a failed removal; try again after ``again``."""
    await connection.execute(_sql.fail_removal, number, again)
