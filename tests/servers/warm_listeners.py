"""Connections for notifications that outlive tests. A gateway opens two, which cost more processor time than the rest of its start."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final

import asyncpg

from dashwright.common.database.listener import listening
from dashwright.common.database.pool import Database

_RESET_SECONDS: Final = 5.0


class _WarmConnection(asyncpg.Connection):
    """Connection that its listener returns to ``free``, instead of closing it, unless the test has ended."""

    __slots__ = ("free",)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.free: list[_WarmConnection] | None = None

    def terminate(self) -> None:
        """Return the connection to ``free``, or close it if it cannot be used again."""
        # A connection with a cancelled statement would have to wait for a task, which ends with the test.
        is_reusable = not self.is_closed() and not self._cancellations  # type: ignore[attr-defined]
        if self.free is not None and is_reusable:
            self.free.append(self)
            self.free = None
        else:
            super().terminate()


class WarmListeners:
    """Connections to the database of ``lending_database``, which a listener borrows after another one has returned them."""

    def __init__(self, lending_database: Database) -> None:
        self._lending_database = lending_database
        self._free: list[_WarmConnection] = []
        self._borrowed: list[_WarmConnection] = []

    async def borrow(self) -> _WarmConnection:
        """Return a connection without listeners."""
        while self._free:
            connection = self._free.pop()
            if await _reset(connection):
                break
        else:
            connection = await self._connect()
        connection.free = self._free
        self._borrowed.append(connection)
        return connection

    def end_test(self) -> None:
        """Let each listener that has not ended yet close its connection."""
        for connection in self._borrowed:
            connection.free = None
        self._borrowed.clear()

    def terminate(self) -> None:
        """Close the connections that are not in use."""
        for connection in self._free:
            connection.terminate()

    async def _connect(self) -> _WarmConnection:
        """Open a connection with the options of the pool."""
        connection: _WarmConnection = await asyncpg.connect(
            self._lending_database._url, connection_class=_WarmConnection, **self._lending_database._options
        )
        return connection


async def _reset(connection: _WarmConnection) -> bool:
    """Remove the listeners of a connection, and return whether that succeeded. Otherwise the connection is closed."""
    is_reset = False
    connection._termination_listeners.clear()  # type: ignore[attr-defined]
    try:
        with suppress(TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            await connection.reset(timeout=_RESET_SECONDS)
            is_reset = True
    finally:  # also if the task is cancelled
        if not is_reset:
            connection.terminate()
    return is_reset


class ListeningDatabase(Database):
    """A database over the pool of ``lending_database``, whose listeners borrow their connections."""

    def __init__(self, lending_database: Database, listeners: WarmListeners) -> None:
        super().__init__(lending_database._pool, lending_database._url, lending_database._options, lending_database._timeouts)
        self._listeners = listeners

    def listen(
        self,
        channel: str,
        on_notification: Callable[[str], None],
        on_listening: Callable[[], None],
        on_lost: Callable[[], None] = lambda: None,
    ) -> AbstractAsyncContextManager[None]:
        """Listen like a database, on a borrowed connection."""
        return listening(self._listeners.borrow, channel, on_notification, on_listening, on_lost, database=self._label)
