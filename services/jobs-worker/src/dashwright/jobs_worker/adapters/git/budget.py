"""The limit on requests of all workers to each git host: the request budget of the host.

Scheduled work leaves a share of the budget to requests of clients, and each organization leaves a share to other organizations. If a host
throttles an organization, only its requests are paused: a bad token or abuse does not affect other organizations.
"""

from datetime import timedelta
from typing import Final

import structlog

from dashwright.common.database.pool import Database
from dashwright.common.errors import TooManyRequests
from dashwright.jobs_worker.stores import git_hosts

log = structlog.get_logger()

_RESERVED_SHARE: Final = 0.25
"""Share of the budget that scheduled work leaves to requests of clients."""

_UNLIMITED: Final = 1e9
_MAX_RETRY_AFTER: Final = git_hosts.MAX_REQUESTED_PAUSE.total_seconds()
"""Limit, in seconds, on the pause that a host requests: it may send any number, and PostgreSQL intervals have a limit."""


class HostBudget:
    """A budget of ``per_minute`` requests to each host, 0 for no limit.

    Scheduled work sets ``leaves_reserve``: its requests then leave a quarter of the budget to requests of clients.
    """

    def __init__(self, database: Database, per_minute: int, *, leaves_reserve: bool = False) -> None:
        self._database = database
        self._limit = float(per_minute) or _UNLIMITED
        self._reserved = self._limit * _RESERVED_SHARE if leaves_reserve and per_minute else 0.0

    async def charge(self, host: str, namespace: str, requests: int) -> None:
        """Count requests that are about to be made. Raises TooManyRequests if they must wait."""
        # With a tiny limit, a command with several requests would otherwise have to wait forever.
        amount = min(float(requests), self._limit)
        async with self._database.connection() as connection:
            wait = await git_hosts.charge(connection, host, namespace, amount, limit=self._limit, min_available=max(amount, self._reserved))
        if wait is None:
            return
        if wait.is_paused:
            raise _paused(host, wait.seconds)
        message = f"the git host {host} is called as often as DASHWRIGHT_HOST_REQUESTS allows; try again later"
        raise TooManyRequests(message, retry_after=wait.seconds)

    async def pause(self, host: str, namespace: str, retry_after: float | None) -> TooManyRequests:
        """Pause an organization's requests to a host, and return the error to raise.

        ``retry_after`` is the pause, in seconds, that the host requested. If it is None, repeated pauses double, up to 15 minutes.
        """
        async with self._database.connection() as connection:
            seconds = await git_hosts.pause(
                connection, host, namespace, None if retry_after is None else timedelta(seconds=min(retry_after, _MAX_RETRY_AFTER))
            )
        log.info("git_host_paused", host=host, namespace=namespace, seconds=seconds)
        return _paused(host, seconds)


def _paused(host: str, seconds: float) -> TooManyRequests:
    return TooManyRequests(f"the git host {host} requests a pause; try again later", retry_after=seconds)
