"""Tells what a sync of a repository would do, of its own branch or of any other state."""

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
from dashwright.jobs_worker.actions.sync import Means, SyncJob
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.ports import Checkouts, Revisions, StoredObjects

_SLOTS: Final = 3
_WAITING: Final = 3


class Planner:
    """``open_stored`` is the adapter's constructor; ``open_means`` lends what a sync works with."""

    def __init__(
        self,
        database: Database,
        *,
        checkouts: Checkouts,
        commits: Revisions,
        open_stored: Callable[[Repository], StoredObjects],
        open_means: Callable[[], AbstractContextManager[Means]],
    ) -> None:
        self._database = database
        self._checkouts = checkouts
        self._commits = commits
        self._open_stored = open_stored
        self._open_means = open_means
        self._limiter = FairLimiter(_SLOTS, waiting=_WAITING, subject="plans")

    async def plan(self, repository: Repository, ref: str = "", *, with_items: bool = True) -> SyncPlan:
        """``ref`` is a branch or a commit, empty for the repository's own branch. Without ``with_items`` it is only counted.

        Whether syncs are enabled does not matter. Raises what ``at``, ``synced`` and their checkouts do, and TooManyRequests where others
        of the organization are looking already.
        """
        async with self._limiter.slot(repository.namespace):
            async with self._database.connection() as connection:
                kept = await repositories.kept(connection, uuid.UUID(repository.uid), generation=repository.generation)
                known = {revision.ref for revision in await revisions.listed(connection, uuid.UUID(repository.uid))}
            opening = self._commits.synced if ref in known else self._checkouts.at
            checkout = await opening(repository, ref)
            if checkout is None:
                return _told(Preview([], [], False, []), None, kept.commit)
            with self._open_means() as means:
                found = await preview(SyncJob.of(repository), checkout, self._open_stored(repository), means, with_items=with_items)
            return _told(found, checkout.commit, kept.commit)


def _told(found: Preview, ref: str | None, base: str | None) -> SyncPlan:
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
