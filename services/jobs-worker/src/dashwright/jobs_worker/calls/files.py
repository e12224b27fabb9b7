"""Calls about files of repositories: list, read and change them.

A change is committed to the repository first and then stored. If anything fails in between, the next sync stores it.
"""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, TypeAlias
from weakref import WeakValueDictionary

import structlog

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, Conflict, DashwrightError, Forbidden, NotFound, SourceFailed, Unavailable, Unhealthy
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.jobs.workflows import check_write
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.models.repository_calls import (
    ChangeRequest,
    ChangeResponse,
    CommitAuthor,
    EditRequest,
    EditResponse,
    FileRequest,
    FilesRequest,
)
from dashwright.common.models.shape import Shape
from dashwright.common.stores import repositories, resources
from dashwright.common.stores.repositories import StoredCommit
from dashwright.jobs_worker.actions.files.changing import ChangeDecision, decide, message_of
from dashwright.jobs_worker.actions.files.editing import edits_of, message_of_edit, plan_edits
from dashwright.jobs_worker.actions.files.looking import describe_file, list_files
from dashwright.jobs_worker.actions.files.planning import ChangeContext, holds, plan_files
from dashwright.jobs_worker.actions.retries import with_retries
from dashwright.jobs_worker.actions.sync import NullReporter, PlannedSync, SyncTools, apply_plan
from dashwright.jobs_worker.domain.files.rules import ref_of
from dashwright.jobs_worker.domain.files.wrapper import FileView, wrap
from dashwright.jobs_worker.domain.objects import Difference, Edit, GitIdentity, Repository
from dashwright.jobs_worker.ports import Checkout, Checkouts, Objects, Overtaken, SizedCheckout
from dashwright.jobs_worker.stored_repositories import repository_of

log = structlog.get_logger()

FileCallRequest: TypeAlias = FilesRequest | FileRequest | ChangeRequest | EditRequest

