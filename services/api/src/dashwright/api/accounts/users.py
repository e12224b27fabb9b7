"""Use cases on users. None of them removes the last server admin, or the last Admin of an organization.

A caller who sets a user's password can act as that user, and so needs all of the user's permissions. To make a user a server admin,
the caller needs all permissions of a server admin.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from dashwright.api.accounts.impersonation import require_permissions_of, require_server_admin_permissions
from dashwright.api.accounts.rights import RightsTransactions
from dashwright.api.auth.passwords import Passwords
from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit, members, orgs, persons
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import BadRequest, Conflict, NotFound, PreconditionFailed, Unauthorized
from dashwright.common.identity import CallerType, Identity, Role
from dashwright.common.models.quotas import QuotaRules, Scope
from dashwright.common.password_policy import MAX_PASSWORD_BYTES, PasswordPolicy
from dashwright.common.stores import quotas

# Audit events.
CREATE: Final = "user.create"
UPDATE: Final = "user.update"
PASSWORD: Final = "user.password.update"  # noqa: S105
PERMISSIONS: Final = "user.permissions.update"
ENABLE: Final = "user.enable"
DISABLE: Final = "user.disable"
DELETE: Final = "user.delete"
LOGOUT: Final = "user.logout"
SWITCH_ORGANIZATION: Final = "user.org.switch"


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user to create."""

    login: str
    email: str
    name: str
    password: str
    org_id: int


