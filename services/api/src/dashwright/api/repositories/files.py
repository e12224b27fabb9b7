"""Listing, reading and changing files of repositories, if the caller has permissions on the objects in them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.accounts.authors import author_of
from dashwright.api.domain.access.view import AccessView
from dashwright.api.domain.actor import Actor
from dashwright.api.http.errors import permission_denied
from dashwright.api.repositories.commit_reads import CommitReads
from dashwright.api.resources import metadata
from dashwright.api.stores import audit
from dashwright.api.stores.audit import event_of, subject_of
from dashwright.api.workers.repository_client import READ_ACTION, RepositoryClient, background_deadline, deadline_after
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import AlreadyExists, Conflict, Forbidden, NotFound
from dashwright.common.identity import Identity
from dashwright.common.json_documents import read_json, write_json
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.registry import find as find_kind
from dashwright.common.models.repository_calls import ChangeMethod, ChangeRequest, FileRequest, FilesRequest, Touch

#: The permission to list a repository's files, regardless of the objects in them.
LIST_ACTION: Final = REPOSITORY.actions["update"]

#: Number of attempts of a change while the repository changes.
_MAX_ATTEMPTS: Final = 3
#: Verbs that also require the right to read the object, because the response contains it.
_VERBS_RETURNING_OBJECT: Final = frozenset({"update", "delete"})


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of a file or directory. Fields without a description are those of a ChangeRequest."""

    repository: str
    method: ChangeMethod
    path: str
    ref: str
    original_path: str
    content: str | None
    message: str
    #: The name of the audit event.
    event: str
    #: Plan and authorize the change, but do not make it.
    dry_run: bool = False


