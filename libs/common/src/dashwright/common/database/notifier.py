"""Notifications about committed changes, sent after the commit.

PostgreSQL commits transactions with a NOTIFY one after the other: each holds a lock of the whole server until its commit is on the
disk. So a transaction only marks its connection with the streams that it changed. Once the connection is released, the notifier
sends one notification for each stream that was marked in the meantime. A lost notification delays watchers until their next poll.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import asyncpg
import structlog

from dashwright.common.errors import DashwrightError

if TYPE_CHECKING:
    from dashwright.common.database.pool import Connection

log = structlog.get_logger()

#: Channel of the notifications. Their payload is the name of a stream.
CHANNEL: Final = "change"

#: With synchronous_commit off, the lock of the server is not held until the disk is written. PostgreSQL does not store notifications.
_NOTIFY: Final = "select set_config('synchronous_commit', 'off', true), pg_notify($1, payload) from unnest($2::text[]) payload"


@dataclass(slots=True)
class ConnectionUse:
    """State of one use of a pooled connection."""

    #: Streams that the transaction has changed.
    changed_streams: set[str] = field(default_factory=set)
    #: Set while a block uses the connection, and cleared only if the block succeeds.
    needs_reset: bool = False


class MarkedConnection(asyncpg.Connection):
    """Connection that stores the state of its present use."""

    __slots__ = ("use",)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.use = ConnectionUse()


def notify_after_commit(connection: "Connection", stream: str) -> None:
    """Notify listeners of changes in a stream (``resource`` or ``job``) after the connection is released."""
    connection.use.changed_streams.add(stream)  # type: ignore[attr-defined]  # a pooled connection passes attributes on


class Notifier:
    """Sender of notifications. Streams that change while a notification is sent are notified together after it."""

    def __init__(self, execute: Callable[..., Awaitable[None]]) -> None:
        self._execute = execute
        self._streams: set[str] = set()
        self._sending: asyncio.Task[None] | None = None

    def send_soon(self, streams: set[str]) -> None:
        """Send notifications in the background, and clear ``streams``."""
        self._streams |= streams
        streams.clear()
        if self._streams and (self._sending is None or self._sending.done()):
            self._sending = asyncio.create_task(self._send(), name="notify-changes")

    async def flush(self) -> None:
        """Wait until everything is sent."""
        if self._sending is not None:
            await asyncio.gather(self._sending, return_exceptions=True)

    async def _send(self) -> None:
        """Send until no changed stream is left."""
        while self._streams:
            payloads, self._streams = sorted(self._streams), set()
            try:
                await self._execute(_NOTIFY, CHANNEL, payloads)
            except DashwrightError as error:
                log.info("changes_not_notified", error=error.message)
