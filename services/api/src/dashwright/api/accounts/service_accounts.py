"""Use cases on service accounts and their tokens, and the migration of legacy keys to service accounts.

A caller with a token of an account can act as that account. To change an account or add a token to it, a caller therefore needs all
permissions of the account.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import structlog

from dashwright.api.accounts.impersonation import require_permissions_of
from dashwright.api.auth import key_material
from dashwright.api.auth.hashing import KeyHashes
from dashwright.api.auth.identity_cache import IdentityInvalidation
from dashwright.api.auth.token_life import LifeLimits, token_expiry
from dashwright.api.domain.access.assignment import may_assign
from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit, keys, service_accounts
from dashwright.api.stores.keys import StoredLegacyKey
from dashwright.api.stores.service_accounts import StoredServiceAccount
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import BadRequest, Forbidden, NotFound
from dashwright.common.identity import Identity, Role
from dashwright.common.models.quotas import QuotaRules, Scope
from dashwright.common.stores import quotas
from dashwright.common.stores.quotas import Claim

log = structlog.get_logger()

# Audit events.
CREATE: Final = "service-account.create"
UPDATE: Final = "service-account.update"
DELETE: Final = "service-account.delete"
MIGRATE: Final = "service-account.migrate"
ADD_TOKEN: Final = "token.create"  # noqa: S105
REMOVE_TOKEN: Final = "token.delete"  # noqa: S105

MAX_NAME_LENGTH: Final = 190
"""Maximum number of characters of a name."""

_MAX_LOGINS: Final = 1000
"""Limit on the logins that are tried for a name, until one is unused."""


@dataclass(frozen=True, slots=True)
class ServiceAccountChanges:
    """The fields of a service account to set. None keeps the current value, or sets the default for a new account."""

    name: str | None = None
    role: str | None = None
    is_disabled: bool | None = None


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A request for a token."""

    name: str
    seconds_to_live: int = 0  #: 0: the token does not expire.


@dataclass(frozen=True, slots=True)
class KeyMigration:
    """The result of migrating legacy keys."""

    total: int  #: Number of keys that were to be migrated.
    failed_keys: dict[int, str]  #: Names of keys for which no account could be created, by the id of the key.


