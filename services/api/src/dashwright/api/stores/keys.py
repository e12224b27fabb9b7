"""Rows of legacy API keys and service account tokens. Verification of credentials uses ``key_lookup``."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.identity import Role

_sql = queries.load(__package__, "keys.sql")


@dataclass(frozen=True, slots=True)
class StoredLegacyKey:
    """A legacy key that was not migrated to a service account."""

    id: int
    name: str
    role: Role
    #: Unix seconds; None: never.
    expires: int | None = None
    last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A token of a service account."""

    id: int
    name: str
    created: datetime
    last_used_at: datetime | None
    #: Unix seconds; None: never.
    expires: int | None
    is_revoked: bool


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A token to insert."""

    name: str
    #: The hash of the token's secret. The token itself is not stored.
    secret_hash: str
    role: Role
    expires: int | None
    created_by: str


async def list_legacy(
    connection: Connection, org_id: int, *, not_before: int | None, ids: Collection[int] | None
) -> Sequence[StoredLegacyKey]:
    """Return the legacy keys of an organization, sorted by name.

    ``not_before`` (Unix seconds) leaves out keys that expired before it. ``ids`` limits the result to these keys.
    """
    rows = await connection.fetch(_sql.list_legacy, org_id, not_before, None if ids is None else list(ids))
    return [StoredLegacyKey(row["id"], row["name"], Role(row["role"]), row["expires"], row["last_used_at"]) for row in rows]


async def delete_legacy(connection: Connection, org_id: int, key_id: int) -> str | None:
    """Delete a legacy key and return its name, or None if the organization has no such legacy key."""
    return cast("str | None", await connection.fetchval(_sql.delete_legacy, key_id, org_id))


async def list_tokens(connection: Connection, org_id: int, account_id: int) -> Sequence[StoredToken]:
    """Return the tokens of a service account, sorted by name. Empty for an unknown account."""
    rows = await connection.fetch(_sql.list_tokens, org_id, account_id)
    return [StoredToken(row["id"], row["name"], row["created"], row["last_used_at"], row["expires"], row["is_revoked"]) for row in rows]


async def insert_token(connection: Connection, org_id: int, account_id: int, token: TokenRecord) -> int | None:
    """Insert a token and return its id, or None if its name is in use in the organization."""
    query = _sql.bind(
        "insert_token",
        org_id=org_id,
        name=token.name,
        secret_hash=token.secret_hash,
        role=token.role.value,
        expires=token.expires,
        account_id=account_id,
        created_by=token.created_by,
    )
    return cast("int | None", await connection.fetchval(*query))


async def delete_token(connection: Connection, org_id: int, account_id: int, token_id: int) -> str | None:
    """Delete a token and return its name, or None if the account has no such token."""
    return cast("str | None", await connection.fetchval(_sql.delete_token, token_id, org_id, account_id))


async def lock_unmigrated(connection: Connection, org_id: int, key_id: int | None = None) -> Sequence[StoredLegacyKey]:
    """Lock and return the legacy keys of an organization, including expired ones. With ``key_id``, only that key."""
    rows = await connection.fetch(_sql.lock_unmigrated, org_id, key_id)
    return [StoredLegacyKey(row["id"], row["name"], Role(row["role"])) for row in rows]


async def assign_to_accounts(connection: Connection, account_ids_by_key_id: Mapping[int, int]) -> None:
    """Assign keys to service accounts. The secrets of the keys remain valid."""
    await connection.execute(_sql.assign_to_accounts, list(account_ids_by_key_id), list(account_ids_by_key_id.values()))


async def write_last_use(connection: Connection, *, keys: Mapping[int, datetime], users: Mapping[int, datetime]) -> None:
    """Store times of last use, by key id and by user id.

    Times that are earlier than the stored ones, and ids of deleted rows, are ignored.
    """
    for statement, times in ((_sql.touch_keys, keys), (_sql.touch_users, users)):
        if times:
            await connection.execute(statement, list(times), list(times.values()))


async def lock_cleanup(connection: Connection) -> bool:
    """Try to take the cleanup lock until the transaction ends, and return whether it was free."""
    return bool(await connection.fetchval(_sql.lock_cleanup))


async def delete_expired_tokens(connection: Connection, *, before: int, limit: int) -> int:
    """Delete at most ``limit`` service account tokens that expired before a time (Unix seconds); return how many."""
    return len(await connection.fetch(_sql.delete_expired_tokens, before, limit))
