"""The change feed of one gateway process: the streams of objects and jobs, their watches, and callbacks for access changes."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from typing import Final

import structlog

from dashwright.api.changes.cursor import Cursor
from dashwright.api.changes.stream import ChangeStream
from dashwright.api.changes.timers import WatchTimers
from dashwright.api.changes.watchers import WatchersByIdentity
from dashwright.common.database.notifier import CHANNEL
from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError
from dashwright.common.identity import Identity
from dashwright.common.kinds.kind import Kind
from dashwright.common.observability import metrics
from dashwright.common.stores import changes
from dashwright.common.stores.changes import StreamName, stream_of

log = structlog.get_logger()

_ACCESS_PREFIX: Final = "access:"
"""Prefix of the namespace in notifications of changed folders or access rules."""
_STREAMS_BY_PAYLOAD: Final = {"resource": StreamName.OBJECTS, "job": StreamName.JOBS}
"""The streams with new changes, by the payload of a notification."""

_POLL_SECONDS: Final = 1.0
"""Seconds between two polls of a watched stream. They find changes whose notification was lost."""

_BATCH_SECONDS: Final = 0.01
"""Seconds to wait after a notification, so that a burst of changes is read in one batch."""

_RETRY_SECONDS: Final = 1.0
"""Seconds until the next attempt after a failed read of changes."""

_UPGRADE_POLL_SECONDS: Final = 10.0
"""Seconds between two checks for gateways of an older version."""


class Feed:
    """The change feed as this gateway follows it: it reads changes from the database and wakes the watchers that they affect.

    A notification only triggers a read and contains no changes. While ``is_listening`` is false, caches that the feed invalidates
    must not be used.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._access_callbacks: list[Callable[[str | None], None]] = []
        self._streams = {stream_name: ChangeStream(database, stream_name) for stream_name in StreamName}
        self._timers = WatchTimers()
        self._watchers = WatchersByIdentity()
        self._exit_stack = AsyncExitStack()
        self._watch_count = 0
        self.is_listening = False  #: Whether notifications of the database arrive.
        self.epoch = 0  #: Incremented by every change that may affect which objects a caller can read.

    @property
    def watch_count(self) -> int:
        """The number of open watches."""
        return self._watch_count

    def watch_count_of(self, caller: Identity) -> int:
        """Return the number of the caller's open watches."""
        return self._watchers.count(caller.uid)

    def on_access_change(self, callback: Callable[[str | None], None]) -> None:
        """Register ``callback``. It is called with each namespace whose folders or access rules changed, or with None for any namespace."""
        self._access_callbacks.append(callback)

    def end_watches(self, subject: str) -> None:
        """End the watches of callers whose rights may have changed: ``user:5``, ``key:7``, ``org:2`` or ``all``.

        A watch keeps the identity with which it started, so it would otherwise continue with the former rights.
        """
        self._watchers.relist(subject)

    def watch(self, kind: Kind, namespace: str, name: str | None, caller: Identity, *, seconds: float, bookmarks: bool) -> Cursor:
        """Return a cursor for a watch of one object (``name`` None: of all objects) that times out after ``seconds``.

        With ``bookmarks``, the cursor is woken for a bookmark every minute. Call ``leave`` with the cursor when the watch ends.
        """
        cursor = self._streams[stream_of(kind)].join(kind, namespace, name, caller)
        self._timers.add(cursor, seconds=seconds, bookmarks=bookmarks)
        self._watchers.add(cursor)
        self._watch_count += 1
        metrics.watches.set(self._watch_count)
        return cursor

    def index(self, kind: Kind) -> int | None:
        """Return the index of the newest change that a kind's stream has read, or None while the stream is not followed.

        A watch may start at this index together with a version, provided that two things hold: the index was read first, and then the
        database had no change of the namespace above that version.
        """
        stream = self._streams[stream_of(kind)]
        return stream.index if stream.is_following else None

    def leave(self, cursor: Cursor) -> None:
        """Remove a watch."""
        self._watch_count -= 1
        metrics.watches.set(self._watch_count)
        self._watchers.remove(cursor)
        self._timers.remove(cursor)
        cursor.close()

    async def start(self) -> None:
        """Start listening for notifications and reading changes."""
        listener = self._database.listen(CHANNEL, self._on_notification, self._on_listening, self._on_connection_lost)
        await self._exit_stack.enter_async_context(listener)
        for stream in self._streams.values():
            task = asyncio.create_task(self._follow(stream), name=f"changes of {stream.stream_name.name.lower()}")
            self._exit_stack.push_async_callback(_wait_until_done, task)
            self._exit_stack.callback(task.cancel)
        task = asyncio.create_task(self._order_by_namespace(), name="order of changes")
        self._exit_stack.push_async_callback(_wait_until_done, task)
        self._exit_stack.callback(task.cancel)

    async def stop(self) -> None:
        """Stop reading changes. The HTTP server ends the responses of watches."""
        self._timers.close()
        await self._exit_stack.aclose()

    async def _order_by_namespace(self) -> None:
        """Wait until no gateway of an older version is left, then let namespaces write concurrently."""
        while True:
            try:
                async with self._database.transaction() as connection:
                    if await changes.order_by_namespace(connection):
                        return
            except DashwrightError as error:
                log.info("order_of_changes_unknown", error=error.message)
            await asyncio.sleep(_UPGRADE_POLL_SECONDS)

    async def _follow(self, stream: ChangeStream) -> None:
        """Read the changes of a stream while it is watched, until the task is cancelled."""
        while True:
            await self._wait_for_changes(stream)
            stream.change_event.clear()
            if not stream.is_watched:
                stream.stop_following()
                continue
            try:
                changed_namespaces = await stream.advance()
            except DashwrightError as error:
                log.warning("change_stream_delayed", stream=stream.stream_name.name.lower(), error=error.message)
                await asyncio.sleep(_RETRY_SECONDS)
            except Exception:
                log.exception("change_stream_delayed", stream=stream.stream_name.name.lower())
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                self._report_access_changes(changed_namespaces)

    async def _wait_for_changes(self, stream: ChangeStream) -> None:
        """Wait for a notification or the next poll. A stream without watchers does not poll: it waits until a watcher joins."""
        seconds = _POLL_SECONDS if stream.is_watched else None
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await stream.change_event.wait()
        await asyncio.sleep(_BATCH_SECONDS)

    def _on_notification(self, payload: str) -> None:
        """Handle a notification of the database. Unknown payloads are ignored: a newer version may send them."""
        if payload.startswith(_ACCESS_PREFIX):
            self._notify_access_change(payload.removeprefix(_ACCESS_PREFIX))
        elif (stream_name := _STREAMS_BY_PAYLOAD.get(payload)) is not None:
            self._streams[stream_name].change_event.set()

    def _on_listening(self) -> None:
        """Handle a new connection for notifications."""
        self.is_listening = True
        self._notify_access_change(None)  # Notifications that were sent before the connection opened were missed.
        for stream in self._streams.values():
            stream.change_event.set()

    def _on_connection_lost(self) -> None:
        """Handle the loss of the connection for notifications."""
        self.is_listening = False
        self._notify_access_change(None)

    def _report_access_changes(self, namespaces: set[str] | None) -> None:
        """Report access changes in ``namespaces`` (None: in any) as soon as they are read: their notifications may arrive later."""
        for namespace in (None,) if namespaces is None else namespaces:
            self._notify_access_change(namespace)

    def _notify_access_change(self, namespace: str | None) -> None:
        """Begin a new epoch, and call all callbacks for access changes."""
        self.epoch += 1
        for callback in self._access_callbacks:
            callback(namespace)


async def _wait_until_done(task: asyncio.Task[None]) -> None:
    """Wait for the end of a task that was cancelled."""
    with suppress(asyncio.CancelledError):
        await task
