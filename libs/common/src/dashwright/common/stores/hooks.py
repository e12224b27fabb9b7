"""Store of webhooks at git hosts: the time of the next check of each, and the webhooks to remove."""

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
    """Repository with a webhook to check, claimed by one process."""

    uid: uuid.UUID
    namespace: str
    name: str
    generation: int
    spec: RepositorySpec
    status: RepositoryStatus
    hook: int | None  #: Id of the webhook at the git host; None if there is no webhook.
    config: GitHostRepositoryConfig | None  #: Configuration with which the webhook was created.
    failures: int  #: Number of failed checks since the last one that succeeded.


@dataclass(frozen=True, slots=True)
class HookRemoval:
    """Webhook to remove, claimed by one process."""

    id: int  #: Id of the removal.
    namespace: str
    name: str  #: Name of the repository, which may be deleted.
    hook: int  #: Id of the webhook at the git host.
    config: GitHostRepositoryConfig  #: Configuration with which the webhook was created.
    failures: int  #: Number of failed attempts to remove the webhook.
    is_old: bool  #: True if the removal has failed for so long that it is abandoned.


async def claim(connection: Connection, *, limit: int, lease: timedelta) -> Sequence[HookClaim]:
    """Claim at most ``limit`` repositories that are new, changed or due for a check, and return them.

    No other process can claim them before the ``lease`` ends.
    """
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
        for row in await connection.fetch(_sql.claim, limit, lease)
    ]


async def record_hook(
    connection: Connection, repository: uuid.UUID, hook: int, config: GitHostRepositoryConfig, *, check_after: timedelta
) -> None:
    """Record that a webhook works, and schedule its next check in ``check_after``."""
    await connection.execute(_sql.record_hook, repository, hook, config.to_json().decode(), check_after)


async def check_on_change(connection: Connection, repository: uuid.UUID) -> None:
    """Schedule no check of a webhook until its repository changes."""
    await connection.execute(_sql.check_on_change, repository)


async def record_failure(connection: Connection, repository: uuid.UUID, *, retry_after: timedelta) -> None:
    """Record a failed check of a webhook, and schedule the next one in ``retry_after``."""
    await connection.execute(_sql.record_failure, repository, retry_after)


async def mark_for_removal(connection: Connection, repository: uuid.UUID, namespace: str, name: str) -> None:
    """Mark the webhook of a repository for removal. Call this in the transaction that makes the webhook unnecessary."""
    await connection.execute(_sql.mark_for_removal, repository, namespace, name)


async def mark_namespace_for_removal(connection: Connection, namespace: str) -> None:
    """Mark the webhooks of repositories with the clean-up finalizer for removal.

    Call this in the transaction that deletes the namespace.
    """
    await connection.execute(_sql.mark_namespace_for_removal, namespace, CLEAN_UP)


async def claim_removals(connection: Connection, *, limit: int, lease: timedelta, abandon_after: timedelta) -> Sequence[HookRemoval]:
    """Claim at most ``limit`` webhooks to remove, and return them. No other process can claim them before the ``lease`` ends.

    ``is_old`` is true of those marked longer than ``abandon_after`` ago.
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
        for row in await connection.fetch(_sql.claim_removals, limit, lease, abandon_after)
    ]


async def delete_removal(connection: Connection, removal_id: int) -> None:
    """Delete a removal that succeeded or was abandoned."""
    await connection.execute(_sql.delete_removal, removal_id)


async def record_removal_failure(connection: Connection, removal_id: int, *, retry_after: timedelta) -> None:
    """Record a failed removal, and schedule the next attempt in ``retry_after``."""
    await connection.execute(_sql.record_removal_failure, removal_id, retry_after)
