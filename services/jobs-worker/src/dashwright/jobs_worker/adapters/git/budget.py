"""The request budget of git hosts, shared by all workers.

Scheduled work leaves a share to work that clients wait for, and each organization leaves a share to the others. A host that asks for fewer
requests is paused only for the organization it asked: others are not affected by a bad token or abuse.
"""

from datetime import timedelta
from typing import Final

import structlog

from dashwright.common.database.pool import Database
from dashwright.common.errors import TooManyRequests
from dashwright.jobs_worker.stores import git_hosts

log = structlog.get_logger()

_KEPT: Final = 0.25
_UNLIMITED: Final = 1e9
_LONGEST_WISH: Final = git_hosts.LONGEST_WISH.total_seconds()
"""A host may send a number of any length, and intervals have a limit."""


class HostBudget:
    """A budget of ``per_minute`` requests to one host, 0 for no limit. With ``yields`` a quarter of them is left to others."""

    def __init__(self, database: Database, per_minute: int, *, yields: bool = False) -> None:
        self._database = database
        self._most = float(per_minute) or _UNLIMITED
        self._kept = self._most * _KEPT if yields and per_minute else 0.0

    async def take(self, host: str, namespace: str, requests: int) -> None:
        """Count requests that are about to be made. Raises TooManyRequests if they must wait."""
        amount = min(float(requests), self._most)
        async with self._database.connection() as connection:
            wait = await git_hosts.take(connection, host, namespace, amount, most=self._most, at_least=max(amount, self._kept))
        if wait is None:
            return
        if wait.is_paused:
            raise _paused(host, wait.seconds)
        text = f"the git host {host} is called as often as DASHWRIGHT_HOST_REQUESTS allows; try again later"
        raise TooManyRequests(text, retry_after=wait.seconds)

    async def pause(self, host: str, namespace: str, retry_after: float | None) -> TooManyRequests:
        """Pause an organization's requests to a host, for ``retry_after`` seconds if the host says so, and return the error to raise."""
        async with self._database.connection() as connection:
            seconds = await git_hosts.pause(
                connection, host, namespace, None if retry_after is None else timedelta(seconds=min(retry_after, _LONGEST_WISH))
            )
        log.info("git_host_paused", host=host, namespace=namespace, seconds=seconds)
        return _paused(host, seconds)


def _paused(host: str, seconds: float) -> TooManyRequests:
    return TooManyRequests(f"the git host {host} asks for fewer requests and is paused for a while", retry_after=seconds)
