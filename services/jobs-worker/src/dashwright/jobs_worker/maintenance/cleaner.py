"""Drops what has served its time: finished jobs beyond the history's length, remembered message ids, old changes of the feed."""

from datetime import timedelta

import structlog

from dashwright.common.database.pool import Database
from dashwright.common.stores import changes, evaluations, jobs

log = structlog.get_logger()

_REMEMBER_SUBMISSIONS = timedelta(days=1)


class Cleaner:
    """``history``: finished jobs kept for each repository. ``changes_kept``: how long the feed reaches back."""

    def __init__(self, database: Database, *, history: int, changes_kept: timedelta) -> None:
        self._database = database
        self._history = history
        self._changes_kept = changes_kept

    async def clean(self) -> None:
        """One round."""
        async with self._database.connection() as connection:
            dropped = await jobs.trim(connection, keep=self._history)
            await jobs.forget_submissions(connection, older_than=_REMEMBER_SUBMISSIONS)
            expired = await evaluations.expire(connection)
            await changes.trim(connection, older_than=self._changes_kept)
        if dropped or expired:
            log.info("history_trimmed", jobs=dropped, results=expired)
