"""Use cases on users. The server never loses its last server admin by them, nor an organization its last Admin.

A caller who sets a user's password can act as that user, and so needs all of the user's permissions. Making and changing server
admins needs all permissions of a server admin.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from dashwright.api.accounts.impersonation import require_all, require_cover
from dashwright.api.accounts.rights import Rights
from dashwright.api.auth.passwords import Passwords
from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit, members, orgs, persons
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import BadRequest, Conflict, NotFound, PreconditionFailed, Unauthorized
from dashwright.common.identity import Caller, Identity, Role
from dashwright.common.models.quotas import QuotaRules, Scope
from dashwright.common.password_policy import MAX_PASSWORD_BYTES, PasswordPolicy
from dashwright.common.stores import quotas

CREATE: Final = "user.create"
UPDATE: Final = "user.update"
PASSWORD: Final = "user.password.update"  # noqa: S105
PERMISSIONS: Final = "user.permissions.update"
ENABLE: Final = "user.enable"
DISABLE: Final = "user.disable"
DELETE: Final = "user.delete"
LOGOUT: Final = "user.logout"
SWITCH: Final = "user.org.switch"


@dataclass(frozen=True, slots=True)
class NewUser:
    """The data of a user to create."""

    login: str
    email: str
    name: str
    password: str
    org_id: int


class Users:
    """Changes to users. The id of a service account is unknown here.

    ``caller`` is the caller in the global view, or the user themselves. Methods raise Forbidden if they would let the caller act as
    a user with more permissions, and for a server admin that the caller may not change.
    """

    def __init__(self, database: Database, rights: Rights, passwords: Passwords, rules: QuotaRules, policy: PasswordPolicy) -> None:
        self._policy = policy
        self._database = database
        self._rights = rights
        self._passwords = passwords
        self._rules = rules

    def check_password(self, password: str, *names: str, short: str) -> None:
        """Raise BadRequest for a password that may not be set; ``short`` is the text for one with too few characters."""
        if self._policy.is_short(password):
            raise BadRequest(short)
        if len(password.encode()) > MAX_PASSWORD_BYTES:
            raise BadRequest(f"New password is longer than {MAX_PASSWORD_BYTES} bytes")
        if self._policy.is_common(password, *names):
            raise BadRequest("New password is too common; choose one that is harder to guess")

    async def create(self, actor: Actor, wanted: NewUser) -> tuple[int, str]:
        """Create a user who is a Viewer in ``org_id``, and return their id and uid.

        Raises BadRequest for an unknown organization, PreconditionFailed for a login or e-mail in use, and QuotaReached.
        """
        hashed = await self._passwords.hash(wanted.password)
        taken = PreconditionFailed(f"User with email '{wanted.email}' or username '{wanted.login}' already exists")
        async with self._rights.changing() as connection:
            if await orgs.get(connection, wanted.org_id) is None:
                raise _no_organization()
            if await persons.is_taken(connection, wanted.login, wanted.email):
                raise taken
            claims = (
                quotas.Claim(Scope.GLOBAL, 0, "user"),
                quotas.Claim(Scope.ORG, wanted.org_id, "org_user"),
                quotas.Claim(Scope.USER, 0, "org_user"),  # The new user has no id yet, so only the default limit applies.
            )
            await quotas.reserve(connection, self._rules, *claims)
            await persons.lock_logins(connection)
            # Checked again under the lock: another transaction may have taken the login or e-mail since.
            if await persons.is_taken(connection, wanted.login, wanted.email):
                raise taken
            # Locked until the commit, since the organization may be removed concurrently.
            if not await orgs.hold(connection, wanted.org_id):
                raise _no_organization()
            user_id, uid = await persons.insert(
                connection,
                login=wanted.login,
                email=wanted.email,
                name=wanted.name,
                password=hashed,
                org_id=wanted.org_id,
                taken=taken,
            )
            await members.insert(connection, wanted.org_id, user_id, Role.VIEWER, if_exists=taken)
            details = {"login": wanted.login, "org": wanted.org_id}
            await audit.record(connection, actor, CREATE, f"user:{user_id}", org_id=None, details=details)
        return user_id, uid

    async def change(self, actor: Actor, caller: Identity, user_id: int, changes: persons.PersonChanges) -> None:
        """Change a user. Raises NotFound, and Conflict for a login or e-mail in use."""
        taken = Conflict("Update would result in user login conflict")
        async with self._rights.changing(f"user:{user_id}") as connection:
            await persons.lock_logins(connection)
            before = await persons.get(connection, user_id)
            if before is None:
                raise not_found()
            await _check_server_admin(connection, caller, before)
            login, email = changes.login or before.login, changes.email or before.email
            if await persons.is_taken(connection, login, email, but=user_id):
                raise taken
            await persons.change(connection, user_id, changes, taken=taken)
            details = {"login": login} if login == before.login else {"login": login, "before": before.login}
            await audit.record(connection, actor, UPDATE, f"user:{user_id}", org_id=None, details=details)

    async def set_password(self, actor: Actor, caller: Identity, user_id: int, password: str) -> None:
        """Set the password of a user. Raises NotFound."""
        hashed = await self._passwords.hash(password)
        async with self._rights.changing(f"user:{user_id}") as connection:
            if not await persons.set_password(connection, user_id, hashed):
                raise not_found()
            await _require_cover_of_other(
                connection, caller, user_id
            )  # Checked under the lock of the user's row, which granting takes, too.
            await audit.record(connection, actor, PASSWORD, f"user:{user_id}", org_id=None)

    async def fits(self, user_id: int, password: str) -> bool:
        """Return whether this is the user's password. Raises TooManyRequests."""
        async with self._database.connection() as connection:
            stored = await persons.password(connection, user_id)
        hashed, salt = stored or (None, None)
        return await self._passwords.verify(hashed, password, salt=salt)

    async def set_server_admin(self, actor: Actor, caller: Identity, user_id: int, *, is_admin: bool) -> None:
        """Make a user a server admin, or revoke that. Raises NotFound, and BadRequest for the last server admin."""
        async with self._demoting(caller, user_id) as connection:
            await _require_cover_of_other(connection, caller, user_id)
            if is_admin:
                await require_all(connection, caller)
            elif await persons.is_only_server_admin(connection, user_id):
                raise BadRequest("cannot remove last grafana admin")
            await persons.set_server_admin(connection, user_id, is_admin=is_admin)
            await audit.record(connection, actor, PERMISSIONS, f"user:{user_id}", org_id=None, details={"isGrafanaAdmin": is_admin})

    async def set_disabled(self, actor: Actor, caller: Identity, user_id: int, *, is_disabled: bool) -> None:
        """Disable or enable a user. Raises NotFound, and BadRequest for the last server admin."""
        async with self._demoting(caller, user_id) as connection:
            if is_disabled and await persons.is_only_server_admin(connection, user_id):
                raise BadRequest("cannot disable last grafana admin")
            await persons.set_disabled(connection, user_id, is_disabled=is_disabled)
            await audit.record(connection, actor, DISABLE if is_disabled else ENABLE, f"user:{user_id}", org_id=None)

    async def remove(self, actor: Actor, caller: Identity, user_id: int) -> None:
        """Remove a user. Raises NotFound, and BadRequest for the last server admin and for the only Admin of an organization."""
        async with self._demoting(caller, user_id) as connection:
            if await persons.is_only_server_admin(connection, user_id):
                raise BadRequest("cannot delete last grafana admin")
            if (org := await members.only_admin_of(connection, user_id)) is not None:
                raise BadRequest(f'Cannot remove last organization admin: the organization "{org}" has no other; appoint one first')
            person = await persons.get(connection, user_id)
            await persons.delete(connection, user_id)
            details = {} if person is None else {"login": person.login}
            await audit.record(connection, actor, DELETE, f"user:{user_id}", org_id=None, details=details)

    async def log_out(self, actor: Actor, caller: Identity, user_id: int) -> None:
        """Make every gateway authenticate the user again. There are no sessions that could end. Raises NotFound."""
        async with self._rights.changing(f"user:{user_id}") as connection:
            if await persons.get(connection, user_id) is None:
                raise not_found()
            await _require_cover_of_other(connection, caller, user_id)
            await persons.notify_change(connection, user_id)
            await audit.record(connection, actor, LOGOUT, f"user:{user_id}", org_id=None)

    async def switch(self, actor: Actor, user_id: int, org_id: int) -> None:
        """Change the current organization. Raises Unauthorized if the user is not a member of it, or either is unknown."""
        async with self._rights.changing(f"user:{user_id}") as connection:
            if not await persons.set_org(connection, user_id, org_id):
                raise Unauthorized("Unauthorized")
            await audit.record(connection, actor, SWITCH, f"user:{user_id}", org_id=None, details={"org": org_id})

    @asynccontextmanager
    async def _demoting(self, caller: Identity, user_id: int) -> AsyncIterator[Connection]:
        """Open a transaction that may remove an admin. Raises NotFound, and Forbidden for a server admin with more permissions."""
        async with self._rights.changing(f"user:{user_id}") as connection:
            # Two concurrent transactions could otherwise remove the last two admins, each relying on the other one.
            await members.lock_admins(connection)
            person = await persons.get(connection, user_id)
            if person is None:
                raise not_found()
            await _check_server_admin(connection, caller, person)
            yield connection


def not_found() -> NotFound:
    """Return the error for an unknown user."""
    return NotFound("user not found")


async def _check_server_admin(connection: Connection, caller: Identity, person: persons.Person) -> None:
    if person.is_admin:
        await _require_cover_of_other(connection, caller, person.id)


async def _require_cover_of_other(connection: Connection, caller: Identity, user_id: int) -> None:
    if caller.kind is not Caller.USER or caller.user_id != user_id:
        await require_cover(connection, caller, user_id)


def _no_organization() -> BadRequest:
    return BadRequest("organization not found")
