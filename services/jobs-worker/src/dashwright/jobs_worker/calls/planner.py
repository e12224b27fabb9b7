"""Plans of syncs that callers request: of a repository's own branch, or of any other branch or commit."""

import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from dashwright.common.database.pool import Database
from dashwright.common.fair_limiter import FairLimiter
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.models.repository_views import SyncPlan
from dashwright.common.stores import repositories, revisions
from dashwright.jobs_worker.actions.preview import Preview, preview
from dashwright.jobs_worker.actions.sync import SyncJob, SyncTools
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.ports import Checkouts, DocumentStore, SyncedCommits

_SLOTS: Final = 3
"""Plans that one worker makes concurrently."""

_MAX_WAITING: Final = 3
"""Limit on the requests for plans, of all organizations, that wait for a slot of one worker."""


class SyncPlanner:
    """The planner of syncs. ``open_document_store`` and ``open_tools`` construct the adapters of one plan."""

    def __init__(
        self,
        database: Database,
        *,
        checkouts: Checkouts,
        synced_commits: SyncedCommits,
        open_document_store: Callable[[Repository], DocumentStore],
        open_tools: Callable[[], AbstractContextManager[SyncTools]],
    ) -> None:
        self._database = database
        self._checkouts = checkouts
        self._synced_commits = synced_commits
        self._open_document_store = open_document_store
        self._open_tools = open_tools
        self._limiter = FairLimiter(_SLOTS, waiting=_MAX_WAITING, subject="plans")

    async def plan(self, repository: Repository, ref: str = "", *, with_items: bool = True) -> SyncPlan:
        """Return the changes that a sync of the repository would make.

        ``ref`` is a branch or a commit, empty for the repository's own branch. Without ``with_items``, the changes are
        only counted. Syncs need not be enabled. Raises TooManyRequests if too many plans of the organization are
        computed concurrently, and the errors of ``Checkouts.at`` and ``preview``.
        """
        async with self._limiter.slot(repository.namespace):
            async with self._database.connection() as connection:
                stored_commit = await repositories.stored_commit(connection, uuid.UUID(repository.uid), generation=repository.generation)
                kept_commits = {revision.ref for revision in await revisions.list_all(connection, uuid.UUID(repository.uid))}
            # A commit that was synced before can be planned even if no branch contains it any more.
            open_at = self._synced_commits.at_synced if ref in kept_commits else self._checkouts.at
            checkout = await open_at(repository, ref)
            # A repository without commits.
            if checkout is None:
                return _sync_plan(Preview(summary=[], items=[], is_truncated=False, errors=[]), None, stored_commit.commit)
            with self._open_tools() as tools:
                sync_preview = await preview(
                    SyncJob.from_repository(repository), checkout, self._open_document_store(repository), tools, with_items=with_items
                )
            return _sync_plan(sync_preview, checkout.commit, stored_commit.commit)


def _sync_plan(sync_preview: Preview, commit: str | None, stored_commit: str | None) -> SyncPlan:
    """Return the preview of a sync from ``stored_commit`` to ``commit`` in the form of the API."""
    return SyncPlan(
        kind="SyncPlan",
        api_version=REPOSITORY.api_version(),
        ref=commit or None,
        base=stored_commit,
        summary=sync_preview.summary,
        items=sync_preview.items,
        truncated=sync_preview.is_truncated,
        errors=sync_preview.errors or None,
    )
