"""Lookup of API keys and tokens by credential: key and owner in one round trip. The store ``keys`` manages them."""

from dataclasses import dataclass

from dashwright.api.domain.access.roles import permissions_of
from dashwright.api.domain.access.scopes import grants_of, with_grants
from dashwright.common.database.pool import Database
from dashwright.common.database.queries import load
from dashwright.common.identity import Caller, Identity, Role

_sql = load(__package__, "key_lookup.sql")


@dataclass(frozen=True, slots=True)
class FoundKey:
    """A stored key with its owner."""

    #: The stored hash of the secret.
    stored: str
    is_revoked: bool
    #: The service account that the key belongs to is disabled.
    is_disabled: bool
    #: The owner in the key's own organization.
    identity: Identity


class KeyLookup:
    """The keys of the database, for the verification of credentials."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def by_hash(self, stored: str) -> FoundKey | None:
        """Return the key with a stored hash, or None. Raises Unavailable."""
        return await self._find(stored, None, None)

    async def by_name(self, org_id: int, name: str) -> FoundKey | None:
        """Return the key with a name in an organization, or None. Raises Unavailable.

        Finds keys that were migrated to a service account, too.
        """
        return await self._find(None, org_id, name)

    async def _find(self, stored: str | None, org_id: int | None, name: str | None) -> FoundKey | None:
        async with self._database.connection() as connection:
            row = await connection.fetchrow(_sql.find, stored, org_id, name)
        if row is None:
            return None
        account_id = row["service_account_id"]
        if account_id is None:
            kind, holder, login, role = Caller.API_KEY, row["id"], row["name"], Role(row["role"])
        else:
            kind, holder, login, role = Caller.SERVICE_ACCOUNT, account_id, row["login"], Role(row["account_role"] or Role.NONE)
        granted = grants_of(zip(row["actions"] or (), row["scopes"] or (), strict=True))
        identity = Identity(
            uid=f"{kind}:{holder}",
            login=login,
            org_id=row["org_id"],
            role=role,
            user_id=account_id or 0,
            permissions=with_grants(permissions_of(role), granted),
            granted=granted,
            kind=kind,
            key_id=row["id"],
            expires_at=row["expires"],
        )
        return FoundKey(row["key"], row["is_revoked"], row["is_disabled"], identity)
