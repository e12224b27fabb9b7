"""The cleaner of dead letters that are too old, or too many."""

from datetime import datetime, timedelta
from typing import Final

import structlog

from dashwright.api.stores import dead_letters, keys
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database

log = structlog.get_logger()

CLEAN_INTERVAL_SECONDS: Final = 60.0
_BATCH_SIZE: Final = 1000
"""Limit on the old letters, and on the surplus letters, that one transaction deletes."""


class DeadLetterCleaner:
    """The cleaner of dead letters. Only one gateway cleans at a time."""

    def __init__(self, database: Database, clock: Clock, *, days: int, keep: int) -> None:
        """Create the cleaner.

        It keeps letters for ``days`` (0: without a limit of time), and at most ``keep`` letters of each organization.
        """
        self._database = database
        self._clock = clock
        self._days = days
        self._keep = keep

    async def clean(self) -> None:
        """Delete the letters that are too old or too many, in transactions of bounded length."""
        older_than = self._clock.now() - timedelta(days=self._days) if self._days else None
        # A batch below the limit shows that none of the remaining letters is old or surplus.
        while await self._delete_batch(older_than) >= _BATCH_SIZE:
            pass

    async def _delete_batch(self, older_than: datetime | None) -> int:
        """Delete a batch of letters, and return how many. Returns 0 if another gateway is cleaning."""
        async with self._database.transaction() as connection:
            is_only_cleaner = await keys.lock_cleanup(connection)
            if not is_only_cleaner:
                return 0
            count = 0 if older_than is None else await dead_letters.delete_old(connection, older_than, limit=_BATCH_SIZE)
            count += await dead_letters.delete_surplus(connection, keep=self._keep, limit=_BATCH_SIZE)
        if count:
            log.info("dead_letters_dropped", letters=count)
        return count
