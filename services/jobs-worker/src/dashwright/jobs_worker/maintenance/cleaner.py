"""Cleaners: expired rows of the database, and copies of deleted repositories on this worker's disk.

Rows are finished jobs beyond the history, expired evaluations, message ids, old changes and generations, old trash and pictures.
"""

from datetime import timedelta
from typing import Final

import structlog

from dashwright.common.database.pool import Database
from dashwright.common.stores import accepted, changes, evaluations, histories, jobs, pictures, repositories
from dashwright.jobs_worker.ports import Copies
from dashwright.jobs_worker.stores import git_hosts

log = structlog.get_logger()

_REMEMBER_SUBMISSIONS = timedelta(days=1)
_REMEMBER_EXPIRED = timedelta(days=7)
_KEEP_PICTURES = timedelta(days=30)
_KEEP_HOSTS: Final = timedelta(hours=1)


class Cleaner:
    """Deletes expired rows of the database.

    Arguments:

    - ``history``: finished jobs kept of each action and repository;
    - ``versions``: newest generations kept of each object;
    - ``results``: time that an evaluation without a result is kept; others are deleted when their results expire;
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
        """Do one round."""
        async with self._database.connection() as connection:
            dropped = await jobs.trim(connection, keep=self._history)
            await accepted.forget(connection, older_than=_REMEMBER_SUBMISSIONS)
            expired = await evaluations.expire(connection, keep=self._results)
            await evaluations.forget_expired(connection, older_than=_REMEMBER_EXPIRED)
            await pictures.expire(connection, older_than=_KEEP_PICTURES)
        generations, is_more = 0, True
        while is_more:
            async with self._database.transaction() as connection:
                changed, is_more = await changes.trim(connection, older_than=self._changes)
                generations += await histories.trim(connection, changed, keep=self._versions)
        async with self._database.transaction() as connection:
            generations += await histories.empty_trash(connection, older_than=self._trash)
        if dropped or expired or generations:
            log.info("history_trimmed", jobs=dropped, evaluations=expired, generations=generations)


class CopyCleaner:
    """Drops this worker's copies of repositories that were deleted, and the budgets of git hosts that are no longer asked."""

    def __init__(self, database: Database, copies: Copies) -> None:
        self._database = database
        self._copies = copies

    async def clean(self) -> None:
        """Do one round."""
        async with self._database.connection() as connection:
            known = await repositories.list_uids(connection)
            await git_hosts.forget(connection, older_than=_KEEP_HOSTS)
        if dropped := await self._copies.keep_only(known):
            log.info("copies_dropped", repositories=dropped)