class Files:
    """The files of the repositories in the caller's organization. Every method returns JSON.

    Every method raises NotFound for an unknown repository, Unhealthy for one that cannot be read, DeadlineExceeded,
    and the worker's errors about the path.
    """

    def __init__(self, database: Database, policy: AccessPolicy, repository_client: RepositoryClient, clock: Clock) -> None:
        self._database = database
        self._policy = policy
        self._repository_client = repository_client
        self._commit_reads = CommitReads(repository_client)
        self._clock = clock

    async def list_files(self, caller: Identity, repository: str, path: str, ref: str) -> bytes:
        """Return a FileList of everything below a directory. Raises Forbidden without write access to the repository."""
        if not caller.may(LIST_ACTION):
            raise permission_denied(LIST_ACTION)
        await self._repository_client.get_healthy(caller, caller.namespace, repository)
        return await self._repository_client.call(
            FilesRequest(namespace=caller.namespace, name=repository, path=path, ref=ref), deadline=deadline_after()
        )

    async def read_file(self, caller: Identity, repository: str, path: str, ref: str) -> bytes:
        """Return a ResourceWrapper. Raises Forbidden unless the caller may read every object in the file.

        If the objects in the file cannot be determined, the caller needs the permission to list the repository.
        """
        return await _encode((await self._read(caller, repository, path, ref))["wrapper"])

    async def read_with_removed(self, caller: Identity, repository: str, path: str, ref: str) -> bytes:
        """Return a FileResponse, also for a missing file from which a dashboard is stored. Raises Forbidden as ``read_file``.

        The response about a file at a commit may be some seconds old.
        """
        return await _encode(await self._read(caller, repository, path, ref, with_removed=True))

    async def _read(self, caller: Identity, repository: str, path: str, ref: str, *, with_removed: bool = False) -> dict[str, Any]:
        """Return a FileResponse as a JSON tree."""
        await self._repository_client.get_healthy(caller, caller.namespace, repository)
        request = FileRequest(namespace=caller.namespace, name=repository, path=path, ref=ref, with_removed=with_removed)
        response = await self._call_worker(caller, request, deadline=deadline_after())
        if not response["touches"] and not caller.may(LIST_ACTION):
            raise permission_denied(LIST_ACTION)
        await self._check_permissions(caller, path, _touches_of(response))
        return response

    async def change(self, actor: Actor, caller: Identity, file_change: FileChange) -> bytes:
        """Return the ResourceWrapper of a change, or of its dry run.

        First, the worker plans the change. Next, the gateway checks the caller's permissions on each affected object. Then, the
        worker makes the change, unless the repository has changed in between. Raises Forbidden if the caller lacks a permission,
        and Conflict if the repository changes too often or is being deleted.
        """
        # All calls have one deadline, so a retry has only the remaining time.
        name, deadline = file_change.repository, deadline_after()
        if metadata.is_deleting(await self._repository_client.get_healthy(caller, caller.namespace, name)):
            raise Conflict(f'cannot change files of a repository marked for deletion: "{name}"')
        request = ChangeRequest(
            namespace=caller.namespace,
            name=name,
            method=file_change.method,
            path=file_change.path,
            ref=file_change.ref,
            original_path=file_change.original_path,
            content=file_change.content,
            message=file_change.message,
            author=await author_of(self._database, caller, self._clock),
        )
        if file_change.dry_run:
            return await _encode((await self._plan(caller, request, deadline))["wrapper"])

        async def perform_and_record() -> dict[str, Any]:
            response = await self._perform(caller, request, deadline)
            self._policy.invalidate(caller.namespace)  # A change of directories changes the tree of folders.
            await self._record(actor, file_change, response)
            return response

        return await _encode((await self._repository_client.run_to_completion(perform_and_record, deadline=deadline))["wrapper"])

    async def _perform(self, caller: Identity, request: ChangeRequest, deadline: float) -> dict[str, Any]:
        """Plan, authorize and make a change, and return its ChangeResponse. It is planned again if the repository has changed since.

        Raises Forbidden, AlreadyExists if the new path is taken, and Conflict after too many attempts.
        """
        last_conflict: Conflict | None = None
        for _ in range(_MAX_ATTEMPTS):
            plan = await self._plan(caller, request, deadline)
            # The worker refuses the change if the repository is no longer at the base of the plan.
            planned_request = request.model_copy(update={"base": plan["base"], "content": plan.get("content")})
            try:
                return await self._call_worker(caller, planned_request, deadline=background_deadline(deadline))
            except AlreadyExists:
                # AlreadyExists is a Conflict too, but a new plan would meet the same file.
                raise
            except Conflict as error:
                last_conflict = error
        raise Conflict(f"{request.path!r} could not be changed because the repository kept changing; try again") from last_conflict

    async def _plan(self, caller: Identity, request: ChangeRequest, deadline: float) -> dict[str, Any]:
        """Return the plan of a change, a ChangeResponse. Raises Forbidden if the caller lacks a permission on an affected object."""
        plan = await self._call_worker(caller, request, deadline=deadline)
        await self._check_permissions(caller, request.path, _touches_of(plan))
        return plan

    async def _check_permissions(self, caller: Identity, path: str, touches: Sequence[Touch]) -> None:
        """Raise Forbidden if the caller lacks a permission on an affected object.

        The error names the path only, because the name of an object must not be shown to a caller who may not read it.
        """
        view = await self._view_with_folders(caller, touches)
        for touch in touches:
            kind = find_kind(touch.group, touch.resource)
            assert kind is not None, f"{touch.resource}.{touch.group} is not a registered kind"
            # A new object has no access rules of its own yet.
            name = "" if touch.verb == "create" else touch.name
            verbs = (touch.verb, "get") if touch.verb in _VERBS_RETURNING_OBJECT else (touch.verb,)
            for verb in verbs:
                if not view.may(kind.actions[verb], kind, name, touch.folder):
                    raise Forbidden(f"{path!r} is forbidden: {caller.login} needs {kind.actions[verb]} {_denial_detail(touch)}")

    async def _view_with_folders(self, caller: Identity, touches: Sequence[Touch]) -> AccessView:
        """Return the caller's access view. It is read again if it does not contain the folders of all touches."""
        view = await self._policy.view(caller, caller.namespace)
        folders = [touch.folder for touch in touches if touch.folder is not None]
        unknown_folder = next((folder for folder in folders if not view.knows_folder(folder)), None)
        return view if unknown_folder is None else await self._policy.view_on(caller, caller.namespace, unknown_folder)

    async def _record(self, actor: Actor, file_change: FileChange, response: dict[str, Any]) -> None:
        """Record the audit event of a change that was made."""
        commit = response["wrapper"].get("ref")
        details = {"path": file_change.path, "from": file_change.original_path, "ref": file_change.ref, "commit": commit}
        async with self._database.connection() as connection:
            await audit.record(
                connection,
                actor,
                file_change.event,
                subject_of(REPOSITORY, file_change.repository),
                org_id=actor.org_id,
                details={key: value for key, value in details.items() if value},
            )

    async def _call_worker(self, caller: Identity, request: FileRequest | ChangeRequest, *, deadline: float) -> dict[str, Any]:
        """Return a FileResponse or ChangeResponse as a JSON tree. Numbers in it keep their notation."""
        try:
            if isinstance(request, FileRequest) and request.with_removed:
                body = await self._commit_reads.call(request, deadline=deadline)
            else:
                body = await self._repository_client.call(request, deadline=deadline)
        except NotFound as error:
            if not error.causes or caller.may(READ_ACTION):
                raise
            # The error of the worker lists the existing branches, which only readers of the repository may see.
            raise NotFound(f"branch not found: {request.ref!r}" if request.ref else "the repository's branch was not found") from error
        response: dict[str, Any] = await asyncio.to_thread(lambda: read_json(body.decode()))
        return response


def event_of_files(verb: str) -> str:
    """Return the name of the audit event for a change of files."""
    return event_of(REPOSITORY, f"files.{verb}")


def _touches_of(response: dict[str, Any]) -> Sequence[Touch]:
    """Return the objects that a file contains or a change affects, each with the verb that the caller needs for it."""
    return [Touch.model_validate(touch) for touch in response["touches"]]


def _denial_detail(touch: Touch) -> str:
    """Return the end of a message about a missing permission: the objects on which it is needed."""
    if touch.resource == REPOSITORY.plural:
        return "on the repository until the file's directory is synced, because the directory has no access rules before"
    return "on the objects in it"


async def _encode(tree: dict[str, Any]) -> bytes:
    """Return a tree as JSON. It is encoded in a thread, because it may have several megabytes."""
    return await asyncio.to_thread(write_json, tree)