class ServiceAccounts:
    """Changes to service accounts.

    Methods return after their change is committed and cached identities are invalidated. All of them may raise Unavailable.
    """

    def __init__(
        self,
        database: Database,
        key_hashes: KeyHashes,
        identities: IdentityInvalidation,
        quota_rules: QuotaRules,
        life_limits: LifeLimits,
        clock: Clock,
    ) -> None:
        self._database = database
        self._key_hashes = key_hashes
        self._identities = identities
        self._quota_rules = quota_rules
        self._life_limits = life_limits
        self._clock = clock

    async def create(self, actor: Actor, caller: Identity, request: ServiceAccountChanges) -> StoredServiceAccount:
        """Create an account in the caller's organization, by default with the role Viewer, and return it.

        Raises BadRequest for an invalid name, an unknown role or a name in use, and Forbidden for a role above the caller's.
        """
        name = _valid_name(request.name or "")
        role = _assignable_role(caller, Role.VIEWER if request.role is None else request.role)
        async with self._database.transaction() as connection:
            account_id = await self._insert_account(connection, actor.org_id, name, role, is_disabled=bool(request.is_disabled))
            details = {"name": name, "role": role.value}
            await audit.record(connection, actor, CREATE, _audit_target(account_id), org_id=actor.org_id, status=201, details=details)
            account = await _get(connection, actor.org_id, account_id)
        log.info("service_account_created", id=account_id)
        return account

    async def change(self, actor: Actor, caller: Identity, account_id: int, changes: ServiceAccountChanges) -> StoredServiceAccount:
        """Change an account and return it.

        Raises NotFound, the errors of ``create``, and Forbidden if the account may do more than the caller.
        """
        name = None if changes.name is None else _valid_name(changes.name)
        async with self._invalidating(f"user:{account_id}") as connection:
            if name is not None:
                await service_accounts.lock_names(connection, actor.org_id)
            current_role = await service_accounts.lock_role(connection, actor.org_id, account_id)
            if current_role is None:
                raise unknown_account()
            await _require_rights_of(connection, caller, account_id, current_role)
            role = None if changes.role is None else _assignable_role(caller, changes.role)
            if name is not None and await service_accounts.is_name_taken(connection, actor.org_id, name, except_id=account_id):
                raise _name_in_use()
            await service_accounts.change(connection, actor.org_id, account_id, name=name, role=role, is_disabled=changes.is_disabled)
            requested_values = {"name": name, "role": None if role is None else role.value, "isDisabled": changes.is_disabled}
            details = {member: value for member, value in requested_values.items() if value is not None}
            await audit.record(connection, actor, UPDATE, _audit_target(account_id), org_id=actor.org_id, details=details)
            return await _get(connection, actor.org_id, account_id)

    async def remove(self, actor: Actor, account_id: int) -> None:
        """Remove an account with its tokens, membership, grants, teams, stars, preferences and quotas. Raises NotFound."""
        async with self._invalidating(f"user:{account_id}") as connection:
            name = await service_accounts.delete(connection, actor.org_id, account_id)
            if name is None:
                raise unknown_account()
            await audit.record(connection, actor, DELETE, _audit_target(account_id), org_id=actor.org_id, details={"name": name})

    async def add_token(self, actor: Actor, caller: Identity, account_id: int, request: TokenRequest) -> tuple[int, str]:
        """Create a token, and return its id and the token. Only its hash is stored, so it cannot be read again.

        Raises NotFound for an unknown account, Forbidden for an account that may do more than the caller, BadRequest for an invalid life
        or a used name, QuotaReached, and TooManyRequests.
        """
        name = _valid_name(request.name)
        token = key_material.new_token()
        material = key_material.parse(token)
        assert material is not None
        secret_hash = await self._key_hashes.hash_secret(material.secret, material.salt)
        async with self._database.transaction() as connection:
            account = await _get(connection, actor.org_id, account_id)
            await _require_rights_of(connection, caller, account_id, account.role)
            expires_at = token_expiry(request.seconds_to_live, int(self._clock.seconds()), self._life_limits)
            claims = [Claim(Scope.ORG, actor.org_id, "api_key"), Claim(Scope.GLOBAL, 0, "api_key")]
            await quotas.reserve(connection, self._quota_rules, *claims)
            role = await service_accounts.lock_role(connection, actor.org_id, account_id)
            if role is None:  # The account was deleted while this transaction waited for the lock of the quota.
                raise unknown_account()
            record = keys.TokenRecord(name, secret_hash, role, expires_at, created_by=actor.uid)
            token_id = await keys.insert_token(connection, actor.org_id, account_id, record)
            if token_id is None:
                message = "service account token with given name already exists in the organization"
                raise BadRequest(message, message_id="serviceaccounts.ErrTokenAlreadyExists")
            details = {"name": name, "tokenId": token_id, "expires": expires_at}
            await audit.record(connection, actor, ADD_TOKEN, _audit_target(account_id), org_id=actor.org_id, details=details)
        return token_id, token

    async def remove_token(self, actor: Actor, account_id: int, token_id: int) -> None:
        """Delete a token, which is refused from now on. Raises NotFound for an unknown account or token."""
        async with self._invalidating(f"key:{token_id}") as connection:
            await _get(connection, actor.org_id, account_id)
            name = await keys.delete_token(connection, actor.org_id, account_id, token_id)
            if name is None:
                raise NotFound("service account token not found", message_id="serviceaccounts.ErrTokenNotFound")
            details = {"name": name, "tokenId": token_id}
            await audit.record(connection, actor, REMOVE_TOKEN, _audit_target(account_id), org_id=actor.org_id, details=details)

    async def migrate(self, actor: Actor, caller: Identity, key_id: int | None = None) -> KeyMigration:
        """Create a service account for each legacy key of the organization, including expired ones; with ``key_id`` only for that key.

        The keys remain valid. Raises NotFound for an unknown ``key_id``, and Forbidden if a key has a role above the caller's.
        """
        subjects_to_invalidate: list[str] = []
        try:
            async with self._database.transaction() as connection:
                await service_accounts.lock_names(connection, actor.org_id)
                legacy_keys = await keys.lock_unmigrated(connection, actor.org_id, key_id)
                if key_id is not None and not legacy_keys:
                    raise NotFound("API key not found")
                for key in legacy_keys:
                    _check_role(caller, key.role)
                subjects_to_invalidate = [f"key:{key.id}" for key in legacy_keys]
                account_ids = await self._migrate_keys(connection, actor.org_id, legacy_keys)
                failed = {key.id: key.name for key in legacy_keys if key.id not in account_ids}
                details = {"keys": sorted(account_ids), "failed": sorted(failed)}
                await audit.record(connection, actor, MIGRATE, f"org:{actor.org_id}", org_id=actor.org_id, details=details)
        finally:
            # Even after a failure, since the commit may have happened although its confirmation was lost.
            for subject in subjects_to_invalidate:
                self._identities.invalidate(subject)
        log.info("keys_migrated", total=len(legacy_keys), failed=len(failed))
        return KeyMigration(len(legacy_keys), failed)

    async def _insert_account(self, connection: Connection, org_id: int, name: str, role: Role, *, is_disabled: bool) -> int:
        """Insert an account with an unused login that is derived from its name. Return its id. Raises BadRequest for a used name."""
        await service_accounts.lock_names(connection, org_id)
        if await service_accounts.is_name_taken(connection, org_id, name):
            raise _name_in_use()
        first_login = await service_accounts.login_of(connection, org_id, name)
        for number in range(1, _MAX_LOGINS + 1):
            login = _numbered_login(first_login, number)
            account_ids_by_login = await service_accounts.insert_skipping_taken(connection, org_id, {login: name}, is_disabled=is_disabled)
            if account_ids_by_login:
                await service_accounts.insert_roles(connection, org_id, {account_ids_by_login[login]: role})
                return account_ids_by_login[login]
        raise _name_in_use()

    async def _migrate_keys(self, connection: Connection, org_id: int, legacy_keys: Sequence[StoredLegacyKey]) -> dict[int, int]:
        """Create an account for each key, and return the id of each account by the id of its key.

        A key whose possible logins are all in use gets no account.
        """
        account_ids: dict[int, int] = {}
        remaining_keys = list(legacy_keys)
        for number in range(1, _MAX_LOGINS + 1):
            if not remaining_keys:
                break
            keys_by_login = {_numbered_login(f"sa-autogen-{org_id}-{key.name}", number): key for key in remaining_keys}
            names_by_login = {login: f"sa-autogen-{key.name}" for login, key in keys_by_login.items()}
            account_ids_by_login = await service_accounts.insert_skipping_taken(connection, org_id, names_by_login)
            account_ids |= {keys_by_login[login].id: account_id for login, account_id in account_ids_by_login.items()}
            remaining_keys = [key for key in remaining_keys if key.id not in account_ids]
        roles_by_account_id = {account_ids[key.id]: key.role for key in legacy_keys if key.id in account_ids}
        await service_accounts.insert_roles(connection, org_id, roles_by_account_id)
        await keys.assign_to_accounts(connection, account_ids)
        return account_ids

    @asynccontextmanager
    async def _invalidating(self, subject: str) -> AsyncIterator[Connection]:
        """Open a transaction and yield its connection. At the end, even after a failure, invalidate cached identities of the subject."""
        try:
            async with self._database.transaction() as connection:
                yield connection
        finally:
            self._identities.invalidate(subject)


