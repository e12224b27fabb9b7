"""Drops the copies of repositories that are gone: what they hold is nobody's to see any more. And hosts that nobody asks any more."""

from datetime import timedelta
from typing import Final

import structlog

from dashwright.common.database.pool import Database
from dashwright.common.stores import repositories
from dashwright.jobs_worker.ports import Copies
from dashwright.jobs_worker.stores import git_hosts

log = structlog.get_logger()

_UNASKED: Final = timedelta(hours=1)


class Tidier:
    """Of this worker's own folder."""

    def __init__(self, database: Database, copies: Copies) -> None:
        self._database = database
        self._copies = copies

    async def tidy(self) -> None:
        """One round."""
        async with self._database.connection() as connection:
            known = await repositories.uids(connection)
            await git_hosts.forget(connection, older_than=_UNASKED)
        if dropped := await self._copies.keep_only(known):
            log.info("copies_dropped", repositories=dropped)
