"""Accounts as the verification of credentials reads them, with the role and permissions of a caller, and the first user."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypedDict

from dashwright.api.domain.access.assignment import ScopesByOrganization
from dashwright.api.domain.access.roles import permissions_of
from dashwright.api.domain.access.scopes import scopes_by_action, with_grants
from dashwright.common.database.pool import Connection, Database
from dashwright.common.database.queries import load
from dashwright.common.errors import Unauthorized
from dashwright.common.identity import CallerType, Identity, Role

_sql = load(__package__, "users.sql")


@dataclass(frozen=True, slots=True)
class LoginAccount:
    """A user with the password hash and the identity that a login needs."""

    user_id: int
    login: str
    password_hash: str | None
    #: None unless the hash was imported from a Grafana database.
    salt: str | None
    is_disabled: bool
    #: None if the user is not a member of the requested organization.
    identity: Identity | None


class UserAccounts:
    """The accounts of the database, for the verification of credentials."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, login: str, org_id: int | None) -> LoginAccount | None:
        """Return the user with a login or e-mail, in any letter case, or None. Raises Unavailable."""
        async with self._database.connection() as connection:
            return await find_for_login(connection, login, org_id)

    async def replace_password_hash(self, user_id: int, *, old_hash: str, new_hash: str) -> bool:
        """Replace the old hash by the new one and clear the salt. Returns False if another hash is stored. Raises Unavailable."""
        async with self._database.connection() as connection:
            return await connection.fetchval(_sql.replace_password, user_id, old_hash, new_hash) is not None

    async def identity_in(self, identity: Identity, org_id: int) -> Identity:
        """Return the caller in organization ``org_id``, or globally for 0. A caller who is not a member has no role.

        Call this for another organization than that of ``identity``, in which a service account has only its grants of organization 0,
        which apply to all organizations, and a legacy key has no permissions.

        Raises Unauthorized for a deleted account, and Unavailable.
        """
        if identity.kind not in (CallerType.USER, CallerType.SERVICE_ACCOUNT):
            return replace(identity, org_id=org_id, role=Role.NONE, permissions=permissions_of(Role.NONE), granted={}, teams=frozenset())
        async with self._database.connection() as connection:
            row = await connection.fetchrow(_sql.identity_in, identity.user_id, org_id, identity.kind is CallerType.SERVICE_ACCOUNT)
        if row is None:
            raise Unauthorized("Unauthorized")
        role = Role(row["role"] or Role.NONE)
        # Service accounts are rows of the same table, but are never server admins.
        is_server_admin = row["is_admin"] and identity.kind is CallerType.USER
        rights = _rights(role, row, is_server_admin=is_server_admin)
        return replace(identity, org_id=org_id, role=role, is_server_admin=is_server_admin, teams=_teams(row), **rights)


async def find_for_login(connection: Connection, login_or_email: str, org_id: int | None = None) -> LoginAccount | None:
    """Return the user with a login or e-mail in any letter case, and their identity in an organization, or None.

    Without ``org_id``, the organization is the user's current one, or else the first one that they are a member of. For a user without
    memberships, it is 0.
    """
    row = await connection.fetchrow(_sql.find_for_login, login_or_email, org_id)
    if row is None:
        return None
    identity = None
    # Null: the user is not a member of the requested organization, or without a requested one, of any organization.
    if row["org_id"] is not None or org_id is None:
        role = Role(row["role"] or Role.NONE)
        identity = Identity(
            uid=f"user:{row['id']}",
            login=row["login"],
            org_id=row["org_id"] or 0,
            role=role,
            user_id=row["id"],
            is_server_admin=row["is_admin"],
            teams=_teams(row),
            **_rights(role, row, is_server_admin=row["is_admin"]),
        )
    return LoginAccount(row["id"], row["login"], row["password"], row["salt"], row["is_disabled"], identity)


async def permissions_by_org(connection: Connection, account_id: int) -> ScopesByOrganization:
    """Return the permissions of an account by organization id; global permissions have the id 0. An unknown account has none."""
    rows = await connection.fetch(_sql.permissions_by_org, account_id)
    rights = {row["org_id"]: _rights(Role(row["role"] or Role.NONE), row, is_server_admin=row["is_admin"]) for row in rows}
    return {org_id: org_rights["permissions"] for org_id, org_rights in rights.items()}


class _Rights(TypedDict):
    """All permissions of a caller, and those that were granted explicitly: scopes by action."""

    permissions: Mapping[str, frozenset[str]]
    granted: Mapping[str, frozenset[str]]


def _rights(role: Role, row: Any, *, is_server_admin: bool) -> _Rights:
    """Return the permissions of a role with the grants in a row's ``actions`` and ``scopes``, and these grants alone."""
    granted = scopes_by_action(zip(row["actions"] or (), row["scopes"] or (), strict=True))
    return {"permissions": with_grants(permissions_of(role, is_server_admin=is_server_admin), granted), "granted": granted}


def _teams(row: Any) -> frozenset[int]:
    return frozenset(row["teams"])


async def has_no_users(connection: Connection) -> bool:
    """Return whether the database has neither an organization nor a user, as at the first start."""
    return bool(await connection.fetchval(_sql.is_empty))


async def ensure_first_user(connection: Connection, login: str, password_hash: str) -> bool:
    """Create organization 1, ``Main Org.``, and user 1, its Admin and server admin, if the database has no account yet.

    Returns whether it created them. Gateways may call it concurrently. A login with an ``@`` is also stored as the e-mail.
    """
    email = login if "@" in login else f"{login}@localhost"
    async with connection.transaction():
        await connection.execute(_sql.claim_first_user)
        if not await has_no_users(connection):
            return False
        await connection.execute(_sql.insert_first, login, email, password_hash)
        # Both rows have the id 1, which the sequences would assign again.
        await connection.execute(_sql.advance_sequences)
    return True


class StoredPassword(NamedTuple):
    """A login with its stored password hash."""

    login: str
    password_hash: str
    #: None unless the hash was imported from a Grafana database.
    salt: str | None


async def server_admins(connection: Connection, *, limit: int) -> Sequence[StoredPassword]:
    """Return the stored passwords of enabled server admins, at most ``limit``, the oldest accounts first."""
    return [StoredPassword(row["login"], row["password"], row["salt"]) for row in await connection.fetch(_sql.server_admins, limit)]
