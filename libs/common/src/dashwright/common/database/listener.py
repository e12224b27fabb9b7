"""Reception of PostgreSQL notifications on a connection of its own, which is opened again after a loss."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import NoReturn

import asyncpg
import structlog

from dashwright.common.database.errors import CONNECT_ERRORS

log = structlog.get_logger()

#: Limits of the delay between two attempts to connect, which doubles each time.
_MIN_DELAY_SECONDS, _MAX_DELAY_SECONDS = 0.1, 5.0
#: A server that disappeared without closing the connection is detected after this time.
_PROBE_INTERVAL_SECONDS = 15.0

Connect = Callable[[], Awaitable["asyncpg.Connection[asyncpg.Record]"]]


@asynccontextmanager
async def listening(
    connect: Connect,
    channel: str,
    on_notification: Callable[[str], None],
    on_listening: Callable[[], None],
    on_lost: Callable[[], None] = lambda: None,
    *,
    database: str,
) -> AsyncIterator[None]:
    """Listen while the block runs, as ``Database.listen`` describes. ``database`` names the database in logs."""
    task = asyncio.create_task(
        _keep_listening(connect, channel, on_notification, on_listening, on_lost, database), name=f"listen {channel}"
    )
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _keep_listening(
    connect: Connect,
    channel: str,
    on_notification: Callable[[str], None],
    on_listening: Callable[[], None],
    on_lost: Callable[[], None],
    database: str,
) -> None:
    """Connect and listen until the task is cancelled, again after each loss."""
    delay = _MIN_DELAY_SECONDS
    while True:
        try:
            connection = await connect()
            try:
                await connection.add_listener(channel, lambda _connection, _pid, _channel, payload: on_notification(str(payload)))
                connection.add_termination_listener(lambda _connection: on_lost())
                delay = _MIN_DELAY_SECONDS
                on_listening()
                await _until_lost(connection)
            finally:
                # Even if listening could not begin: without a listener, notifications are missed.
                on_lost()
                connection.terminate()
        except CONNECT_ERRORS as error:
            log.warning("listening_lost", channel=channel, database=database, error=str(error), retry_in_seconds=delay)
        await asyncio.sleep(delay)
        delay = min(delay * 2, _MAX_DELAY_SECONDS)


async def _until_lost(connection: "asyncpg.Connection[asyncpg.Record]") -> NoReturn:
    """Wait until the connection is lost, and raise an error of ``CONNECT_ERRORS``."""
    terminated = asyncio.Event()
    connection.add_termination_listener(lambda _connection: terminated.set())
    while not connection.is_closed():
        with suppress(TimeoutError):
            async with asyncio.timeout(_PROBE_INTERVAL_SECONDS):
                await terminated.wait()
        if not terminated.is_set():
            await connection.execute("select 1")
    raise ConnectionResetError("the server closed the connection")
