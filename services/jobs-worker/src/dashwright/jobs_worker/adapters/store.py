"""The stored objects as the actions see them, over the common resource store."""

import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Conflict, DashwrightError
from dashwright.common.kinds.annotations import MANAGED_BY, MANAGER_ALLOWS_EDITS, MANAGER_ID
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, find
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.stores import jobs, quotas, repositories, resources
from dashwright.common.work.execution import LeaseLost
from dashwright.jobs_worker.domain.objects import Change, Key, Managed, Owner, Removal, Repository, Write

ACTOR = "access-policy:provisioning"
"""Who ``createdBy`` names for what a job writes."""

_BATCH = 200


class StoredResources:
    """The objects of a namespace for one attempt at one job: what another attempt has taken over, this one cannot write."""

    def __init__(
        self, database: Database, clock: Clock, rules: QuotaRules, *, repository: Repository, job: uuid.UUID, owner: uuid.UUID
    ) -> None:
        self._database = database
        self._rules = rules
        self._clock = clock
        self._repository = repository
        self._uid = uuid.UUID(repository.uid)
        self._job = job
        self._owner = owner

    async def managed(self, namespace: str, repository: str) -> Sequence[Managed]:
        async with self._database.connection() as connection:
            return _managed(await resources.managed(connection, namespace, repository))

    async def managed_at(self, namespace: str, repository: str, paths: Collection[str], keys: Collection[Key]) -> Sequence[Managed]:
        places = [path.rstrip("/") for path in paths]
        async with self._database.connection() as connection:
            return _managed(await resources.managed_at(connection, namespace, repository, places, list(keys)))

    async def owners(self, namespace: str, keys: Sequence[Key]) -> Mapping[Key, Owner]:
        found: dict[Key, Owner] = {}
        async with self._database.connection() as connection:
            for kind, names in _by_kind(keys).items():
                rows = await resources.owners(connection, kind, namespace, names)
                found |= {Key(kind.group, kind.plural, name): _owner(annotations) for name, annotations in rows.items()}
        return found

    async def apply(self, namespace: str, changes: AsyncIterator[Change], *, commit: str) -> None:
        """Stages everything, then writes it at once: other writers wait for the last step only, readers for nothing."""
        async with self._database.transaction() as connection:
            staging = resources.Staging(connection)
            await staging.open()
            removals = await _stage(staging, changes)
            await resources.lock(connection)
            if (name := await staging.taken_over(namespace, self._repository.name)) is not None:
                raise Conflict(f"{name} was made or taken over by somebody else during the sync; sync again")
            await staging.write(namespace, actor=ACTOR, now=self._clock.now())
            removed = await self._remove(connection, namespace, removals)
            if await quotas.limits_dashboards(connection, self._rules, namespace):
                created = await staging.created(DASHBOARD)
                await quotas.check_dashboards(connection, self._rules, namespace, created=created, removed=removed, by="sync")
            if not await jobs.holds(connection, self._job, owner=self._owner):
                raise LeaseLost
            await repositories.note_commit(connection, self._uid, commit, generation=self._repository.generation)

    async def note(self, commit: str) -> None:
        async with self._database.transaction() as connection:
            await repositories.note_commit(connection, self._uid, commit, generation=self._repository.generation)

    async def _remove(self, connection: Connection, namespace: str, keys: Sequence[Key]) -> int:
        """What has gone meanwhile is as it should be; what is somebody else's by now is not ours to remove.

        Answers how many dashboards are gone.
        """
        dashboards = 0
        for kind, names in _by_kind(keys).items():
            removed = await resources.delete_managed(connection, kind, namespace, names, self._repository.name)
            dashboards += len(removed) if kind is DASHBOARD else 0
            if left := sorted(await resources.owners(connection, kind, namespace, list(set(names) - set(removed)))):
                raise Conflict(f"{kind.plural} '{left[0]}' was taken over by somebody else during the sync; sync again")
        return dashboards


def _managed(rows: Sequence[resources.Managed]) -> Sequence[Managed]:
    return [Managed(Key(row.group, row.resource, row.name), row.path, row.checksum, row.folder or "", row.title) for row in rows]


async def _stage(staging: resources.Staging, changes: AsyncIterator[Change]) -> list[Key]:
    """Stages the writes in batches; answers what is to be removed, in order."""
    removals: list[Key] = []
    batch: list[resources.Write] = []
    async for change in changes:
        if isinstance(change, Removal):
            removals.append(change.key)
            continue
        batch.append(_write(change))
        if len(batch) == _BATCH:
            await staging.add(batch)
            batch = []
    if batch:
        await staging.add(batch)
    return removals


def _kind(key: Key) -> Kind:
    kind = find(key.group, key.resource)
    if kind is None:
        raise DashwrightError(f"{key.resource}.{key.group} is not in the registry of kinds")
    return kind


def _by_kind(keys: Sequence[Key]) -> Mapping[Kind, list[str]]:
    names: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for key in keys:
        names[key.group, key.resource].append(key.name)
    return {_kind(Key(group, resource, "")): listed for (group, resource), listed in names.items()}


def _owner(annotations: Mapping[str, str]) -> Owner:
    return Owner(annotations.get(MANAGED_BY, ""), annotations.get(MANAGER_ID, ""), annotations.get(MANAGER_ALLOWS_EDITS) == "true")


def _write(change: Write) -> resources.Write:
    return resources.Write(
        _kind(change.key),
        change.key.name,
        change.spec.decode(),
        change.version,
        extract=change.extract,
        labels=change.labels,
        annotations=change.annotations,
    )
