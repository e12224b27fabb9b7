"""LISTEN on a connection of its own, which is opened again after a loss."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import NoReturn

import asyncpg
import structlog

from dashwright.common.database.losses import CONNECTING

log = structlog.get_logger()

_FIRST_DELAY, _LAST_DELAY = 0.1, 5.0  # seconds between attempts to connect
_PROBE_EVERY = 15.0  # seconds after which a peer that vanished without closing the connection is noticed

Connect = Callable[[], Awaitable["asyncpg.Connection[asyncpg.Record]"]]


@asynccontextmanager
async def listening(
    connect: Connect,
    channel: str,
    on_notification: Callable[[str], None],
    on_listening: Callable[[], None],
    on_lost: Callable[[], None] = lambda: None,
    *,
    place: str,
) -> AsyncIterator[None]:
    """Listen while the block runs; see ``Database.listen``."""
    task = asyncio.create_task(_keep_listening(connect, channel, on_notification, on_listening, on_lost, place), name=f"listen {channel}")
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
    place: str,
) -> None:
    delay = _FIRST_DELAY
    while True:
        try:
            connection = await connect()
            try:
                await connection.add_listener(channel, lambda _connection, _pid, _channel, payload: on_notification(str(payload)))
                # Also after a failed start of listening: the caller may have missed notifications in any case.
                connection.add_termination_listener(lambda _connection: on_lost())
                delay = _FIRST_DELAY
                on_listening()
                await _until_lost(connection)
            finally:
                on_lost()
                connection.terminate()
        except CONNECTING as error:
            log.warning("listening_lost", channel=channel, database=place, error=str(error), retry_in_seconds=delay)
        await asyncio.sleep(delay)
        delay = min(delay * 2, _LAST_DELAY)


async def _until_lost(connection: "asyncpg.Connection[asyncpg.Record]") -> NoReturn:
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _connection: lost.set())
    while not connection.is_closed():
        with suppress(TimeoutError):
            async with asyncio.timeout(_PROBE_EVERY):
                await lost.wait()
        if not lost.is_set():
            await connection.execute("select 1")
    raise ConnectionResetError("the server closed the connection")