def unknown_account() -> NotFound:
    """Return the error for an unknown service account."""
    return NotFound("service account not found", message_id="serviceaccounts.ErrNotFound")


async def _get(connection: Connection, org_id: int, account_id: int) -> StoredServiceAccount:
    """Return an account. Raises NotFound."""
    account = await service_accounts.find(connection, org_id, account_id)
    if account is None:
        raise unknown_account()
    return account


def _audit_target(account_id: int) -> str:
    return f"service-account:{account_id}"


def _numbered_login(first_login: str, number: int) -> str:
    """Return the login to try at the ``number``-th attempt, from 1: ``NAME``, ``NAME-2``, ``NAME-3`` and so on."""
    return first_login if number == 1 else f"{first_login}-{number}"


def _valid_name(name: str) -> str:
    """Return a name of an account or token. Raises BadRequest for an empty or too long one."""
    if not name.strip():
        raise BadRequest("Bad request data")
    if len(name) > MAX_NAME_LENGTH:
        raise BadRequest(f"name has {len(name)} characters; at most {MAX_NAME_LENGTH} are allowed")
    return name


def _assignable_role(caller: Identity, role_name: str) -> Role:
    """Return the role with a name. Raises BadRequest for an unknown role, and Forbidden for one above the caller's."""
    if role_name not in set(Role):
        message = f"invalid role specified; give one of {', '.join(Role)}"
        raise BadRequest(message, message_id="serviceaccounts.ErrInvalidRoleSpecified")
    role = Role(role_name)
    _check_role(caller, role)
    return role


def _check_role(caller: Identity, role: Role) -> None:
    """Raise Forbidden for a role above the caller's."""
    if not may_assign(caller, role):
        raise Forbidden("can not assign a role higher than user's role", message_id="serviceaccounts.ErrRoleForbidden")


async def _require_rights_of(connection: Connection, caller: Identity, account_id: int, role: Role) -> None:
    """Raise Forbidden if the account may do more than the caller."""
    _check_role(caller, role)
    await require_permissions_of(connection, caller, account_id)


def _name_in_use() -> BadRequest:
    return BadRequest("service account already exists", message_id="serviceaccounts.ErrAlreadyExists")
