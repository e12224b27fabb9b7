"""The pool of connections to PostgreSQL. A lost server is one error, ``Unavailable``, and the pool heals when it returns."""

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

Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
"""A connection of the pool; offers what ``asyncpg.Connection`` does."""

_CONNECT_TIMEOUT = 5.0
_CANCEL_ALLOWANCE = 5.0  # seconds the server has to say itself that a statement took too long


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits in seconds: waiting for a free connection, running one statement, waiting for one lock, idling within a transaction.

    The last one takes the locks of a client that froze or cannot be reached any more, which the server would keep for hours.
    """

    acquire: float = 5.0
    statement: float = 30.0
    lock: float = 5.0
    idle: float = 10.0


async def _leave_as_it_is(_connection: "asyncpg.Connection[Any]") -> None:
    """Spares a round trip for each loan: no borrower changes the session, and asyncpg itself rolls back what was left open."""


class Database:
    """One pool. Do no other I/O inside its blocks: a time-out or a lost connection there counts as the database's."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", url: str, options: dict[str, Any], timeouts: Timeouts) -> None:
        self._pool = pool
        self._shares = ConnectionShares(pool.get_max_size(), seconds=timeouts.acquire)
        self._url = url
        self._options = options
        self._timeouts = timeouts
        self._place = place_of(url)

    @classmethod
    async def open(cls, url: str, *, application_name: str, min_size: int = 1, max_size: int = 10, timeouts: Timeouts = Timeouts()) -> Self:
        """Connects ``min_size`` times. Raises Unavailable, naming host and database, where that fails."""
        options: dict[str, Any] = {
            "timeout": _CONNECT_TIMEOUT,
            # A server that went silent never answers: without a limit of our own a caller would wait for ever.
            "command_timeout": timeouts.statement + _CANCEL_ALLOWANCE,
            "server_settings": {
                "application_name": application_name,
                "timezone": "UTC",
                "statement_timeout": str(int(timeouts.statement * 1000)),
                "lock_timeout": str(int(timeouts.lock * 1000)),
                "idle_in_transaction_session_timeout": str(int(timeouts.idle * 1000)),
                # Where the planner's estimate is far off, compiling a statement takes a second, and running it a millisecond.
                "jit": "off",
            },
        }
        pool = asyncpg.create_pool(url, min_size=min_size, max_size=max_size, reset=_leave_as_it_is, **options)
        try:
            await pool
        except CONNECTING as error:
            pool.terminate()
            raise unavailable(place_of(url), error) from error
        return cls(pool, url, options, timeouts)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Lends a connection. Raises Unavailable when none is free in time, or when the server goes away inside the block or is too busy.

        Raises TooManyRequests where the holder of the current task has too many requests in hand (``shares``). Errors of SQL (a unique
        violation) pass as asyncpg's own.
        """
        async with self._shares.turn(), self._lent() as connection:
            yield connection

    @asynccontextmanager
    async def _lent(self) -> AsyncIterator[Connection]:
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
        """Lends a connection inside one transaction. Unavailable may come from the commit itself: then its outcome is unknown."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def check(self) -> None:
        """Raises Unavailable unless the server answers a trivial query."""
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
        """Waits for connections in use to come back, for as long as one statement may take, then closes all."""
        try:
            async with asyncio.timeout(self._timeouts.statement):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    async def _acquire(self) -> Connection:
        try:
            async with asyncio.timeout(self._timeouts.acquire):  # the pool's own time-out starts a task for each loan
                return await self._pool.acquire()
        except CONNECTING as error:
            raise lost(self._place, error) from error


def _is_gone(connection: Connection) -> bool:
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:  # the pool took it back when it closed
        return True
