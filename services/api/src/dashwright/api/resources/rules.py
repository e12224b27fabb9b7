"""Rules that need the store: what must exist, what must not, and who owns what. Called inside the transaction that writes."""

from collections import defaultdict
from collections.abc import Sequence

import orjson

from dashwright.api.domain.access.view import View, is_above_rules
from dashwright.api.resources import folder_rules
from dashwright.api.resources.writing.admission import invalid
from dashwright.api.stores import lists
from dashwright.common.database.pool import Connection
from dashwright.common.errors import BadRequest, Cause, Forbidden
from dashwright.common.identity import Identity
from dashwright.common.kinds.annotations import FROM_FILE, MANAGED_BY, OF_CALLERS, repository_of
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, JOB, LIBRARY_PANEL, REPOSITORY, find
from dashwright.common.kinds.repository import CLEAN_UP, REMOVE_MANAGED, source_of
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.provisioning import JobStatus, RepositoryStatus, RepositoryType, State, SyncTarget
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.stores import changes, hooks, jobs, quotas, repositories, resources
from dashwright.common.stores.changes import StreamName
from dashwright.common.stores.resources import Stored


async def check_write(
    connection: Connection, namespace: str, write: resources.Write, old: Stored | None, settings: AdmissionSettings
) -> None:
    """Raises NotFound for a folder that is none, BadRequest for folders that lie in a circle or too deep, and Invalid for a second
    repository that targets the instance or has files of another one. Under the lock.
    """
    if write.kind.in_folder:
        await folder_rules.check_place(connection, namespace, write, old)
    if write.kind.is_tree:
        await folder_rules.check_nesting(connection, namespace, write, old, most=settings.folder_depth)
    if write.kind is REPOSITORY:
        target = orjson.loads(write.spec)["sync"]["target"]
        if old is not None:
            _check_target(old, target)
        if target == SyncTarget.INSTANCE:
            await _check_only_instance(connection, namespace, write.name)
        await _check_source(connection, namespace, write, old, settings)


def check_claims(write: resources.Write, old: Stored | None, caller: Identity) -> None:
    """Raise Forbidden if a caller who is not an Admin adds a manager or finalizer that would keep Admins from an object."""
    if is_above_rules(caller):
        return
    manager, kept = write.annotations.get(MANAGED_BY), None if old is None else annotations_of(old).get(MANAGED_BY)
    if manager is not None and manager not in (kept, *OF_CALLERS):
        text = f'{MANAGED_BY}: only an Admin may set "{manager[:100]}"; use one of {", ".join(sorted(OF_CALLERS))}, or leave it out'
        raise Forbidden(text)
    before = () if old is None else orjson.loads(old.metadata).get("finalizers") or ()
    added = set(write.finalizers) - {*before, *write.kind.finalizers}
    if added:
        raise Forbidden(f"metadata.finalizers: only an Admin may add {', '.join(sorted(added))[:100]}; leave finalizers out")


async def check_created(connection: Connection, kind: Kind, namespace: str, limits: QuotaRules) -> None:
    """Raises QuotaReached where the object just made is one too many. Under the lock of objects, which making one takes."""
    if kind is DASHBOARD:
        await quotas.check_dashboards(connection, limits, namespace, created=1)


def _check_target(old: Stored, target: str) -> None:
    if orjson.loads(old.spec)["sync"]["target"] != target and RepositoryStatus.model_validate_json(old.status or "{}").stats:
        text = "Forbidden: Changing sync target after running sync is not supported; delete the repository and create it anew"
        raise invalid(REPOSITORY, old.name, [Cause("spec.sync.target", "FieldValueForbidden", text)])


async def _check_only_instance(connection: Connection, namespace: str, name: str) -> None:
    at, after = await changes.head(connection, StreamName.OBJECTS), ""
    while True:
        page = await lists.page(connection, REPOSITORY, namespace, at=at, after=after, limit=200)
        for other in page.items:
            if other.name != name and orjson.loads(other.spec)["sync"]["target"] == SyncTarget.INSTANCE:
                text = f"Forbidden: Another repository is already targeting root: {other.name}"
                raise invalid(REPOSITORY, name, [Cause("spec.sync.target", "FieldValueForbidden", text)])
        if page.after is None:
            return
        after = page.after


async def _check_source(
    connection: Connection, namespace: str, write: resources.Write, old: Stored | None, settings: AdmissionSettings
) -> None:
    """Raise Invalid where another repository has the same files: each object has one manager, so one of both would always fail.

    One that is not moved may stay where it is.
    """
    spec = orjson.loads(write.spec)
    source = source_of(spec, settings.permitted_paths)
    if source is None or (old is not None and source_of(orjson.loads(old.spec), settings.permitted_paths) == source):
        return
    for name, text in await repositories.mentioning(connection, namespace, write.name, source.text):
        other = source_of(orjson.loads(text), settings.permitted_paths)
        if other is not None and other.overlaps(source):
            field = "spec.local.path" if spec["type"] == RepositoryType.LOCAL else f"spec.{spec['type']}"
            where = "folder" if spec["type"] == RepositoryType.LOCAL else "url, branch and directory"
            said = f'Forbidden: the repository "{name}" has files of this {where} already; choose another, or change or delete that one'
            raise invalid(REPOSITORY, write.name, [Cause(field, "FieldValueForbidden", said)])


