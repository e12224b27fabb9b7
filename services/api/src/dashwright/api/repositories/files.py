"""Files of repositories: listed, read and changed with the caller's rights on the objects in them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.accounts.authors import author_of
from dashwright.api.domain.access.view import View
from dashwright.api.domain.actor import Actor
from dashwright.api.domain.events import event_of, subject_of
from dashwright.api.http.errors import permission_denied
from dashwright.api.resources import metadata
from dashwright.api.stores import audit
from dashwright.api.workers.repository_client import READ, RepositoryClient, deadline_after, recording_deadline
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.document import read_json, write_json
from dashwright.common.errors import AlreadyExists, Conflict, Forbidden, NotFound
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import REPOSITORY, find
from dashwright.common.models.repository_calls import ChangeMethod, ChangeRequest, FileRequest, FilesRequest, Touch

#: The right to everything in a repository, whatever objects it defines.
LIST: Final = REPOSITORY.actions["update"]

_ATTEMPTS: Final = 3
_RETURNING_OBJECT: Final = frozenset({"update", "delete"})


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of a file or directory. The members match those of a ChangeRequest."""

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

    def __init__(self, database: Database, policy: AccessPolicy, worker: RepositoryClient, clock: Clock) -> None:
        self._database = database
        self._policy = policy
        self._worker = worker
        self._clock = clock

    async def list_files(self, caller: Identity, repository: str, path: str, ref: str) -> bytes:
        """Return a FileList of everything below a directory. Raises Forbidden without write access to the repository."""
        if not caller.may(LIST):
            raise permission_denied(LIST)
        await self._worker.require_ready(caller, caller.namespace, repository)
        return await self._worker.call(
            FilesRequest(namespace=caller.namespace, name=repository, path=path, ref=ref), deadline=deadline_after()
        )

    async def read(self, caller: Identity, repository: str, path: str, ref: str) -> bytes:
        """Return a ResourceWrapper. Raises Forbidden unless the caller may read every object in the file.

        If the objects in the file cannot be determined, reading requires the right to list the repository.
        """
        await self._worker.require_ready(caller, caller.namespace, repository)
        request = FileRequest(namespace=caller.namespace, name=repository, path=path, ref=ref)
        found = await self._ask_worker(caller, request, until=deadline_after())
        if not found["touches"] and not caller.may(LIST):
            raise permission_denied(LIST)
        await self._check_rights(caller, path, _touches(found))
        return await _json(found["wrapper"])

    async def change(self, actor: Actor, caller: Identity, wanted: FileChange) -> bytes:
        """Return the ResourceWrapper of a change, or of its dry run.

        The worker first plans the change; the gateway checks the caller's rights on each affected object; then the
        worker makes the change if the repository has not changed in between. Raises Forbidden if the caller lacks a
        right, and Conflict if the repository changes too fast or is being deleted.
        """
        # One deadline for all calls: each retry has only the time that is left.
        name, until = wanted.repository, deadline_after()
        if metadata.is_deleting(await self._worker.require_ready(caller, caller.namespace, name)):
            raise Conflict(f'cannot change files of a repository marked for deletion: "{name}"')
        asked = ChangeRequest(
            namespace=caller.namespace,
            name=name,
            method=wanted.method,
            path=wanted.path,
            ref=wanted.ref,
            original_path=wanted.original_path,
            content=wanted.content,
            message=wanted.message,
            author=await author_of(self._database, caller, self._clock),
        )
        if wanted.dry_run:
            return await _json((await self._plan(caller, asked, until))["wrapper"])

        async def make() -> dict[str, Any]:
            done = await self._perform(caller, asked, until)
            self._policy.forget(caller.namespace)  # directories are folders
            await self._record(actor, wanted, done)
            return done

        return await _json((await self._worker.complete(make, deadline=until))["wrapper"])

    async def _perform(self, caller: Identity, asked: ChangeRequest, until: float) -> dict[str, Any]:
        moved: Conflict | None = None
        for _ in range(_ATTEMPTS):
            planned = await self._plan(caller, asked, until)
            decided = asked.model_copy(update={"base": planned["base"], "content": planned.get("content")})
            try:
                return await self._ask_worker(caller, decided, until=recording_deadline(until))
            except AlreadyExists:
                raise
            except Conflict as error:
                moved = error
        raise Conflict(f"{asked.path!r} could not be changed because the repository kept changing; try again") from moved

    async def _plan(self, caller: Identity, asked: ChangeRequest, until: float) -> dict[str, Any]:
        """Return the ChangeAnswer of a planned change. Raises Forbidden if the caller may not make all of it."""
        planned = await self._ask_worker(caller, asked, until=until)
        await self._check_rights(caller, asked.path, _touches(planned))
        return planned

    async def _check_rights(self, caller: Identity, path: str, touches: Sequence[Touch]) -> None:
        """Raise Forbidden if the caller lacks a right on an affected object.

        The error names the path only: naming the object would reveal it to a caller who may not read it.
        """
        view = await self._view(caller, touches)
        for touch in touches:
            kind = find(touch.group, touch.resource)
            assert kind is not None, f"{touch.resource}.{touch.group} is touched but not described"
            name = "" if touch.verb == "create" else touch.name
            for verb in (touch.verb, *(("get",) if touch.verb in _RETURNING_OBJECT else ())):
                if not view.may(kind.actions[verb], kind, name, touch.folder):
                    raise Forbidden(f"{path!r} is forbidden: {caller.login} needs {kind.actions[verb]} {_reason(touch)}")

    async def _view(self, caller: Identity, touches: Sequence[Touch]) -> View:
        view = await self._policy.view(caller, caller.namespace)
        unknown = next((touch.folder for touch in touches if touch.folder is not None and not view.knows(touch.folder)), None)
        return view if unknown is None else await self._policy.view_on(caller, caller.namespace, unknown)

    async def _record(self, actor: Actor, wanted: FileChange, done: dict[str, Any]) -> None:
        details = {"path": wanted.path, "from": wanted.original_path, "ref": wanted.ref, "commit": done["wrapper"].get("ref")}
        async with self._database.connection() as connection:
            await audit.record(
                connection,
                actor,
                wanted.event,
                subject_of(REPOSITORY, wanted.repository),
                org_id=actor.org_id,
                details={key: text for key, text in details.items() if text},
            )

    async def _ask_worker(self, caller: Identity, request: FileRequest | ChangeRequest, *, until: float) -> dict[str, Any]:
        """Return a FileAnswer or ChangeAnswer as a tree with numbers exactly as written."""
        try:
            body = await self._worker.call(request, deadline=until)
        except NotFound as error:
            if not error.causes or caller.may(READ):
                raise
            # It names the branches that there are.
            raise NotFound(f"branch not found: {request.ref!r}" if request.ref else "the repository's branch was not found") from error
        found: dict[str, Any] = await asyncio.to_thread(lambda: read_json(body.decode()))
        return found


def event_of_files(verb: str) -> str:
    """Return the name of the audit event for a change of files."""
    return event_of(REPOSITORY, f"files.{verb}")


def _touches(found: dict[str, Any]) -> Sequence[Touch]:
    return [Touch.model_validate(touch) for touch in found["touches"]]


def _reason(touch: Touch) -> str:
    if touch.resource == REPOSITORY.plural:
        return "until its directory is synced, because its access rules are unknown before"
    return "on the objects in it"


async def _json(tree: dict[str, Any]) -> bytes:
    """Return a tree as JSON, written in a thread because bodies may have megabytes."""
    return await asyncio.to_thread(write_json, tree)
