"""Lookup of API keys and tokens by credential: key and holder in one round trip. The store ``keys`` creates and deletes keys."""

from dataclasses import dataclass

from dashwright.api.domain.access.roles import permissions_of
from dashwright.api.domain.access.scopes import scopes_by_action, with_grants
from dashwright.common.database.pool import Database
from dashwright.common.database.queries import load
from dashwright.common.identity import CallerType, Identity, Role

_sql = load(__package__, "key_lookup.sql")


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A stored key or token, with the identity of its holder."""

    #: The stored hash of the secret.
    secret_hash: str
    is_revoked: bool
    #: The service account that the key belongs to is disabled.
    is_disabled: bool
    #: The holder in the key's own organization.
    identity: Identity


class KeyLookup:
    """The keys of the database, for the verification of credentials."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def by_hash(self, secret_hash: str) -> StoredKey | None:
        """Return the key with a stored hash, or None. Raises Unavailable."""
        return await self._find(secret_hash, None, None)

    async def by_name(self, org_id: int, name: str) -> StoredKey | None:
        """Return the key with a name in an organization, or None. Raises Unavailable.

        Finds keys that were migrated to a service account, too.
        """
        return await self._find(None, org_id, name)

    async def _find(self, secret_hash: str | None, org_id: int | None, name: str | None) -> StoredKey | None:
        """Return the key with a hash, or with an organization and a name. The parameters that are not used are None."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(_sql.find, secret_hash, org_id, name)
        if row is None:
            return None
        account_id = row["service_account_id"]
        if account_id is None:
            kind, holder_id, login, role = CallerType.API_KEY, row["id"], row["name"], Role(row["role"])
        else:
            # Without a membership in the organization, the account has no role.
            kind, holder_id, login, role = CallerType.SERVICE_ACCOUNT, account_id, row["login"], Role(row["account_role"] or Role.NONE)
        grants = scopes_by_action(zip(row["actions"] or (), row["scopes"] or (), strict=True))
        identity = Identity(
            uid=f"{kind}:{holder_id}",
            login=login,
            org_id=row["org_id"],
            role=role,
            user_id=account_id or 0,
            permissions=with_grants(permissions_of(role), grants),
            granted=grants,
            kind=kind,
            key_id=row["id"],
            expires_at=row["expires"],
        )
        return StoredKey(row["key"], row["is_revoked"], row["is_disabled"], identity)
