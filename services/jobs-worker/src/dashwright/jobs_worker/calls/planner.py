"""Previews of syncs for callers, of the own branch of a repository or of any other state."""

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
from dashwright.jobs_worker.ports import Checkouts, Revisions, StoredObjects

_SLOTS: Final = 3
_WAITING: Final = 3


class Planner:
    """The planner of syncs. ``open_stored`` and ``open_tools`` construct the adapters of one plan."""

    def __init__(
        self,
        database: Database,
        *,
        checkouts: Checkouts,
        commits: Revisions,
        open_stored: Callable[[Repository], StoredObjects],
        open_tools: Callable[[], AbstractContextManager[SyncTools]],
    ) -> None:
        self._database = database
        self._checkouts = checkouts
        self._commits = commits
        self._open_stored = open_stored
        self._open_tools = open_tools
        self._limiter = FairLimiter(_SLOTS, waiting=_WAITING, subject="plans")

    async def plan(self, repository: Repository, ref: str = "", *, with_items: bool = True) -> SyncPlan:
        """Return what a sync of the repository would do.

        ``ref`` is a branch or a commit, empty for the repository's own branch. Without ``with_items`` the changes are only counted.
        It does not matter whether syncs are enabled. Raises TooManyRequests if too many plans of the organization are under way, and
        what the checkouts raise.
        """
        async with self._limiter.slot(repository.namespace):
            async with self._database.connection() as connection:
                kept = await repositories.stored_commit(connection, uuid.UUID(repository.uid), generation=repository.generation)
                known = {revision.ref for revision in await revisions.list_all(connection, uuid.UUID(repository.uid))}
            open_at = self._commits.at_synced if ref in known else self._checkouts.at
            checkout = await open_at(repository, ref)
            if checkout is None:
                return _sync_plan(Preview([], [], False, []), None, kept.commit)
            with self._open_tools() as tools:
                found = await preview(SyncJob.of(repository), checkout, self._open_stored(repository), tools, with_items=with_items)
            return _sync_plan(found, checkout.commit, kept.commit)


def _sync_plan(found: Preview, ref: str | None, base: str | None) -> SyncPlan:
    return SyncPlan(
        kind="SyncPlan",
        api_version=REPOSITORY.api_version(),
        ref=ref or None,
        base=base,
        summary=found.summary,
        items=found.items,
        truncated=found.is_truncated,
        errors=found.errors or None,
    )
