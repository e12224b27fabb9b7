"""Use cases on service accounts and their tokens, and the migration of legacy keys to them.

A caller with a token of an account can act as that account. Changing an account and adding tokens therefore need all its permissions.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import structlog

from dashwright.api.accounts.impersonation import require_cover
from dashwright.api.auth import key_material
from dashwright.api.auth.hashing import KeyHashes
from dashwright.api.auth.identity_cache import IdentityInvalidation
from dashwright.api.auth.token_life import LifeLimits, token_end
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

CREATE: Final = "service-account.create"
UPDATE: Final = "service-account.update"
DELETE: Final = "service-account.delete"
MIGRATE: Final = "service-account.migrate"
ADD_TOKEN: Final = "token.create"  # noqa: S105
REMOVE_TOKEN: Final = "token.delete"  # noqa: S105

LONGEST_NAME: Final = 190
"""Characters of a name."""

_SUFFIXES: Final = 1000
"""Logins that are tried for one name, since users may have some of them."""


@dataclass(frozen=True, slots=True)
class ServiceAccountChanges:
    """Changes to a service account; None keeps the current value."""

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

    total: int  #: Keys to migrate.
    failed: dict[int, str]  #: Names of keys for which no account could be created, by id.


class ServiceAccounts:
    """Changes to service accounts. Methods return after their change is committed and cached identities are invalidated.

    All of them raise Unavailable.
    """

    def __init__(
        self,
        database: Database,
        hashes: KeyHashes,
        identities: IdentityInvalidation,
        quota_rules: QuotaRules,
        life_limits: LifeLimits,
        clock: Clock,
    ) -> None:
        self._database = database
        self._hashes = hashes
        self._identities = identities
        self._quota_rules = quota_rules
        self._life_limits = life_limits
        self._clock = clock

    async def create(self, actor: Actor, caller: Identity, wanted: ServiceAccountChanges) -> StoredServiceAccount:
        """Create an account in the caller's organization, by default with the role Viewer, and return it.

        Raises BadRequest for an invalid name, an unknown role or a name in use, and Forbidden for a role above the caller's.
        """
        name = _checked_name(wanted.name or "")
        role = _checked_role(caller, Role.VIEWER if wanted.role is None else wanted.role)
        async with self._database.transaction() as connection:
            account_id = await self._make(connection, actor.org_id, name, role, is_disabled=bool(wanted.is_disabled))
            details = {"name": name, "role": role.value}
            await audit.record(connection, actor, CREATE, _object(account_id), org_id=actor.org_id, status=201, details=details)
            account = await _get(connection, actor.org_id, account_id)
        log.info("service_account_created", id=account_id)
        return account

    async def change(self, actor: Actor, caller: Identity, account_id: int, wanted: ServiceAccountChanges) -> StoredServiceAccount:
        """Change an account and return it. Raises NotFound, what ``create`` raises, and Forbidden if it may do more than the caller."""
        name = None if wanted.name is None else _checked_name(wanted.name)
        async with self._changing(f"user:{account_id}") as connection:
            if name is not None:
                await service_accounts.lock_names(connection, actor.org_id)
            before = await service_accounts.hold_role(connection, actor.org_id, account_id)
            if before is None:
                raise unknown_account()
            await _check_rights(connection, caller, account_id, before)
            role = None if wanted.role is None else _checked_role(caller, wanted.role)
            if name is not None and await service_accounts.is_name_taken(connection, actor.org_id, name, but=account_id):
                raise _taken()
            await service_accounts.change(connection, actor.org_id, account_id, name=name, role=role, is_disabled=wanted.is_disabled)
            given = {"name": name, "role": role and role.value, "isDisabled": wanted.is_disabled}
            details = {member: value for member, value in given.items() if value is not None}
            await audit.record(connection, actor, UPDATE, _object(account_id), org_id=actor.org_id, details=details)
            return await _get(connection, actor.org_id, account_id)

    async def remove(self, actor: Actor, account_id: int) -> None:
        """Remove an account with its tokens, membership, grants, teams, stars, preferences and quotas. Raises NotFound."""
        async with self._changing(f"user:{account_id}") as connection:
            name = await service_accounts.delete(connection, actor.org_id, account_id)
            if name is None:
                raise unknown_account()
            await audit.record(connection, actor, DELETE, _object(account_id), org_id=actor.org_id, details={"name": name})

    async def add_token(self, actor: Actor, caller: Identity, account_id: int, wanted: TokenRequest) -> tuple[int, str]:
        """Create a token, and return its id and its text, which is not stored and so returned only here.

        Raises NotFound for an unknown account, Forbidden for one that may do more than the caller, BadRequest for an invalid life or a
        name in use, QuotaReached, and TooManyRequests.
        """
        name = _checked_name(wanted.name)
        text = key_material.new_token()
        material = key_material.read(text)
        assert material is not None
        hashed = await self._hashes.stored(material.secret, material.salt)
        async with self._database.transaction() as connection:
            account = await _get(connection, actor.org_id, account_id)
            await _check_rights(connection, caller, account_id, account.role)
            ends = token_end(wanted.seconds_to_live, int(self._clock.seconds()), self._life_limits)
            claims = [Claim(Scope.ORG, actor.org_id, "api_key"), Claim(Scope.GLOBAL, 0, "api_key")]
            await quotas.reserve(connection, self._quota_rules, *claims)
            role = await service_accounts.hold_role(connection, actor.org_id, account_id)
            if role is None:  # The account was removed while this transaction waited for the quota.
                raise unknown_account()
            new = keys.TokenRecord(name, hashed, role, ends, created_by=actor.uid)
            token_id = await keys.insert_token(connection, actor.org_id, account_id, new)
            if token_id is None:
                fault = "service account token with given name already exists in the organization"
                raise BadRequest(fault, message_id="serviceaccounts.ErrTokenAlreadyExists")
            details = {"name": name, "tokenId": token_id, "expires": ends}
            await audit.record(connection, actor, ADD_TOKEN, _object(account_id), org_id=actor.org_id, details=details)
        return token_id, text

    async def remove_token(self, actor: Actor, account_id: int, token_id: int) -> None:
        """Remove a token; callers with it are refused from now on. Raises NotFound for an unknown account or token."""
        async with self._changing(f"key:{token_id}") as connection:
            await _get(connection, actor.org_id, account_id)
            name = await keys.delete_token(connection, actor.org_id, account_id, token_id)
            if name is None:
                raise NotFound("service account token not found", message_id="serviceaccounts.ErrTokenNotFound")
            details = {"name": name, "tokenId": token_id}
            await audit.record(connection, actor, REMOVE_TOKEN, _object(account_id), org_id=actor.org_id, details=details)

    async def migrate(self, actor: Actor, caller: Identity, key_id: int | None = None) -> KeyMigration:
        """Create a service account for each legacy key of the organization, including expired ones; with ``key_id`` only for that key.

        The keys remain valid. Raises NotFound for an unknown ``key_id``, and Forbidden if a key has a role above the caller's.
        """
        forgotten: list[str] = []
        try:
            async with self._database.transaction() as connection:
                await service_accounts.lock_names(connection, actor.org_id)
                found = await keys.unmigrated(connection, actor.org_id, key_id)
                if key_id is not None and not found:
                    raise NotFound("API key not found")
                for key in found:
                    _check_role(caller, key.role)
                forgotten = [f"key:{key.id}" for key in found]
                given = await self._move(connection, actor.org_id, found)
                failed = {key.id: key.name for key in found if key.id not in given}
                details = {"keys": sorted(given), "failed": sorted(failed)}
                await audit.record(connection, actor, MIGRATE, f"org:{actor.org_id}", org_id=actor.org_id, details=details)
        finally:
            # Also after a failure: the commit may have happened although its confirmation was lost.
            for subject in forgotten:
                self._identities.forget(subject)
        log.info("keys_migrated", total=len(found), failed=len(failed))
        return KeyMigration(len(found), failed)

    async def _make(self, connection: Connection, org_id: int, name: str, role: Role, *, is_disabled: bool) -> int:
        await service_accounts.lock_names(connection, org_id)
        if await service_accounts.is_name_taken(connection, org_id, name):
            raise _taken()
        base = await service_accounts.login_of(connection, org_id, name)
        for number in range(1, _SUFFIXES):
            login = _login(base, number)
            made = await service_accounts.insert_where_free(connection, org_id, {login: name}, is_disabled=is_disabled)
            if made:
                await service_accounts.insert_roles(connection, org_id, {made[login]: role})
                return made[login]
        raise _taken()

    async def _move(self, connection: Connection, org_id: int, found: Sequence[StoredLegacyKey]) -> dict[int, int]:
        """Create the accounts, and return their ids by the id of their key."""
        given: dict[int, int] = {}
        waiting = list(found)
        for number in range(1, _SUFFIXES):
            if not waiting:
                break
            by_login = {_login(f"sa-autogen-{org_id}-{key.name}", number): key for key in waiting}
            names = {login: f"sa-autogen-{key.name}" for login, key in by_login.items()}
            made = await service_accounts.insert_where_free(connection, org_id, names)
            given |= {by_login[login].id: account_id for login, account_id in made.items()}
            waiting = [key for key in waiting if key.id not in given]
        roles = {given[key.id]: key.role for key in found if key.id in given}
        await service_accounts.insert_roles(connection, org_id, roles)
        await keys.give_to_accounts(connection, list(given.items()))
        return given

    @asynccontextmanager
    async def _changing(self, subject: str) -> AsyncIterator[Connection]:
        """Open a transaction about a subject, and invalidate the subject's cached identities after it, also after a failure."""
        try:
            async with self._database.transaction() as connection:
                yield connection
        finally:
            self._identities.forget(subject)


