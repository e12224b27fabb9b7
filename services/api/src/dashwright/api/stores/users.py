"""Accounts, organizations and memberships, as far as identifying a caller needs them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypedDict, cast

from dashwright.api.domain.access.assignment import Reach
from dashwright.api.domain.access.roles import permissions_of
from dashwright.api.domain.access.scopes import grants_of, with_grants
from dashwright.common.database.pool import Connection, Database
from dashwright.common.database.queries import load
from dashwright.common.errors import Unauthorized
from dashwright.common.identity import Caller, Identity, Role

_queries = load(__package__, "users.sql")


@dataclass(frozen=True, slots=True)
class LoginAccount:
    """A user as found by a login."""

    user_id: int
    login: str
    password_hash: str | None
    #: Only set for hashes that were imported from a Grafana database.
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

    async def replace_password(self, user_id: int, *, old: str, new: str) -> bool:
        """Store a new hash without salt if ``old`` is still the stored one, and return whether it was. Raises Unavailable."""
        async with self._database.connection() as connection:
            return await connection.fetchval(_queries.replace_password, user_id, old, new) is not None

    async def seen_in(self, identity: Identity, org_id: int) -> Identity:
        """Return the caller as seen in organization ``org_id``; 0 is globally. A non-member has no role.

        In another organization than its own a service account has only its grants in all organizations, and a
        legacy key has none. Raises Unauthorized for a deleted account, and Unavailable.
        """
        if identity.kind not in (Caller.USER, Caller.SERVICE_ACCOUNT):
            return replace(identity, org_id=org_id, role=Role.NONE, permissions=permissions_of(Role.NONE), granted={}, teams=frozenset())
        async with self._database.connection() as connection:
            row = await connection.fetchrow(_queries.seen_in, identity.user_id, org_id, identity.kind is Caller.SERVICE_ACCOUNT)
        if row is None:
            raise Unauthorized("Unauthorized")
        role = Role(row["role"] or Role.NONE)
        is_server_admin = row["is_admin"] and identity.kind is Caller.USER
        rights = _rights(role, row, is_server_admin=is_server_admin)
        return replace(identity, org_id=org_id, role=role, is_server_admin=is_server_admin, teams=_teams(row), **rights)


async def find_for_login(connection: Connection, login_or_email: str, org_id: int | None = None) -> LoginAccount | None:
    """Return the user in organization ``org_id``, or else in the current or first one, or None.

    Without ``org_id``, a user who is a member of no organization is seen globally, as in organization 0.
    """
    row = await connection.fetchrow(_queries.find_for_login, login_or_email, org_id)
    if row is None:
        return None
    identity = None
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


async def reach(connection: Connection, account_id: int) -> Reach:
    """Return the permissions of an account by organization. Those of an unknown account are empty."""
    rows = await connection.fetch(_queries.reach, account_id)
    rights = {row["org_id"]: _rights(Role(row["role"] or Role.NONE), row, is_server_admin=row["is_admin"]) for row in rows}
    return {org_id: held["permissions"] for org_id, held in rights.items()}


class _Rights(TypedDict):
    permissions: Mapping[str, frozenset[str]]
    granted: Mapping[str, frozenset[str]]


def _rights(role: Role, row: Any, *, is_server_admin: bool) -> _Rights:
    """Return the permissions of a role, and of a row's ``actions`` and ``scopes``."""
    granted = grants_of(zip(row["actions"] or (), row["scopes"] or (), strict=True))
    return {"permissions": with_grants(permissions_of(role, is_server_admin=is_server_admin), granted), "granted": granted}


def _teams(row: Any) -> frozenset[int]:
    return frozenset(row["teams"])


async def role_in(connection: Connection, org_id: int, user_id: int) -> Role | None:
    """Return the role of a user in an organization, or None if the user is not a member."""
    role = cast("str | None", await connection.fetchval(_queries.role_in, org_id, user_id))
    return None if role is None else Role(role)


async def lacks_users(connection: Connection) -> bool:
    """Return whether the database has neither an organization nor a user, as at the first start."""
    return bool(await connection.fetchval(_queries.is_empty))


async def ensure_first_user(connection: Connection, login: str, password_hash: str) -> bool:
    """Create organization 1, ``Main Org.``, and user 1, its Admin and server admin, if the database has no account yet.

    Returns whether it did. Gateways may call it concurrently. A login with an ``@`` is the e-mail, too.
    """
    email = login if "@" in login else f"{login}@localhost"
    async with connection.transaction():
        await connection.execute(_queries.claim_first_user)
        if not await lacks_users(connection):
            return False
        await connection.execute(_queries.insert_first, login, email, password_hash)
        await connection.execute(_queries.pass_first_numbers)
    return True


class StoredPassword(NamedTuple):
    """A login with its stored password hash."""

    login: str
    hashed: str
    salt: str | None


async def server_admins(connection: Connection, *, most: int) -> Sequence[StoredPassword]:
    """Return the stored passwords of the first enabled server admins."""
    return [StoredPassword(row["login"], row["password"], row["salt"]) for row in await connection.fetch(_queries.server_admins, most)]