def manager_of(stored: Stored) -> str | None:
    """The repository that manages an object."""
    return repository_of(annotations_of(stored)) if stored.kind.in_folder else None


def managed_by_text(stored: Stored) -> str:
    """The beginning of what is said of an object that a repository manages."""
    return f'{stored.kind.singular} "{stored.name}" is managed by the repository "{manager_of(stored)}"'


def check_unmanaged(stored: Stored, *, instead: str) -> None:
    """Raises Forbidden for an object that a repository manages, saying what to do ``instead``."""
    if manager_of(stored):
        raise Forbidden(f"{managed_by_text(stored)}; {instead}")


def check_finalizers(stored: Stored, write: resources.Write) -> None:
    """Raises Invalid where what is being deleted is to wait for more."""
    if is_deleting(stored) and (added := sorted(set(write.finalizers) - set(finalizers_of(stored)))):
        text = f"Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers {added}"
        raise invalid(stored.kind, stored.name, [Cause("metadata.finalizers", "FieldValueForbidden", text)])


async def check_delete(
    connection: Connection, namespace: str, stored: Stored, view: View, *, actor: str, cascade: bool = False, grace: int | None = None
) -> None:
    """Raises Forbidden for what a repository manages and for a library panel that dashboards show, and BadRequest for what a file
    provisions and for a folder that is not empty.

    With ``cascade`` what lies in a folder is removed; with a ``grace`` of 0 what a file provisions may be.
    """
    kind = stored.kind
    check_unmanaged(stored, instead="remove its file there, or where its repository takes that the object alone, by its name")
    if grace != 0 and annotations_of(stored).get(MANAGED_BY) == FROM_FILE:
        raise BadRequest(f"provisioned {kind.singular} cannot be deleted", message_id="dashboard.provisioned")
    if kind is LIBRARY_PANEL and await resources.is_referred_to(connection, namespace, stored.name):
        raise Forbidden("the library element has connections", message_id="library-panel.connected")
    if kind.is_tree and cascade:
        await folder_rules.cascade(connection, namespace, stored, view, actor=actor)
    elif kind.is_tree:
        await folder_rules.check_empty(connection, namespace, stored)


def annotations_of(stored: Stored) -> dict[str, str]:
    found: dict[str, str] = orjson.loads(stored.metadata).get("annotations") or {}
    return found


def finalizers_of(stored: Stored) -> Sequence[str]:
    found: list[str] = orjson.loads(stored.metadata).get("finalizers") or []
    return found


def others_finalizers(stored: Stored) -> Sequence[str]:
    """Those that somebody else has to see to before the object can go."""
    return [name for name in finalizers_of(stored) if name not in stored.kind.own_finalizers]


def is_deleting(stored: Stored) -> bool:
    """Whether the object only waits for its finalizers."""
    return "deletionTimestamp" in orjson.loads(stored.metadata)


async def end_jobs(connection: Connection, namespace: str, repository: str, *, now: int) -> None:
    """Ends the jobs of a repository that goes: without its lease a worker writes nothing more. ``now`` is Unix milliseconds."""
    message = "the repository was deleted"
    status = JobStatus(state=State.ERROR, finished=now, message=message, errors=[message])
    await jobs.end_all(connection, JOB, namespace, repository, status=status.to_json())


async def end_managing(connection: Connection, namespace: str, repository: Stored, *, actor: str) -> None:
    """What a repository manages goes with it, or becomes everybody's where its finalizers do not say that it goes."""
    if REMOVE_MANAGED in finalizers_of(repository):
        await _remove_managed(connection, namespace, repository.name, actor=actor)
    else:
        await resources.release_managed(connection, namespace, repository.name)


async def end_hook(connection: Connection, namespace: str, repository: Stored) -> None:
    """Leaves to a worker to tell the git host that it need not call any more: nobody waits for a host here."""
    if CLEAN_UP in finalizers_of(repository):
        await hooks.leave(connection, repository.uid, namespace, repository.name)


async def _remove_managed(connection: Connection, namespace: str, repository: str, *, actor: str) -> None:
    """Folders last, and but for those that somebody else's objects lie in."""
    names: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for item in await resources.managed(connection, namespace, repository):
        names[item.group, item.resource].append(item.name)
    for (group, plural), managed_by_text in sorted(names.items(), key=lambda item: item[0] == (FOLDER.group, FOLDER.plural)):
        kind = find(group, plural)
        assert kind is not None, f"{plural}.{group} is stored but not described"
        kept = set(await resources.release_holding(connection, namespace, managed_by_text, repository)) if kind is FOLDER else set()
        listed = [name for name in managed_by_text if name not in kept]
        await resources.delete(connection, kind, namespace, listed, actor=actor, keep=kind.history)