class Users:
    """Changes to users. Service accounts are not users, so their ids are unknown here.

    ``caller`` is the caller's identity for the whole server (organization 0), or the user's own. Changes that would let the caller act
    as the user, and changes of a server admin, raise Forbidden if the caller lacks a permission of the user.
    """

    def __init__(
        self,
        database: Database,
        transactions: RightsTransactions,
        passwords: Passwords,
        quota_rules: QuotaRules,
        password_policy: PasswordPolicy,
    ) -> None:
        self._password_policy = password_policy
        self._database = database
        self._transactions = transactions
        self._passwords = passwords
        self._quota_rules = quota_rules

    def check_password(self, password: str, *names: str, too_short_message: str) -> None:
        """Raise BadRequest for a password that is too short, too long or common, or that is one of the user's ``names``.

        The error for too few characters has the minimum length after ``too_short_message``.
        """
        if self._password_policy.is_short(password):
            raise BadRequest(f"{too_short_message}; it needs at least {self._password_policy.min_length} characters")
        if len(password.encode()) > MAX_PASSWORD_BYTES:
            raise BadRequest(f"New password is longer than {MAX_PASSWORD_BYTES} bytes")
        if self._password_policy.is_common(password, *names):
            raise BadRequest("New password is too common; choose one that is harder to guess")

    async def create(self, actor: Actor, new_user: NewUser) -> tuple[int, str]:
        """Create a user who is a Viewer in ``org_id``, and return their id and uid.

        Raises BadRequest for an unknown organization, PreconditionFailed for a login or e-mail in use, and QuotaReached.
        """
        password_hash = await self._passwords.hash(new_user.password)
        name_in_use = PreconditionFailed(f"User with email '{new_user.email}' or username '{new_user.login}' already exists")
        async with self._transactions.invalidating() as connection:
            if await orgs.get(connection, new_user.org_id) is None:
                raise _unknown_organization()
            if await persons.is_taken(connection, new_user.login, new_user.email):
                raise name_in_use
            claims = (
                quotas.Claim(Scope.GLOBAL, 0, "user"),
                quotas.Claim(Scope.ORG, new_user.org_id, "org_user"),
                quotas.Claim(Scope.USER, 0, "org_user"),  # The new user has no id yet, so only the default limit applies.
            )
            await quotas.reserve(connection, self._quota_rules, *claims)
            await persons.lock_logins(connection)
            # Checked again under the lock, since another transaction may have inserted the login or e-mail.
            if await persons.is_taken(connection, new_user.login, new_user.email):
                raise name_in_use
            # Locked until the commit, since the organization may be removed concurrently.
            organization_exists = await orgs.lock(connection, new_user.org_id)
            if not organization_exists:
                raise _unknown_organization()
            user_id, uid = await persons.insert(
                connection,
                login=new_user.login,
                email=new_user.email,
                name=new_user.name,
                password_hash=password_hash,
                org_id=new_user.org_id,
                taken_error=name_in_use,
            )
            await members.insert(connection, new_user.org_id, user_id, Role.VIEWER, exists_error=name_in_use)
            details = {"login": new_user.login, "org": new_user.org_id}
            await audit.record(connection, actor, CREATE, f"user:{user_id}", org_id=None, details=details)
        return user_id, uid

    async def change(self, actor: Actor, caller: Identity, user_id: int, changes: persons.PersonChanges) -> None:
        """Change a user. Raises NotFound, and Conflict for a login or e-mail in use."""
        name_in_use = Conflict("Update would result in user login conflict")
        async with self._transactions.invalidating(f"user:{user_id}") as connection:
            await persons.lock_logins(connection)
            current = await persons.get(connection, user_id)
            if current is None:
                raise not_found()
            await _require_permissions_of_admin(connection, caller, current)
            login, email = changes.login or current.login, changes.email or current.email
            if await persons.is_taken(connection, login, email, except_user_id=user_id):
                raise name_in_use
            await persons.change(connection, user_id, changes, taken_error=name_in_use)
            details = {"login": login} if login == current.login else {"login": login, "before": current.login}
            await audit.record(connection, actor, UPDATE, f"user:{user_id}", org_id=None, details=details)

    async def set_password(self, actor: Actor, caller: Identity, user_id: int, password: str) -> None:
        """Set the password of a user. Raises NotFound."""
        password_hash = await self._passwords.hash(password)
        async with self._transactions.invalidating(f"user:{user_id}") as connection:
            if not await persons.set_password(connection, user_id, password_hash):
                raise not_found()
            # Checked under the lock of the user's row, so that no permission is granted concurrently.
            await _require_permissions_of_other(connection, caller, user_id)
            await audit.record(connection, actor, PASSWORD, f"user:{user_id}", org_id=None)

    async def verify_password(self, user_id: int, password: str) -> bool:
        """Return whether ``password`` is the user's password. Raises TooManyRequests."""
        async with self._database.connection() as connection:
            hash_and_salt = await persons.password_hash_and_salt(connection, user_id)
        password_hash, salt = hash_and_salt or (None, None)
        return await self._passwords.verify(password_hash, password, salt=salt)

    async def set_server_admin(self, actor: Actor, caller: Identity, user_id: int, *, is_admin: bool) -> None:
        """Make a user a server admin, or an ordinary user. Raises NotFound, and BadRequest for the last server admin."""
        async with self._admin_transaction(caller, user_id) as connection:
            await _require_permissions_of_other(connection, caller, user_id)
            if is_admin:
                await require_server_admin_permissions(connection, caller)
            elif await persons.is_only_server_admin(connection, user_id):
                raise BadRequest("cannot remove last grafana admin")
            await persons.set_server_admin(connection, user_id, is_admin=is_admin)
            await audit.record(connection, actor, PERMISSIONS, f"user:{user_id}", org_id=None, details={"isGrafanaAdmin": is_admin})

    async def set_disabled(self, actor: Actor, caller: Identity, user_id: int, *, is_disabled: bool) -> None:
        """Disable or enable a user. Raises NotFound, and BadRequest for the last server admin."""
        async with self._admin_transaction(caller, user_id) as connection:
            if is_disabled and await persons.is_only_server_admin(connection, user_id):
                raise BadRequest("cannot disable last grafana admin")
            await persons.set_disabled(connection, user_id, is_disabled=is_disabled)
            await audit.record(connection, actor, DISABLE if is_disabled else ENABLE, f"user:{user_id}", org_id=None)

    async def remove(self, actor: Actor, caller: Identity, user_id: int) -> None:
        """Remove a user. Raises NotFound, and BadRequest for the last server admin and for the only Admin of an organization."""
        async with self._admin_transaction(caller, user_id) as connection:
            if await persons.is_only_server_admin(connection, user_id):
                raise BadRequest("cannot delete last grafana admin")
            if (org_name := await members.organization_with_only_admin(connection, user_id)) is not None:
                raise BadRequest(f'Cannot remove last organization admin: the organization "{org_name}" has no other; appoint one first')
            user = await persons.get(connection, user_id)
            await persons.delete(connection, user_id)
            details = {} if user is None else {"login": user.login}
            await audit.record(connection, actor, DELETE, f"user:{user_id}", org_id=None, details=details)

    async def log_out(self, actor: Actor, caller: Identity, user_id: int) -> None:
        """Make every gateway authenticate the user again. Dashwright has no sessions that could be ended. Raises NotFound."""
        async with self._transactions.invalidating(f"user:{user_id}") as connection:
            if await persons.get(connection, user_id) is None:
                raise not_found()
            await _require_permissions_of_other(connection, caller, user_id)
            await persons.notify_change(connection, user_id)
            await audit.record(connection, actor, LOGOUT, f"user:{user_id}", org_id=None)

    async def switch_organization(self, actor: Actor, user_id: int, org_id: int) -> None:
        """Change the current organization. Raises Unauthorized for an unknown user, and if the user is not a member."""
        async with self._transactions.invalidating(f"user:{user_id}") as connection:
            if not await persons.set_org(connection, user_id, org_id):
                raise Unauthorized("Not a valid organization: it does not exist, or the user is not a member of it")
            await audit.record(connection, actor, SWITCH_ORGANIZATION, f"user:{user_id}", org_id=None, details={"org": org_id})

    @asynccontextmanager
    async def _admin_transaction(self, caller: Identity, user_id: int) -> AsyncIterator[Connection]:
        """Open a transaction that may remove an admin. Raises NotFound, and Forbidden for a server admin with more permissions."""
        async with self._transactions.invalidating(f"user:{user_id}") as connection:
            # Without the lock, two concurrent transactions could remove the last two admins: each would still read the other admin.
            await members.lock_admins(connection)
            user = await persons.get(connection, user_id)
            if user is None:
                raise not_found()
            await _require_permissions_of_admin(connection, caller, user)
            yield connection


def not_found() -> NotFound:
    """Return the error for an unknown user."""
    return NotFound("user not found")


async def _require_permissions_of_admin(connection: Connection, caller: Identity, user: persons.Person) -> None:
    """Raise Forbidden if the user is a server admin, and has a permission that the caller lacks."""
    if user.is_admin:
        await _require_permissions_of_other(connection, caller, user.id)


async def _require_permissions_of_other(connection: Connection, caller: Identity, user_id: int) -> None:
    """Raise Forbidden if the user is not the caller, and has a permission that the caller lacks."""
    if caller.kind is not CallerType.USER or caller.user_id != user_id:
        await require_permissions_of(connection, caller, user_id)


def _unknown_organization() -> BadRequest:
    return BadRequest("organization not found")
