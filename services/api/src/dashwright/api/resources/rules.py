"""Rules that need the store: what must exist, what must not, and who owns what. Called inside the transaction that writes."""

from collections import defaultdict

import orjson

from dashwright.common.database.pool import Connection
from dashwright.common.errors import BadRequest, Cause, Forbidden, Invalid
from dashwright.common.kinds.annotations import FOLDER as IN_FOLDER
from dashwright.common.kinds.annotations import repository_of
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, JOB, REPOSITORY, find
from dashwright.common.models.provisioning import JobStatus, State, SyncTarget
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.stores import jobs, quotas, resources


async def check_create(connection: Connection, kind: Kind, namespace: str, write: resources.Write) -> None:
    """Raises NotFound for a folder that is none, and Invalid for a second repository that targets the instance."""
    if kind in (DASHBOARD, FOLDER) and (folder := write.annotations.get(IN_FOLDER)):
        await resources.lock(connection)
        found = await resources.owners(connection, FOLDER, namespace, [folder])
        if folder not in found:
            raise resources.not_found(FOLDER, folder)
        if repository := repository_of(found[folder]):
            raise Forbidden(f'folder "{folder}" is managed by the repository "{repository}"; add a file there instead')
    if kind is REPOSITORY and orjson.loads(write.spec)["sync"]["target"] == SyncTarget.INSTANCE:
        await resources.lock(connection)
        await _check_only_instance(connection, namespace, write.name)


async def check_created(connection: Connection, kind: Kind, namespace: str, limits: QuotaRules) -> None:
    """Raises QuotaReached where the object just made is one too many. Under the lock of objects, which making one takes."""
    if kind is DASHBOARD:
        await quotas.check_dashboards(connection, limits, namespace, created=1)


async def _check_only_instance(connection: Connection, namespace: str, name: str) -> None:
    after = ""
    while True:
        page = await resources.list_page(connection, REPOSITORY, namespace, after=after, limit=200)
        for other in page.items:
            if other.name != name and orjson.loads(other.spec)["sync"]["target"] == SyncTarget.INSTANCE:
                cause = Cause(
                    "spec.sync.target", "FieldValueForbidden", f"Forbidden: Another repository is already targeting root: {other.name}"
                )
                raise Invalid(
                    f'Repository.provisioning.grafana.app "{name}" is invalid: {cause.field}: {cause.message}',
                    causes=[cause],
                    details={"name": name, "group": REPOSITORY.group, "kind": REPOSITORY.kind},
                )
        if page.after is None:
            return
        after = page.after


def check_owner(kind: Kind, stored: resources.Stored, *, instead: str = "change") -> None:
    """Raises Forbidden for a dashboard or folder that a repository manages, saying what to do with its file ``instead``."""
    if kind in (DASHBOARD, FOLDER) and (repository := repository_of(orjson.loads(stored.metadata).get("annotations", {}))):
        raise Forbidden(f'{kind.singular} "{stored.name}" is managed by the repository "{repository}"; {instead} its file there instead')


async def check_delete(connection: Connection, kind: Kind, namespace: str, stored: resources.Stored) -> None:
    """Raises Forbidden for what a repository manages, and BadRequest for a folder that is not empty."""
    check_owner(kind, stored, instead="remove")
    if kind is FOLDER and await resources.has_children(connection, namespace, stored.name):
        raise BadRequest(
            f'folder "{stored.name}" cannot be deleted: it is not empty; remove what it holds first', message_id="folder.not-empty"
        )


async def end_jobs(connection: Connection, namespace: str, repository: str, *, now: int) -> None:
    """Ends the jobs of a repository that goes: without its lease a worker writes nothing more. ``now`` is Unix milliseconds."""
    message = "the repository was deleted"
    status = JobStatus(state=State.ERROR, finished=now, message=message, errors=[message])
    await jobs.end_all(connection, JOB, namespace, repository, status=status.to_json())


async def remove_managed(connection: Connection, namespace: str, repository: str) -> None:
    """Removes everything a repository manages."""
    names: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for item in await resources.managed(connection, namespace, repository):
        names[item.group, item.resource].append(item.name)
    for (group, plural), listed in names.items():
        kind = find(group, plural)
        assert kind is not None, f"{plural}.{group} is stored but not described"
        await resources.delete(connection, kind, namespace, listed)
