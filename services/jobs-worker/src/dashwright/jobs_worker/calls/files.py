"""Calls about files of repositories: list, read and change them.

A change is committed to the repository first and then stored. If storing fails, the next sync stores the change.
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
from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.repository_calls import (
    ChangeRequest,
    ChangeResponse,
    CommitAuthor,
    EditRequest,
    EditResponse,
    FileRequest,
    FilesRequest,
)
from dashwright.common.stores import repositories, resources
from dashwright.common.stores.repositories import StoredCommit
from dashwright.jobs_worker.actions.files.changing import ChangeDecision, commit_message, decide
from dashwright.jobs_worker.actions.files.editing import edit_commit_message, edits_of, plan_edits
from dashwright.jobs_worker.actions.files.planning import ChangeContext, files_match, plan_files
from dashwright.jobs_worker.actions.files.reading import describe_file, list_files
from dashwright.jobs_worker.actions.files.removals import describe_removal
from dashwright.jobs_worker.actions.retries import with_retries
from dashwright.jobs_worker.actions.sync import NullReporter, PlannedSync, SyncTools, apply_plan
from dashwright.jobs_worker.domain.files.rules import effective_ref
from dashwright.jobs_worker.domain.files.wrapper import FileView, wrap
from dashwright.jobs_worker.domain.objects import Difference, Edit, GitIdentity, Repository
from dashwright.jobs_worker.ports import Checkout, Checkouts, DryRunStore, Overtaken, SizedCheckout
from dashwright.jobs_worker.stored_repositories import repository_of

log = structlog.get_logger()

FileCallRequest: TypeAlias = FilesRequest | FileRequest | ChangeRequest | EditRequest

_ATTEMPTS: Final = 5
_NOT_STORED_MESSAGE: Final = "committed to the repository but not stored yet; the next sync stores it"
_NAME_CHARACTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Characters of generated names, as in the resource API: without vowels they do not form words."""

_SUFFIX_LENGTH: Final = 8


@dataclass(frozen=True, slots=True)
class AdapterFactories:
    """Functions that construct the adapters of one call."""

    #: Opens the store for one write. The arguments are the repository, its stored edition, the actor and the message of the change.
    open_dry_run_store: Callable[[Repository, int, str, str], DryRunStore]
    open_tools: Callable[[], AbstractContextManager[SyncTools]]


@dataclass(frozen=True, slots=True)
class _StoredState:
    """A repository with its stored commit. Both are read before the files, so that the files are at least as new as this state."""

    repository: Repository
    stored_commit: StoredCommit