def unknown_account() -> NotFound:
    """Return the error for an unknown service account."""
    return NotFound("service account not found", message_id="serviceaccounts.ErrNotFound")


async def _get(connection: Connection, org_id: int, account_id: int) -> StoredServiceAccount:
    account = await service_accounts.find(connection, org_id, account_id)
    if account is None:
        raise unknown_account()
    return account


def _object(account_id: int) -> str:
    return f"service-account:{account_id}"


def _login(base: str, number: int) -> str:
    return base if number == 1 else f"{base}-{number}"


def _checked_name(name: str) -> str:
    if not name.strip():
        raise BadRequest("Bad request data")
    if len(name) > LONGEST_NAME:
        raise BadRequest(f"name has {len(name)} characters; at most {LONGEST_NAME} are allowed")
    return name


def _checked_role(caller: Identity, given: str) -> Role:
    if given not in set(Role):
        raise BadRequest("invalid role specified", message_id="serviceaccounts.ErrInvalidRoleSpecified")
    role = Role(given)
    _check_role(caller, role)
    return role


def _check_role(caller: Identity, role: Role) -> None:
    if not may_assign(caller, role):
        raise Forbidden("can not assign a role higher than user's role", message_id="serviceaccounts.ErrRoleForbidden")


async def _check_rights(connection: Connection, caller: Identity, account_id: int, role: Role) -> None:
    """Raise Forbidden if the account may do more than the caller."""
    _check_role(caller, role)
    await require_cover(connection, caller, account_id)


def _taken() -> BadRequest:
    return BadRequest("service account already exists", message_id="serviceaccounts.ErrAlreadyExists")
