"""Pool of connections to PostgreSQL. A lost server is reported as ``Unavailable``, and the pool recovers when it returns."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import asyncpg
import asyncpg.pool

from dashwright.common.database.listener import listening
from dashwright.common.database.losses import CONNECTING, QUERYING, busy, is_busy, is_loss, is_refused, lost, place_of, refused, unavailable
from dashwright.common.database.shares import ConnectionShares

#: Connection of the pool, with the methods of ``asyncpg.Connection``.
Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"

_CONNECT_TIMEOUT = 5.0
_CANCEL_ALLOWANCE = 5.0  # seconds for the server to report a statement time-out itself


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits in seconds."""

    acquire: float = 5.0  #: Waiting for a free connection.
    statement: float = 30.0  #: Running one statement.
    lock: float = 5.0  #: Waiting for one lock.
    #: Idling inside a transaction. Ends transactions of frozen or unreachable clients, whose locks the server would
    #: otherwise keep for hours.
    idle: float = 10.0


async def _no_reset(_connection: "asyncpg.Connection[Any]") -> None:
    """Skip asyncpg's reset, and thus a round trip for each use.

    No caller changes the session, and asyncpg itself rolls back open transactions.
    """


class Database:
    """Pool of connections.

    Do no other I/O inside its blocks: a time-out or lost connection there would be taken for one of the database.
    """

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", url: str, options: dict[str, Any], timeouts: Timeouts) -> None:
        self._pool = pool
        self._shares = ConnectionShares(pool.get_max_size(), timeout=timeouts.acquire)
        self._url = url
        self._options = options
        self._timeouts = timeouts
        self._place = place_of(url)

    @classmethod
    async def open(cls, url: str, *, application_name: str, min_size: int = 1, max_size: int = 10, timeouts: Timeouts = Timeouts()) -> Self:
        """Open a pool with ``min_size`` connections. Raises Unavailable, naming host and database, if that fails."""
        options: dict[str, Any] = {
            "timeout": _CONNECT_TIMEOUT,
            # A server that went silent never responds: without a limit on this side the caller would wait forever.
            "command_timeout": timeouts.statement + _CANCEL_ALLOWANCE,
            "server_settings": {
                "application_name": application_name,
                "timezone": "UTC",
                "statement_timeout": str(int(timeouts.statement * 1000)),
                "lock_timeout": str(int(timeouts.lock * 1000)),
                "idle_in_transaction_session_timeout": str(int(timeouts.idle * 1000)),
                # If the planner's estimate is far off, it spends a second on compiling a statement that runs for a millisecond.
                "jit": "off",
            },
        }
        pool = asyncpg.create_pool(url, min_size=min_size, max_size=max_size, reset=_no_reset, **options)
        try:
            await pool
        except CONNECTING as error:
            pool.terminate()
            raise unavailable(place_of(url), error) from error
        return cls(pool, url, options, timeouts)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Yield a connection.

        Raises Unavailable if none is free in time, or if the server is lost or too busy inside the block;
        TooManyRequests if the holder of the current task has too many requests (``shares``). Errors of SQL, such as a
        unique violation, are asyncpg's own.
        """
        async with self._shares.slot(), self._leased() as connection:
            yield connection

    @asynccontextmanager
    async def _leased(self) -> AsyncIterator[Connection]:
        connection = await self._acquire()
        try:
            yield connection
        except QUERYING as error:
            if is_busy(error):
                raise busy(self._place, error) from error
            if is_refused(error):
                raise refused(error) from error
            gone = _is_gone(connection)
            if not is_loss(error, closed=gone):
                raise
            if not gone:
                connection.terminate()
            raise lost(self._place, error) from error
        finally:
            await self._pool.release(connection, timeout=_CANCEL_ALLOWANCE)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Yield a connection inside one transaction. If the commit itself raises Unavailable, its outcome is unknown."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def check(self) -> None:
        """Raise Unavailable unless the server responds to a trivial query."""
        async with self.connection() as connection:
            await connection.execute("select 1")

    def listen(
        self,
        channel: str,
        on_notification: Callable[[str], None],
        on_listening: Callable[[], None],
        on_lost: Callable[[], None] = lambda: None,
    ) -> AbstractAsyncContextManager[None]:
        """Call ``on_notification`` with the payload of each NOTIFY on ``channel`` while the block runs.

        Listening uses a connection of its own, which is opened again after a loss. ``on_listening`` is called each time listening
        begins, including the first: notifications sent before that are not delivered. ``on_lost`` is called when listening ends,
        perhaps more than once: notifications sent after that are not delivered. Callbacks must neither block nor raise.
        """
        return listening(
            lambda: asyncpg.connect(self._url, **self._options), channel, on_notification, on_listening, on_lost, place=self._place
        )

    async def close(self) -> None:
        """Wait for connections in use, at most as long as one statement may take, then close all."""
        try:
            async with asyncio.timeout(self._timeouts.statement):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    async def _acquire(self) -> Connection:
        try:
            async with asyncio.timeout(self._timeouts.acquire):  # the pool's own time-out would start a task for each use
                return await self._pool.acquire()
        except CONNECTING as error:
            raise lost(self._place, error) from error


def _is_gone(connection: Connection) -> bool:
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:  # a closed pool has taken the connection back
        return True