class FileCalls:
    """The handler of file calls."""

    def __init__(self, database: Database, clock: Clock, checkouts: Checkouts, factories: AdapterFactories) -> None:
        self._database = database
        self._clock = clock
        self._checkouts = checkouts
        self.factories = factories
        self._change_locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def handle(self, request: FileCallRequest, *, is_repeated: bool = False) -> ApiModel:
        """Return the response to a request. Raises Unhealthy if the repository cannot be read or written.

        With ``is_repeated`` another worker may have handled the request before: a change that is already committed is not made again.
        """
        return await with_retries(lambda: self._handle(request, is_repeated=is_repeated))

    async def _handle(self, request: FileCallRequest, *, is_repeated: bool) -> ApiModel:
        if not _is_write(request):
            return await self._handle_once(request)
        # Without the lock, all but one of several concurrent changes would fail and be retried, each after two requests to the host.
        async with self._change_locks.setdefault((request.namespace, request.name), asyncio.Lock()):
            response = await self._response_of_committed(request) if is_repeated else None
            return response or await self._handle_once(request)

    async def _response_of_committed(self, request: FileCallRequest) -> ApiModel | None:
        """Return the response to a change that is already committed; None if it is not.

        For a local directory the result is always None, because a directory does not record authors.
        """
        # A commit is recognized by its author and author time.
        if not isinstance(request, ChangeRequest | EditRequest) or not request.author.at:
            return None
        state = await self._load_state(request.namespace, request.name)
        ref = effective_ref(state.repository.spec, request.ref) if isinstance(request, ChangeRequest) else ""
        author = GitIdentity(request.author.name, request.author.email)
        with self.factories.open_tools() as tools:
            context = self._context(state, tools, request)
            for parent_checkout, committed_checkout in await self._checkouts.commits_by(
                state.repository, ref, author, _author_time(request.author)
            ):
                if isinstance(request, ChangeRequest):
                    decision = await _recomputed_decision(context, parent_checkout, committed_checkout, request, ref)
                    if decision is not None:
                        return await self._store_change(state, context, decision, parent_checkout, committed_checkout, request)
                elif edits := await _recomputed_edits(context, parent_checkout, committed_checkout, request):
                    return await self._store_edit(
                        state, context, *await plan_edits(context, parent_checkout, edits), parent_checkout, committed_checkout, request
                    )
        return None

    async def _handle_once(self, request: FileCallRequest) -> ApiModel:
        state = await self._load_state(request.namespace, request.name)
        with self.factories.open_tools() as tools:
            if isinstance(request, ChangeRequest):
                return await self._change(state, request, tools)
            if isinstance(request, EditRequest):
                return await self._edit(state, request, tools)
            ref = effective_ref(state.repository.spec, request.ref)
            checkout = await self._checkout(state.repository, ref)
            if isinstance(request, FilesRequest):
                return await list_files(checkout, request.path)
            context = self._context(state, tools)
            try:
                return await describe_file(context, checkout, request.path, ref)
            except NotFound:
                removal = await describe_removal(context, checkout, request.path, ref) if request.with_removed and checkout else None
                if removal is None:
                    raise
                return removal

    async def _change(self, state: _StoredState, request: ChangeRequest, tools: SyncTools) -> ChangeResponse:
        """Decide a change, and with ``request.base`` commit and store it."""
        check_write(state.repository.spec, request.ref)
        for attempt in range(_ATTEMPTS):
            repository = state.repository
            ref = effective_ref(repository.spec, request.ref)
            checkout = await self._checkout_or_own_branch(repository, ref)
            context = self._context(state, tools, request)
            decision = await decide(context, checkout, request, ref, _generated_suffix)
            # Without a base, the client only asks for the decision.
            if not request.base:
                return await _response(repository, decision, decision.view)
            if request.base != decision.base:
                raise Conflict("the repository or its stored objects have changed: read the file again and repeat the change")
            try:
                committed_checkout = await self._commit(repository, checkout, ref, decision.edits, request.author, commit_message(request))
            except Conflict:
                if attempt == _ATTEMPTS - 1:
                    raise
                # The branch has moved. If only other files changed, the next decision has the same base and is committed on the new head.
                state = await self._load_state(request.namespace, request.name)
                continue
            return await self._store_change(state, context, decision, checkout, committed_checkout, request)
        raise AssertionError("the last attempt returns or raises")

    async def _store_change(
        self,
        state: _StoredState,
        context: ChangeContext,
        decision: ChangeDecision,
        parent_checkout: Checkout | None,
        committed_checkout: Checkout,
        request: ChangeRequest,
    ) -> ChangeResponse:
        """Store a committed change if it is on the repository's own branch, and return the response with any error of the store."""
        repository = state.repository
        view = replace(decision.view, commit=committed_checkout.commit, timestamp=self._clock.now())
        if not effective_ref(repository.spec, request.ref) and repository.spec.sync.enabled:
            try:
                await self._store(state, context, decision.planned_sync, decision.difference, parent_checkout, committed_checkout, request)
            except DashwrightError as error:
                log.warning("change_not_stored", repository=repository.name, reason=error.message)
                view.errors.append(f"{_NOT_STORED_MESSAGE}: {error.message}")
        return await _response(repository, decision, view)

    async def _edit(self, state: _StoredState, request: EditRequest, tools: SyncTools) -> EditResponse:
        """Commit and store an edit, unless it changes nothing or is a dry run."""
        check_write(state.repository.spec, "")
        for attempt in range(_ATTEMPTS):
            repository = state.repository
            checkout = await self._checkout(repository, "")
            context = self._context(state, tools, request)
            edits = await edits_of(context, checkout, request)
            if not edits:
                return EditResponse()
            planned_sync, difference = await plan_edits(context, checkout, edits)
            if request.dry_run:
                return EditResponse()
            try:
                committed_checkout = await self._commit(
                    repository, checkout, "", edits, request.author, edit_commit_message(request, edits)
                )
            except Conflict:
                if attempt == _ATTEMPTS - 1:
                    raise
                state = await self._load_state(request.namespace, request.name)
                continue
            return await self._store_edit(state, context, planned_sync, difference, checkout, committed_checkout, request)
        raise AssertionError("the last attempt returns or raises")

    async def _store_edit(
        self,
        state: _StoredState,
        context: ChangeContext,
        planned_sync: PlannedSync,
        difference: Difference,
        parent_checkout: Checkout | None,
        committed_checkout: Checkout,
        request: EditRequest,
    ) -> EditResponse:
        """Store a committed edit and return the response."""
        try:
            await self._store(state, context, planned_sync, difference, parent_checkout, committed_checkout, request)
        except Conflict as error:
            raise Unavailable(f"{_NOT_STORED_MESSAGE}: {error.message}") from error
        return EditResponse(ref=committed_checkout.commit)

    async def _store(
        self,
        state: _StoredState,
        context: ChangeContext,
        planned_sync: PlannedSync,
        difference: Difference,
        parent_checkout: Checkout | None,
        committed_checkout: Checkout,
        request: ChangeRequest | EditRequest,
    ) -> None:
        """Store the objects of a commit. If another writer stored the repository first, plan again with the newest commit.

        The commit is recorded as stored only if its parent is the stored commit. Otherwise no commit is recorded: the next sync examines
        everything.
        """
        base, newest_checkout = parent_checkout.commit if parent_checkout is not None else "", committed_checkout
        is_new_commit = committed_checkout.commit != base
        # Another writer, such as a sync, may have stored the commit already.
        if is_new_commit and committed_checkout.commit == state.stored_commit.commit:
            return
        for _ in range(_ATTEMPTS):
            # The stored objects are those of the newest commit only if this change is the only difference from the stored commit.
            is_complete = bool(base) and state.stored_commit.commit == base and newest_checkout.commit == committed_checkout.commit
            snapshot = replace(planned_sync.snapshot, commit=newest_checkout.commit if is_complete else "", base_commit=base)
            try:
                await apply_plan(
                    context.sync_job,
                    replace(planned_sync, snapshot=snapshot),
                    context.store,
                    NullReporter(),
                    context.tools.spool,
                    JobProgress(),
                )
            except Overtaken:
                state = await self._load_state(context.repository.namespace, context.repository.name)
                checkout = await self._checkout(state.repository, "")
                # The other writer may have stored the newest commit, which contains the change.
                if checkout is None or (checkout.commit and checkout.commit == state.stored_commit.commit):
                    return
                newest_checkout = checkout
                context = self._context(state, context.tools, request)
                entries = [entry for entry in await newest_checkout.entries() if entry.path in difference.paths]
                difference = Difference(difference.paths, entries, folders=difference.folders & {entry.path for entry in entries})
                planned_sync = await plan_files(context, newest_checkout, difference)
                continue
            return
        raise Conflict(f"other writers changed the repository {_ATTEMPTS} times during the request; try again later")

    async def _load_state(self, namespace: str, name: str) -> _StoredState:
        async with self._database.connection() as connection:
            stored_object = await resources.get(connection, REPOSITORY, namespace, name)
            stored_commit = await repositories.stored_commit(connection, stored_object.uid, generation=stored_object.generation)
        return _StoredState(repository_of(stored_object), stored_commit)

    def _context(self, state: _StoredState, tools: SyncTools, request: ChangeRequest | EditRequest | None = None) -> ChangeContext:
        actor, message = (request.author.uid, request.message) if request is not None else ("", "")
        store = self.factories.open_dry_run_store(state.repository, state.stored_commit.edition, actor, message)
        return ChangeContext(state.repository, store, tools)

    async def _checkout(self, repository: Repository, ref: str) -> SizedCheckout | None:
        """Return the checkout at a ref; see ``Checkouts.at``. Raises Unhealthy if the repository cannot be read."""
        try:
            return await self._checkouts.at(repository, ref)
        except (Forbidden, SourceFailed) as error:
            raise _unhealthy(repository, error) from error

    async def _checkout_or_own_branch(self, repository: Repository, ref: str) -> Checkout | None:
        """Return the checkout of the branch ``ref``, or of the repository's own branch if ``ref`` is empty or does not exist."""
        if not ref:
            return await self._checkout(repository, "")
        try:
            return await self._checkout(repository, ref)
        except NotFound:
            return await self._checkout(repository, "")

    async def _commit(
        self, repository: Repository, checkout: Checkout | None, ref: str, edits: Sequence[Edit], author: CommitAuthor, message: str
    ) -> Checkout:
        """Commit edits on top of ``checkout`` (None: the first commit). Raises Unhealthy if the repository cannot be written."""
        base = checkout.commit if checkout is not None else ""
        try:
            identity, author_time = GitIdentity(author.name, author.email), _author_time(author) if author.at else None
            return await self._checkouts.commit(repository, base, ref, edits, identity, message, author_time)
        except (Forbidden, SourceFailed) as error:
            raise _unhealthy(repository, error) from error


