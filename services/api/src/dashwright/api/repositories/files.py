"""Files of repositories as callers list, read and change them, with their rights on the objects that the files stand for."""

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

LIST: Final = REPOSITORY.actions["update"]
"""The right to everything that a repository holds, whatever that stands for."""

_TRIES: Final = 3
_ANSWERED_WHOLE: Final = frozenset({"update", "delete"})


@dataclass(frozen=True, slots=True)
class FileChange:
    """What becomes of a file or directory. ``event`` is what the audit calls it; the rest is as in a ChangeRequest.

    A ``dry_run`` is planned and judged, and not done.
    """

    repository: str
    method: ChangeMethod
    path: str
    ref: str
    original_path: str
    content: str | None
    message: str
    event: str
    dry_run: bool = False


class Files:
    """The files of the repositories of the caller's organization. Answers are JSON.

    Every method raises NotFound for a repository that is none, Unhealthy for one that cannot be read, DeadlineExceeded, and what the worker
    says of the path.
    """

    def __init__(self, database: Database, policy: AccessPolicy, worker: RepositoryClient, clock: Clock) -> None:
        self._database = database
        self._policy = policy
        self._worker = worker
        self._clock = clock

    async def list_files(self, caller: Identity, repository: str, path: str, ref: str) -> bytes:
        """A FileList of everything below a directory, for who may do anything with the repository. Raises Forbidden."""
        if not caller.may(LIST):
            raise permission_denied(LIST)
        await self._worker.require_ready(caller, caller.namespace, repository)
        return await self._worker.call(
            FilesRequest(namespace=caller.namespace, name=repository, path=path, ref=ref), deadline=deadline_after()
        )

    async def read(self, caller: Identity, repository: str, path: str, ref: str) -> bytes:
        """A ResourceWrapper, for who may read all the objects in it. Raises Forbidden.

        What holds none that can be found is for those who may list it.
        """
        await self._worker.require_ready(caller, caller.namespace, repository)
        request = FileRequest(namespace=caller.namespace, name=repository, path=path, ref=ref)
        found = await self._ask_worker(caller, request, until=deadline_after())
        if not found["touches"] and not caller.may(LIST):
            raise permission_denied(LIST)
        await self._check_rights(caller, path, _touches(found))
        return await _json(found["wrapper"])

    async def change(self, actor: Actor, caller: Identity, wanted: FileChange) -> bytes:
        """Return the ResourceWrapper of what was done, or of a dry run of what would be.

        Raises Forbidden where the caller lacks a right on any of it, and Conflict where others change the repository faster than it can
        be done, or it is being deleted. The worker says first what would be done, and to which objects; it does that only while the
        repository is as it was then.
        """
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
        for _ in range(_TRIES):
            planned = await self._plan(caller, asked, until)
            decided = asked.model_copy(update={"base": planned["base"], "content": planned.get("content")})
            try:
                return await self._ask_worker(caller, decided, until=recording_deadline(until))
            except AlreadyExists:
                raise
            except Conflict as error:
                moved = error
        raise Conflict(f"{asked.path!r} could not be changed, since others change the repository all the time; try again") from moved

    async def _plan(self, caller: Identity, asked: ChangeRequest, until: float) -> dict[str, Any]:
        """Return the ChangeAnswer that says what would be done. Raises Forbidden where the caller may not do all of it."""
        planned = await self._ask_worker(caller, asked, until=until)
        await self._check_rights(caller, asked.path, _touches(planned))
        return planned

    async def _check_rights(self, caller: Identity, path: str, touches: Sequence[Touch]) -> None:
        """Raises Forbidden, which names no object: the caller named a path only."""
        view = await self._view(caller, touches)
        for touch in touches:
            kind = find(touch.group, touch.resource)
            assert kind is not None, f"{touch.resource}.{touch.group} is touched but not described"
            name = "" if touch.verb == "create" else touch.name
            for verb in (touch.verb, *(("get",) if touch.verb in _ANSWERED_WHOLE else ())):
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
        """A FileAnswer or ChangeAnswer, its numbers as they were written."""
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
    """What the audit calls a change of files."""
    return event_of(REPOSITORY, f"files.{verb}")


def _touches(found: dict[str, Any]) -> Sequence[Touch]:
    return [Touch.model_validate(touch) for touch in found["touches"]]


def _reason(touch: Touch) -> str:
    if touch.resource == REPOSITORY.plural:
        return "as long as its directory was not synced, since whom that is closed to is not known before"
    return "on what it stands for"


async def _json(tree: dict[str, Any]) -> bytes:
    """In a thread, as it was read: bodies may have megabytes."""
    return await asyncio.to_thread(write_json, tree)
