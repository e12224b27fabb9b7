"""Pool of connections to PostgreSQL. A lost server is reported as ``Unavailable``, and the pool recovers when it returns.

Connections are shared fairly, so that the requests of one caller do not delay those of others.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Self, TypeAlias

import asyncpg
import asyncpg.pool

from dashwright.common.database import errors
from dashwright.common.database.errors import CONNECT_ERRORS, QUERY_ERRORS
from dashwright.common.database.listener import listening
from dashwright.common.database.notifier import ConnectionUse, MarkedConnection, Notifier
from dashwright.common.fair_limiter import FairLimiter

#: Connection of the pool, with the methods of ``asyncpg.Connection``.
Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"

_CONNECT_TIMEOUT_SECONDS = 5.0
#: Time after the statement timeout in which the server can still report that it has cancelled the statement.
_CANCEL_ALLOWANCE_SECONDS = 5.0
#: Maximum number of tasks that wait for a connection.
_MAX_WAITERS: Final = 10_000

_holder: ContextVar[Hashable | None] = ContextVar("holder of database connections", default=None)


def set_connection_holder(holder: Hashable) -> None:
    """Assign the connections of the current task, and of tasks that it starts later, to the share of ``holder``.

    Any hashable value identifies a holder: tasks with equal values share their connections.
    """
    _holder.set(holder)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts of a pool, in seconds."""

    acquire: float = 5.0  #: For waiting for a free connection.
    statement: float = 30.0  #: For running one statement.
    lock: float = 5.0  #: For waiting for one lock.
    #: For idling inside a transaction. It ends transactions of frozen or unreachable clients, whose locks the server would
    #: otherwise keep for hours.
    idle: float = 10.0


async def _reset(connection: "asyncpg.Connection[Any]") -> None:
    """End the transaction that the server may have begun implicitly if the last use of a connection failed.

    Between preparing and executing a statement, asyncpg sends no Sync message. A caller that is cancelled there leaves the server
    in a transaction that asyncpg does not know of. Any query ends that transaction. Nothing else needs a reset, which would
    take a round trip for each use: no caller changes the session, and asyncpg itself rolls back transactions.
    """
    use: ConnectionUse = connection.use  # type: ignore[attr-defined]  # see MarkedConnection
    if use.needs_reset:
        use.needs_reset = False
        await connection.execute("select 1")


