"""Keys and tokens as their owners see them: listed, made, deleted, handed over. Looking one up for a caller is elsewhere."""

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
    """A key without service account. ``expires`` is in Unix seconds, None for never."""

    id: int
    name: str
    role: Role
    expires: int | None = None
    last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A token of a service account. ``expires`` is in Unix seconds, None for never."""

    id: int
    name: str
    created: datetime
    last_used_at: datetime | None
    expires: int | None
    is_revoked: bool


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A token to record. ``hashed`` is what is stored of it; the text that its holder sends is nowhere."""

    name: str
    hashed: str
    role: Role
    expires: int | None
    created_by: str


async def legacy(connection: Connection, org_id: int, *, not_before: int | None, ids: Collection[int] | None) -> Sequence[StoredLegacyKey]:
    """All legacy keys of an organization, by name. ``not_before`` leaves out those that ended earlier, ``ids`` all but these."""
    rows = await connection.fetch(_sql.legacy, org_id, not_before, None if ids is None else list(ids))
    return [StoredLegacyKey(row["id"], row["name"], Role(row["role"]), row["expires"], row["last_used_at"]) for row in rows]


async def delete_legacy(connection: Connection, org_id: int, key_id: int) -> str | None:
    """The name of the key that was deleted; None where the organization has none of that number, or it is a token."""
    return cast("str | None", await connection.fetchval(_sql.delete_legacy, key_id, org_id))


async def tokens(connection: Connection, org_id: int, account_id: int) -> Sequence[StoredToken]:
    """The tokens of a service account, by name; none for an account that is not there."""
    rows = await connection.fetch(_sql.tokens, org_id, account_id)
    return [StoredToken(row["id"], row["name"], row["created"], row["last_used_at"], row["expires"], row["is_revoked"]) for row in rows]


async def insert_token(connection: Connection, org_id: int, account_id: int, token: TokenRecord) -> int | None:
    """The number of the new token; None where the organization has a key or token of that name."""
    values = (token.name, token.hashed, token.role.value, token.expires, account_id, token.created_by)
    return cast("int | None", await connection.fetchval(_sql.insert_token, org_id, *values))


async def delete_token(connection: Connection, org_id: int, account_id: int, token_id: int) -> str | None:
    """The name of the token that was deleted; None where the account has none of that number."""
    return cast("str | None", await connection.fetchval(_sql.delete_token, token_id, org_id, account_id))


async def unmigrated(connection: Connection, org_id: int, key_id: int | None = None) -> Sequence[StoredLegacyKey]:
    """The legacy keys of an organization, expired ones too, locked until the transaction ends; with ``key_id`` only that one."""
    rows = await connection.fetch(_sql.unmigrated, org_id, key_id)
    return [StoredLegacyKey(row["id"], row["name"], Role(row["role"])) for row in rows]


async def give_to_accounts(connection: Connection, pairs: Collection[tuple[int, int]]) -> None:
    """Hands keys to service accounts: pairs of key and account. The text that a key's holder sends stays valid."""
    await connection.execute(_sql.give_to_accounts, [key for key, _ in pairs], [account for _, account in pairs])


async def write_last_use(connection: Connection, *, keys: Mapping[int, datetime], users: Mapping[int, datetime]) -> None:
    """Writes times of last use by number. An older time than the stored one changes nothing, nor does a row that has gone."""
    for statement, times in ((_sql.touch_keys, keys), (_sql.touch_users, users)):
        if times:
            await connection.execute(statement, list(times), list(times.values()))


async def claim_upkeep(connection: Connection) -> bool:
    """Whether the caller's transaction is the only one that does the upkeep, until it ends."""
    return bool(await connection.fetchval(_sql.claim_upkeep))


async def drop_expired_tokens(connection: Connection, *, before: int, limit: int) -> int:
    """Deletes tokens of service accounts that expired before a time in Unix seconds; answers how many, ``limit`` at most."""
    return len(await connection.fetch(_sql.drop_expired_tokens, before, limit))