async def _response(repository: Repository, decision: ChangeDecision, view: FileView) -> ChangeResponse:
    wrapper = await asyncio.to_thread(wrap, repository, view)
    return ChangeResponse(base=decision.base, content=decision.content, wrapper=wrapper, touches=decision.touches)


async def _recomputed_decision(
    context: ChangeContext, parent_checkout: Checkout | None, committed_checkout: Checkout, request: ChangeRequest, ref: str
) -> ChangeDecision | None:
    """Return the change, decided again on the parent of ``committed_checkout``; None if ``committed_checkout`` has another content."""
    # On the parent of a commit with another change, the request may be invalid.
    with suppress(BadRequest, Conflict, NotFound):
        decision = await decide(context, parent_checkout, request, ref, _generated_suffix)
        if await files_match(committed_checkout, decision.edits):
            return decision
    return None


async def _recomputed_edits(
    context: ChangeContext, parent_checkout: Checkout | None, committed_checkout: Checkout, request: EditRequest
) -> list[Edit]:
    """Return the edits, made again on the parent of ``committed_checkout``; empty if ``committed_checkout`` has another content."""
    with suppress(BadRequest, Conflict, NotFound):
        edits = await edits_of(context, parent_checkout, request)
        if await files_match(committed_checkout, edits):
            return edits
    return []


def _author_time(author: CommitAuthor) -> datetime:
    return datetime.fromtimestamp(author.at, UTC)


def _is_write(request: FileCallRequest) -> bool:
    """Return whether a request commits. A change without ``base`` is only decided, and its response contains the base to commit it with."""
    return bool(request.base) if isinstance(request, ChangeRequest) else isinstance(request, EditRequest) and not request.dry_run


def _unhealthy(repository: Repository, error: DashwrightError) -> Unhealthy:
    return Unhealthy(f"The repository configuration is not healthy: {error.message}", details={"name": repository.name})


def _generated_suffix() -> str:
    return "".join(secrets.choice(_NAME_CHARACTERS) for _ in range(_SUFFIX_LENGTH))