class _ConnectionShares:
    """Shares of a pool of ``size`` connections. A task waits for a connection at most ``timeout`` seconds.

    Half of the pool is reserved for holders that have no connection yet. Tasks without a holder, such as probes and logins,
    are not limited; one connection is reserved for them. A task's second connection is not limited either: tasks that wait
    for each other's connections would be blocked until the timeout.
    """

    def __init__(self, size: int, *, timeout: float) -> None:
        slots = max(1, size - 1)
        self._limiter = FairLimiter(slots, waiting=_MAX_WAITERS, reserve=slots // 2, seconds=timeout, subject="requests to the database")

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait until the holder of the current task may use another connection, and reserve it for the block.

        Raises TooManyRequests at the timeout.
        """
        holder = _holder.get()
        if holder is None:
            yield
            return
        async with self._limiter.slot(holder):
            # Without a holder, a second connection of this task is not limited.
            _holder.set(None)
            try:
                yield
            finally:
                _holder.set(holder)


class Database:
    """Pool of connections.

    Do no other I/O in the blocks of ``connection`` and ``transaction``: its time-outs and lost connections would be reported as
    those of the database.
    """

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", url: str, options: dict[str, Any], timeouts: Timeouts) -> None:
        self._pool = pool
        self._shares = _ConnectionShares(pool.get_max_size(), timeout=timeouts.acquire)
        self._url = url
        self._options = options
        self._timeouts = timeouts
        self._label = errors.database_label(url)
        self._notifier = Notifier(self._execute_unshared)

    @classmethod
    async def open(cls, url: str, *, application_name: str, min_size: int = 1, max_size: int = 10, timeouts: Timeouts = Timeouts()) -> Self:
        """Open a pool with ``min_size`` connections. Raises Unavailable, naming host and database, if that fails."""
        options: dict[str, Any] = {
            "timeout": _CONNECT_TIMEOUT_SECONDS,
            # A server that went silent never responds: without a limit on this side the caller would wait forever.
            "command_timeout": timeouts.statement + _CANCEL_ALLOWANCE_SECONDS,
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
        pool = asyncpg.create_pool(url, min_size=min_size, max_size=max_size, reset=_reset, connection_class=MarkedConnection, **options)
        try:
            await pool
        except CONNECT_ERRORS as error:
            pool.terminate()
            raise errors.unreachable_error(errors.database_label(url), error) from error
        return cls(pool, url, options, timeouts)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Yield a connection.

        Raises Unavailable if no connection is free in time, or if the server is lost or too busy inside the block;
        TooManyRequests if the holder of the current task has too many requests. Errors of SQL, such as a
        unique violation, are asyncpg's own.
        """
        async with self._shares.slot(), self._pooled_connection() as connection:
            yield connection

    @asynccontextmanager
    async def _pooled_connection(self) -> AsyncIterator[Connection]:
        """Yield a connection, regardless of shares. Convert the errors of the block, and send the notifications of its changes."""
        connection = await self._acquire()
        # Read now, since the attributes of a closed connection are not accessible.
        use: ConnectionUse = connection.use  # type: ignore[attr-defined]  # see MarkedConnection
        use.needs_reset = True
        try:
            yield connection
            use.needs_reset = False
            if use.changed_streams:
                self._notifier.send_soon(use.changed_streams)
        except QUERY_ERRORS as error:
            if errors.is_busy(error):
                raise errors.busy_error(self._label, error) from error
            if errors.is_full(error):
                raise errors.full_error(self._label, error) from error
            if errors.is_unstorable(error):
                raise errors.unstorable_error(error) from error
            is_closed = _is_closed(connection)
            if not errors.is_connection_loss(error, closed=is_closed):
                raise
            if not is_closed:
                connection.terminate()
            raise errors.connection_lost_error(self._label, error) from error
        finally:
            use.changed_streams.clear()
            # If the server is lost while the connection is reset, the pool has closed the connection. The error of the block counts.
            with suppress(*QUERY_ERRORS):
                await self._pool.release(connection, timeout=_CANCEL_ALLOWANCE_SECONDS)

    async def _execute_unshared(self, query: str, *values: Any) -> None:
        """Execute a statement whose connection does not count in the share of any holder."""
        async with self._pooled_connection() as connection:
            await connection.execute(query, *values)

    @asynccontextmanager
    async def transaction(self, *, dry_run: bool = False) -> AsyncIterator[Connection]:
        """Yield a connection inside one transaction. If the commit itself raises Unavailable, its outcome is unknown.

        A dry run is rolled back, so that it stores nothing and sends no notifications.
        """
        async with self.connection() as connection:
            if not dry_run:
                async with connection.transaction():
                    yield connection
                return
            transaction = connection.transaction()
            await transaction.start()
            try:
                yield connection
            finally:
                await transaction.rollback()

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
            lambda: asyncpg.connect(self._url, **self._options), channel, on_notification, on_listening, on_lost, database=self._label
        )

    async def close(self) -> None:
        """Wait for connections in use, at most as long as one statement may take, then close all."""
        try:
            async with asyncio.timeout(self._timeouts.statement):
                await self._notifier.flush()
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    async def _acquire(self) -> Connection:
        """Return a free connection of the pool. Raises Unavailable at the timeout, or if the server is lost."""
        try:
            async with asyncio.timeout(self._timeouts.acquire):  # the pool's own time-out would start a task for each use
                return await self._pool.acquire()
        except CONNECT_ERRORS as error:
            raise errors.connection_lost_error(self._label, error) from error


def _is_closed(connection: Connection) -> bool:
    """Return whether a connection is closed."""
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:  # a closed pool has taken the connection back
        return True