_ATTEMPTS: Final = 5
_NOT_STORED: Final = "committed to the repository but not stored yet; the next sync stores it"
_SUFFIX: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Characters of generated names, as in the resource API: none of them form a word."""


@dataclass(frozen=True, slots=True)
class AdapterFactories:
    """Constructors of the adapters of one call."""

    #: Opens the object store for one write, by repository, stored edition, actor and message.
    objects: Callable[[Repository, int, str, str], Objects]
    tools: Callable[[], AbstractContextManager[SyncTools]]


@dataclass(frozen=True, slots=True)
class _StoredState:
    """A repository and what is stored of it. It is read before the files, so that the files are never older."""

    repository: Repository
    kept: StoredCommit


class FileCalls:
    """The handler of file calls."""

    def __init__(self, database: Database, clock: Clock, checkouts: Checkouts, factories: AdapterFactories) -> None:
        self._database = database
        self._clock = clock
        self._checkouts = checkouts
        self.factories = factories
        self._changing: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def handle(self, request: FileCallRequest, *, is_repeated: bool = False) -> Shape:
        """Return the response to a request. Raises Unhealthy if the repository cannot be read or written.

        An ``is_repeated`` request was started by a worker that died: a change that was already committed is not made again.
        """
        return await with_retries(lambda: self._handle(request, is_repeated=is_repeated))

    async def _handle(self, request: FileCallRequest, *, is_repeated: bool) -> Shape:
        if not _writes(request):
            return await self._handle_once(request)
        # Concurrent changes would only overtake one another, each time after two requests to the host.
        async with self._changing.setdefault((request.namespace, request.name), asyncio.Lock()):
            done = await self._done_before(request) if is_repeated else None
            return done or await self._handle_once(request)

    async def _done_before(self, request: FileCallRequest) -> Shape | None:
        """Return the response to a change that is already committed; None if it is not. A folder has no record of authors."""
        if not isinstance(request, ChangeRequest | EditRequest) or not request.author.at:
            return None
        state = await self._load_state(request.namespace, request.name)
        ref = ref_of(state.repository.spec, request.ref) if isinstance(request, ChangeRequest) else ""
        by = GitIdentity(request.author.name, request.author.email)
        with self.factories.tools() as tools:
            context = self._context(state, tools, request)
            for before, made in await self._checkouts.commits_by(state.repository, ref, by, _time_of(request.author)):
                if isinstance(request, ChangeRequest):
                    decided = await _decided_before(context, before, made, request, ref)
                    if decided is not None:
                        return await self._store_change(state, context, decided, before, made, request)
                elif edits := await _edited_before(context, before, made, request):
                    return await self._store_edit(state, context, *await plan_edits(context, before, edits), before, made, request)
        return None

    async def _handle_once(self, request: FileCallRequest) -> Shape:
        state = await self._load_state(request.namespace, request.name)
        with self.factories.tools() as tools:
            if isinstance(request, ChangeRequest):
                return await self._change(state, request, tools)
            if isinstance(request, EditRequest):
                return await self._edit(state, request, tools)
            ref = ref_of(state.repository.spec, request.ref)
            checkout = await self._checkout(state.repository, ref)
            if isinstance(request, FilesRequest):
                return await list_files(checkout, request.path)
            return await describe_file(self._context(state, tools), checkout, request.path, ref)

    async def _change(self, state: _StoredState, request: ChangeRequest, tools: SyncTools) -> ChangeResponse:
        check_write(state.repository.spec, request.ref)
        for attempt in range(_ATTEMPTS):
            repository = state.repository
            ref = ref_of(repository.spec, request.ref)
            checkout = await self._branch(repository, ref)
            context = self._context(state, tools, request)
            decided = await decide(context, checkout, request, ref, _suffix)
            if not request.base:
                return await _answer(repository, decided, decided.view)
            if request.base != decided.base:
                raise Conflict("the repository or its stored objects have changed: read the file again and repeat the change")
            try:
                made = await self._commit(repository, checkout, ref, decided.edits, request.author, message_of(request))
            except Conflict:
                if attempt == _ATTEMPTS - 1:
                    raise
                state = await self._load_state(request.namespace, request.name)
                continue
            return await self._store_change(state, context, decided, checkout, made, request)
        raise AssertionError("the last attempt returns or raises")

    async def _store_change(
        self,
        state: _StoredState,
        context: ChangeContext,
        decided: ChangeDecision,
        before: Checkout | None,
        made: Checkout,
        request: ChangeRequest,
    ) -> ChangeResponse:
        """Store a committed change of the own branch and return the response. An error of the store is part of the response."""
        repository = state.repository
        view = replace(decided.view, commit=made.commit, timestamp=self._clock.now())
        if not ref_of(repository.spec, request.ref) and repository.spec.sync.enabled:
            try:
                await self._store(state, context, decided.planned, decided.difference, before, made, request)
            except DashwrightError as error:
                log.warning("change_not_stored", repository=repository.name, reason=error.message)
                view.errors.append(f"{_NOT_STORED}: {error.message}")
        return await _answer(repository, decided, view)

    async def _edit(self, state: _StoredState, request: EditRequest, tools: SyncTools) -> EditResponse:
        check_write(state.repository.spec, "")
        for attempt in range(_ATTEMPTS):
            repository = state.repository
            checkout = await self._checkout(repository, "")
            context = self._context(state, tools, request)
            edits = await edits_of(context, checkout, request)
            if not edits:
                return EditResponse()
            planned, difference = await plan_edits(context, checkout, edits)
            if request.dry_run:
                return EditResponse()
            try:
                made = await self._commit(repository, checkout, "", edits, request.author, message_of_edit(request, edits))
            except Conflict:
                if attempt == _ATTEMPTS - 1:
                    raise
                state = await self._load_state(request.namespace, request.name)
                continue
            return await self._store_edit(state, context, planned, difference, checkout, made, request)
        raise AssertionError("the last attempt returns or raises")

    async def _store_edit(
        self,
        state: _StoredState,
        context: ChangeContext,
        planned: PlannedSync,
        difference: Difference,
        before: Checkout | None,
        made: Checkout,
        request: EditRequest,
    ) -> EditResponse:
        """Store a committed edit and return the response."""
        try:
            await self._store(state, context, planned, difference, before, made, request)
        except Conflict as error:
            raise Unavailable(f"{_NOT_STORED}: {error.message}") from error
        return EditResponse(ref=made.commit)

    async def _store(
        self,
        state: _StoredState,
        context: ChangeContext,
        planned: PlannedSync,
        difference: Difference,
        before: Checkout | None,
        made: Checkout,
        request: ChangeRequest | EditRequest,
    ) -> None:
        """Store the objects of a commit. If another writer was first, plan again with the newest commit.

        The commit counts as stored only if it directly follows the stored one. Otherwise none does, and the next sync examines everything.
        """
        base, newest = before.commit if before is not None else "", made
        if base != made.commit == state.kept.commit:
            return
        for _ in range(_ATTEMPTS):
            is_whole = bool(base) and state.kept.commit == base and newest.commit == made.commit
            snapshot = replace(planned.snapshot, commit=newest.commit if is_whole else "", since=base)
            try:
                await apply_plan(
                    context.job, replace(planned, snapshot=snapshot), context.objects, NullReporter(), context.tools.spool, JobProgress()
                )
            except Overtaken:
                state = await self._load_state(context.repository.namespace, context.repository.name)
                found = await self._checkout(state.repository, "")
                if found is None or (found.commit and found.commit == state.kept.commit):
                    return
                newest = found
                context = self._context(state, context.tools, request)
                entries = [entry for entry in await newest.entries() if entry.path in difference.paths]
                difference = Difference(difference.paths, entries, folders=difference.folders & {entry.path for entry in entries})
                planned = await plan_files(context, newest, difference)
                continue
            return
        raise Conflict(f"other writers stored the repository first, {_ATTEMPTS} times")

    async def _load_state(self, namespace: str, name: str) -> _StoredState:
        async with self._database.connection() as connection:
            stored = await resources.get(connection, REPOSITORY, namespace, name)
            kept = await repositories.stored_commit(connection, stored.uid, generation=stored.generation)
        return _StoredState(repository_of(stored), kept)

    def _context(self, state: _StoredState, tools: SyncTools, request: ChangeRequest | EditRequest | None = None) -> ChangeContext:
        actor, message = (request.author.uid, request.message) if request is not None else ("", "")
        objects = self.factories.objects(state.repository, state.kept.edition, actor, message)
        return ChangeContext(state.repository, objects, tools)

    async def _checkout(self, repository: Repository, ref: str) -> SizedCheckout | None:
        try:
            return await self._checkouts.at(repository, ref)
        except (Forbidden, SourceFailed) as error:
            raise _unhealthy(repository, error) from error

    async def _branch(self, repository: Repository, ref: str) -> Checkout | None:
        """Return the state that a change of a branch starts from: the repository's own branch if the branch does not exist."""
        if not ref:
            return await self._checkout(repository, "")
        try:
            return await self._checkout(repository, ref)
        except NotFound:
            return await self._checkout(repository, "")

    async def _commit(
        self, repository: Repository, checkout: Checkout | None, ref: str, edits: Sequence[Edit], author: CommitAuthor, message: str
    ) -> Checkout:
        base = checkout.commit if checkout is not None else ""
        try:
            by, at = GitIdentity(author.name, author.email), _time_of(author) if author.at else None
            return await self._checkouts.commit(repository, base, ref, edits, by, message, at)
        except (Forbidden, SourceFailed) as error:
            raise _unhealthy(repository, error) from error


