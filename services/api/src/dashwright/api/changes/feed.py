"""The change feed of one gateway process: the streams of objects and jobs, their watches, and callbacks for changed access."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from typing import Final

import structlog

from dashwright.api.changes.cursor import Cursor
from dashwright.api.changes.stream import ChangeStream
from dashwright.api.changes.timers import WatchTimers
from dashwright.api.changes.watchers import WatchersByIdentity
from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError
from dashwright.common.identity import Identity
from dashwright.common.kinds.kind import Kind
from dashwright.common.observability import metrics
from dashwright.common.stores.changes import StreamName, stream_of

log = structlog.get_logger()

_CHANNEL: Final = "change"
_ACCESS: Final = "access:"
_STREAM_NAMES: Final = {"resource": StreamName.OBJECTS, "job": StreamName.JOBS}

_POLL_LISTENING, _POLL_DEAF = 5.0, 1.0
"""Seconds between two polls: a notification may be lost, and none arrives while the connection is down."""

_BATCH_SECONDS: Final = 0.01
"""Seconds to wait after a notification, so that a burst of changes is read in one batch."""

_RETRY_SECONDS: Final = 1.0


class Feed:
    """A follower of the change feed: it reads changes from the database and wakes the watches that they concern.

    A notification only triggers a read and contains no changes. While ``is_listening`` is false, caches that rely on the feed for
    invalidation must not be used.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._access_callbacks: list[Callable[[str | None], None]] = []
        self._streams = {stream_name: ChangeStream(database, stream_name) for stream_name in StreamName}
        self._timers = WatchTimers()
        self._watchers = WatchersByIdentity()
        self._running = AsyncExitStack()
        self._count = 0
        self.is_listening = False
        self.epoch = 0  #: Incremented whenever something changes that may affect which objects a caller sees.

    @property
    def watchers(self) -> int:
        """The number of open watches."""
        return self._count

    def watches_of(self, caller: Identity) -> int:
        """Return the number of the caller's open watches."""
        return self._watchers.count(caller.uid)

    def on_access(self, callback: Callable[[str | None], None]) -> None:
        """Call ``callback`` with each namespace whose folders or access rules changed, or with None if the namespaces are unknown."""
        self._access_callbacks.append(callback)

    def forget(self, subject: str) -> None:
        """End the watches of callers whose rights may have changed: ``user:5``, ``key:7``, ``org:2`` or ``all``."""
        self._watchers.relist(subject)

    def watch(self, kind: Kind, namespace: str, name: str | None, caller: Identity, *, seconds: float, bookmarks: bool) -> Cursor:
        """Return a cursor for a watch of ``seconds``. Call ``leave`` with it at the end of the watch."""
        cursor = self._streams[stream_of(kind)].join(kind, namespace, name, caller)
        self._timers.add(cursor, seconds=seconds, bookmarks=bookmarks)
        self._watchers.add(cursor)
        self._count += 1
        metrics.watches.set(self._count)
        return cursor

    def leave(self, cursor: Cursor) -> None:
        """Remove a watch."""
        self._count -= 1
        metrics.watches.set(self._count)
        self._watchers.remove(cursor)
        self._timers.remove(cursor)
        cursor.close()

    async def start(self) -> None:
        """Start listening for notifications and reading changes."""
        listener = self._database.listen(_CHANNEL, self._on_notification, self._on_listening, self._on_lost)
        await self._running.enter_async_context(listener)
        for stream in self._streams.values():
            task = asyncio.create_task(self._follow(stream), name=f"changes of {stream.stream_name.name.lower()}")
            self._running.push_async_callback(_finished, task)
            self._running.callback(task.cancel)

    async def stop(self) -> None:
        """Stop reading changes. The HTTP server ends the responses of watches."""
        self._timers.close()
        await self._running.aclose()

    async def _follow(self, stream: ChangeStream) -> None:
        while True:
            await self._wait_for_news(stream)
            stream.has_news.clear()
            if not stream.is_watched:
                stream.rest()
                continue
            try:
                moved = await stream.advance()
            except DashwrightError as error:
                log.warning("change_stream_delayed", stream=stream.stream_name.name.lower(), error=error.message)
                await asyncio.sleep(_RETRY_SECONDS)
            except Exception:
                log.exception("change_stream_delayed", stream=stream.stream_name.name.lower())
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                self._report_access(moved)

    async def _wait_for_news(self, stream: ChangeStream) -> None:
        """Wait for a notification or the next poll. A stream without watchers does not poll: it waits until a watcher joins."""
        seconds = (_POLL_LISTENING if self.is_listening else _POLL_DEAF) if stream.is_watched else None
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await stream.has_news.wait()
        await asyncio.sleep(_BATCH_SECONDS)

    def _on_notification(self, payload: str) -> None:
        if payload.startswith(_ACCESS):
            self._access_changed(payload.removeprefix(_ACCESS))
        elif (stream_name := _STREAM_NAMES.get(payload)) is not None:
            self._streams[stream_name].has_news.set()

    def _on_listening(self) -> None:
        self.is_listening = True
        self._access_changed(None)
        for stream in self._streams.values():
            stream.has_news.set()

    def _on_lost(self) -> None:
        self.is_listening = False
        self._access_changed(None)

    def _report_access(self, moved: set[str] | None) -> None:
        """Report changed access as soon as it is read, since its notification may arrive later."""
        for namespace in (None,) if moved is None else moved:
            self._access_changed(namespace)

    def _access_changed(self, namespace: str | None) -> None:
        self.epoch += 1
        for callback in self._access_callbacks:
            callback(namespace)


async def _finished(task: asyncio.Task[None]) -> None:
    with suppress(asyncio.CancelledError):
        await task
