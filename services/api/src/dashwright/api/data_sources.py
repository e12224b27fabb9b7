"""Use cases on data sources: creating, changing and removing them, each in one transaction together with their secrets."""

from collections.abc import Callable, Mapping
from typing import Final

from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import AlreadyExists, Conflict, NotFound
from dashwright.common.models.quotas import QuotaRules, Scope
from dashwright.common.secrets import SecretCipher, SecretUnreadable
from dashwright.common.stores import data_sources, quotas
from dashwright.common.stores.data_sources import Fields, StoredDataSource
from dashwright.common.stores.quotas import Claim

# Audit events.
CREATE: Final = "data-source.create"
UPDATE: Final = "data-source.update"
DELETE: Final = "data-source.delete"


class DataSources:
    """Changes to the data sources of the actor's current organization.

    The argument ``secrets`` of the methods has values by the names of secrets. An empty value removes the secret. Stored secrets whose
    names are missing are kept.
    """

    def __init__(self, database: Database, cipher: SecretCipher, quota_rules: QuotaRules) -> None:
        self._database = database
        self._cipher = cipher
        self._quota_rules = quota_rules

    async def create(self, actor: Actor, fields: Fields, secrets: Mapping[str, str]) -> StoredDataSource:
        """Create a data source and return it. Raises AlreadyExists if its name or uid is in use, and QuotaReached."""
        org_id = actor.org_id
        async with self._database.transaction() as connection:
            claims = [Claim(Scope.ORG, org_id, "data_source"), Claim(Scope.GLOBAL, 0, "data_source")]
            # All transactions lock quotas before data sources, against deadlocks.
            await quotas.reserve(connection, self._quota_rules, *claims)
            await data_sources.lock(connection, org_id)
            source_id, uid = await data_sources.insert(connection, org_id, fields, actor=actor.uid)
            await data_sources.put_secrets(connection, self._cipher, org_id, source_id, uid, _non_empty(secrets))
            data_source = await _get(connection, org_id, source_id)
            await audit.record(
                connection, actor, CREATE, _audit_target(source_id), org_id=actor.org_id, details=_details(data_source, secrets)
            )
            return data_source

    async def change(
        self, actor: Actor, source_id: int, revise: Callable[[Fields], Fields], secrets: Mapping[str, str], *, version: int | None
    ) -> StoredDataSource:
        """Replace the fields of a data source by the result of ``revise``, and return the data source.

        ``version`` is the version that the caller has read; None or 0 skips the check. Raises NotFound, AlreadyExists if the
        new name or uid is in use, and Conflict if the data source was changed after that version.
        """
        org_id = actor.org_id
        async with self._database.transaction() as connection:
            await data_sources.lock(connection, org_id)
            before = await _get(connection, org_id, source_id)
            if version and version < before.version:
                raise Conflict("Datasource has already been updated by someone else. Please reload and try again")
            fields = revise(before.fields)
            try:
                await data_sources.update(connection, org_id, source_id, fields)
            except AlreadyExists as error:
                raise AlreadyExists(f"Failed to update datasource: {error.message}") from error
            await self._change_secrets(connection, before, fields.uid, secrets)
            data_source = await _get(connection, org_id, source_id)
            await audit.record(
                connection, actor, UPDATE, _audit_target(source_id), org_id=actor.org_id, details=_details(data_source, secrets)
            )
            return data_source

    async def remove(self, actor: Actor, source_id: int) -> None:
        """Remove a data source with its secrets and the grants on it. Raises NotFound for an unknown data source."""
        async with self._database.transaction() as connection:
            await data_sources.lock(connection, actor.org_id)
            details = await data_sources.delete(connection, actor.org_id, source_id)
            if details is None:
                raise not_found()
            await audit.record(connection, actor, DELETE, _audit_target(source_id), org_id=actor.org_id, details=details)

    async def _change_secrets(self, connection: Connection, before: StoredDataSource, new_uid: str, secrets: Mapping[str, str]) -> None:
        """Store and remove secrets, and encrypt the kept ones again if the uid changes. Raises Conflict if that is impossible."""
        if new_uid != before.uid:
            try:
                await data_sources.move_secrets(connection, self._cipher, before.org_id, before.id, before.uid, new_uid, exclude=secrets)
            except SecretUnreadable as error:
                raise Conflict(f"The uid cannot change, as the secrets are bound to it. {error.message}") from error
        await data_sources.remove_secrets(connection, before.id, [name for name, value in secrets.items() if not value])
        await data_sources.put_secrets(connection, self._cipher, before.org_id, before.id, new_uid, _non_empty(secrets))


def not_found() -> NotFound:
    """Return the error for an unknown data source."""
    return NotFound("Data source not found")


async def _get(connection: Connection, org_id: int, source_id: int) -> StoredDataSource:
    """Return a data source. Raises NotFound."""
    data_source = await data_sources.get(connection, org_id, source_id=source_id)
    if data_source is None:
        raise not_found()
    return data_source


def _non_empty(secrets: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets to store: an empty value removes a secret."""
    return {name: value for name, value in secrets.items() if value}


def _audit_target(source_id: int) -> str:
    return f"data-source:{source_id}"


def _details(data_source: StoredDataSource, secrets: Mapping[str, str]) -> dict[str, object]:
    """Return the details of the audit event. Secrets that were set or removed are included by name, never by value."""
    details: dict[str, object] = {"uid": data_source.uid, "name": data_source.name, "type": data_source.fields.type}
    return details | {"secrets": sorted(secrets)} if secrets else details
