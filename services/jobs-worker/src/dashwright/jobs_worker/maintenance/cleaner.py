"""Cleaners: expired rows of the database, and copies of deleted repositories on this worker's disk.

Rows are finished jobs beyond the history, expired evaluations, message ids, empty queues of jobs, old changes and generations, old
trash and pictures.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Final

import structlog

from dashwright.common.database.pool import Database
from dashwright.common.stores import accepted_messages, changes, evaluations, histories, job_queues, jobs, pictures, repositories
from dashwright.jobs_worker.ports import MirrorStore
from dashwright.jobs_worker.stores import git_hosts

log = structlog.get_logger()

#: Time after the end of a job of a deleted repository in which the reason of its end can be read.
_ORPHAN_RETENTION: Final = timedelta(days=1)
#: Time in which a redelivered message is recognized by its id, and creates no second job.
_MESSAGE_ID_RETENTION = timedelta(days=1)
_EXPIRED_NAME_RETENTION = timedelta(days=7)
_PICTURE_RETENTION = timedelta(days=30)
_HOST_BUDGET_RETENTION: Final = timedelta(hours=1)
#: Maximum number of rows that one transaction deletes, since it holds the locks of the organizations of deleted jobs.
_BATCH_SIZE: Final = 500


class Cleaner:
    """Cleaner of expired rows of the database.

    Arguments:

    - ``history``: finished jobs kept of each action and repository;
    - ``versions``: newest generations kept of each object;
    - ``results``: time that an evaluation without a result is kept; an evaluation with a result is deleted when the result expires;
    - ``changes``: time that watches can resume from a change;
    - ``trash``: time that deleted objects can be restored.
    """

    def __init__(
        self, database: Database, *, history: int, versions: int, results: timedelta, changes: timedelta, trash: timedelta
    ) -> None:
        self._database = database
        self._history = history
        self._versions = versions
        self._results = results
        self._changes = changes
        self._trash = trash

    async def clean(self) -> None:
        """Delete the rows that have expired by now."""
        deleted_jobs = await self._delete(partial(jobs.trim, keep=self._history, orphan_retention=_ORPHAN_RETENTION))
        await self._delete(partial(accepted_messages.delete_old, older_than=_MESSAGE_ID_RETENTION))
        expired_evaluations = await self._delete(partial(evaluations.delete_expired, retention=self._results))
        await self._delete(partial(evaluations.delete_expired_names, older_than=_EXPIRED_NAME_RETENTION))
        await self._delete(partial(pictures.expire, older_than=_PICTURE_RETENTION))
        await self._delete(job_queues.delete_empty)
        deleted_generations, has_more = 0, True
        while has_more:
            async with self._database.transaction() as connection:
                changed_uids, has_more = await changes.trim(connection, older_than=self._changes)
                deleted_generations += await histories.trim(connection, changed_uids, keep=self._versions)
        trashed_objects = await self._delete(partial(histories.empty_trash, older_than=self._trash))
        counts = {"jobs": deleted_jobs, "evaluations": expired_evaluations, "generations": deleted_generations, "trash": trashed_objects}
        if any(counts.values()):
            log.info("history_trimmed", **counts)

    async def _delete(self, delete: Callable[..., Awaitable[int]]) -> int:
        """Delete all rows that ``delete`` finds, in transactions of bounded length, and return their number."""
        total, count = 0, _BATCH_SIZE
        while count >= _BATCH_SIZE:
            async with self._database.transaction() as connection:
                count = await delete(connection, limit=_BATCH_SIZE)
            total += count
        return total


class CopyCleaner:
    """Cleaner of this worker's mirrors of deleted repositories, and of budgets of git hosts that receive no more requests."""

    def __init__(self, database: Database, mirrors: MirrorStore) -> None:
        self._database = database
        self._mirrors = mirrors

    async def clean(self) -> None:
        """Delete the mirrors of repositories that are deleted by now, and the unused budgets."""
        async with self._database.connection() as connection:
            existing_uids = await repositories.list_uids(connection)
            await git_hosts.delete_unused(connection, older_than=_HOST_BUDGET_RETENTION)
        if deleted_count := await self._mirrors.keep_only(existing_uids):
            log.info("copies_dropped", repositories=deleted_count)