async def _answer(repository: Repository, decided: ChangeDecision, view: FileView) -> ChangeResponse:
    wrapper = await asyncio.to_thread(wrap, repository, view)
    return ChangeResponse(base=decided.base, content=decided.content, wrapper=wrapper, touches=decided.touches)


async def _decided_before(
    context: ChangeContext, before: Checkout | None, made: Checkout, request: ChangeRequest, ref: str
) -> ChangeDecision | None:
    """Return the change, recomputed on the parent of ``made``; None if ``made`` contains a different change."""
    with suppress(BadRequest, Conflict, NotFound):
        decided = await decide(context, before, request, ref, _suffix)
        if await holds(made, decided.edits):
            return decided
    return None


async def _edited_before(context: ChangeContext, before: Checkout | None, made: Checkout, request: EditRequest) -> list[Edit]:
    """Return the edits, recomputed on the parent of ``made``; none if ``made`` contains a different edit."""
    with suppress(BadRequest, Conflict, NotFound):
        edits = await edits_of(context, before, request)
        if await holds(made, edits):
            return edits
    return []


def _time_of(author: CommitAuthor) -> datetime:
    return datetime.fromtimestamp(author.at, UTC)


def _writes(request: FileCallRequest) -> bool:
    return bool(request.base) if isinstance(request, ChangeRequest) else isinstance(request, EditRequest) and not request.dry_run


def _unhealthy(repository: Repository, error: DashwrightError) -> Unhealthy:
    return Unhealthy(f"The repository configuration is not healthy: {error.message}", details={"name": repository.name})


def _suffix() -> str:
    return "".join(secrets.choice(_SUFFIX) for _ in range(8))
