"""The change feed as one gateway follows it."""

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

_LISTENING, _DEAF = 5.0, 1.0
"""Seconds after which it looks by itself: a notification may be lost; and none comes while it does not listen."""

_TOGETHER: Final = 0.01
"""Seconds that it waits for more to happen before it looks."""

_AFTER_A_FAILURE: Final = 1.0


class Feed:
    """Follows the feed of a database. While it does not listen, nobody may remember what the feed would make them forget.

    A notification only wakes it: what has happened is read. ``epoch`` moves with everything that may change who sees what.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._access: list[Callable[[str | None], None]] = []
        self._halves = {stream_name: ChangeStream(database, stream_name) for stream_name in StreamName}
        self._turns = WatchTimers()
        self._callers = WatchersByIdentity()
        self._under_way = AsyncExitStack()
        self._count = 0
        self.is_listening = False
        self.epoch = 0

    @property
    def watchers(self) -> int:
        """How many watch."""
        return self._count

    def watches_of(self, caller: Identity) -> int:
        """How many of those are the caller's."""
        return self._callers.held_by(caller.uid)

    def on_access(self, heard: Callable[[str | None], None]) -> None:
        """``heard`` is told the namespace whose folders or rules of access changed, or None where any may have."""
        self._access.append(heard)

    def forget(self, subject: str) -> None:
        """Told of callers whose rights may have changed (``user:5``, ``key:7``, ``org:2``, ``all``): their watches end."""
        self._callers.forget(subject)

    def watch(self, kind: Kind, namespace: str, name: str | None, caller: Identity, *, seconds: float, bookmarks: bool) -> Cursor:
        """A place in the feed, to be given back by ``leave``."""
        cursor = self._halves[stream_of(kind)].join(kind, namespace, name, caller)
        self._turns.add(cursor, seconds=seconds, bookmarks=bookmarks)
        self._callers.add(cursor)
        self._count += 1
        metrics.watches.set(self._count)
        return cursor

    def leave(self, cursor: Cursor) -> None:
        self._count -= 1
        metrics.watches.set(self._count)
        self._callers.remove(cursor)
        self._turns.remove(cursor)
        cursor.close()

    async def start(self) -> None:
        """Begins to listen."""
        heard = self._database.listen(_CHANNEL, self._heard, self._begun, self._lost)
        await self._under_way.enter_async_context(heard)
        for half in self._halves.values():
            task = asyncio.create_task(self._follow(half), name=f"feed of {half.stream_name.name.lower()}")
            self._under_way.push_async_callback(_ended, task)
            self._under_way.callback(task.cancel)

    async def stop(self) -> None:
        """Follows no more. Watches are streams, which the listener ends."""
        self._turns.close()
        await self._under_way.aclose()

    async def _follow(self, half: ChangeStream) -> None:
        while True:
            await self._something(half)
            half.heard.clear()
            if not half.is_watched:
                half.rest()
                continue
            try:
                moved = await half.advance()
            except DashwrightError as error:
                log.warning("feed_behind", feed=half.stream_name.name.lower(), error=error.message)
                await asyncio.sleep(_AFTER_A_FAILURE)
            except Exception:
                log.exception("feed_behind", feed=half.stream_name.name.lower())
                await asyncio.sleep(_AFTER_A_FAILURE)
            else:
                self._tell(moved)

    async def _something(self, half: ChangeStream) -> None:
        """Waits until something may have happened."""
        seconds = (_LISTENING if self.is_listening else _DEAF) if half.is_watched else None
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await half.heard.wait()
        await asyncio.sleep(_TOGETHER)

    def _heard(self, payload: str) -> None:
        if payload.startswith(_ACCESS):
            self._changed(payload.removeprefix(_ACCESS))
        elif (stream_name := _STREAM_NAMES.get(payload)) is not None:
            self._halves[stream_name].heard.set()

    def _begun(self) -> None:
        self.is_listening = True
        self._changed(None)
        for half in self._halves.values():
            half.heard.set()

    def _lost(self) -> None:
        self.is_listening = False
        self._changed(None)

    def _tell(self, moved: set[str] | None) -> None:
        """What was read counts as heard: the notification may still be on its way."""
        for namespace in (None,) if moved is None else moved:
            self._changed(namespace)

    def _changed(self, namespace: str | None) -> None:
        self.epoch += 1
        for told in self._access:
            told(namespace)


async def _ended(task: asyncio.Task[None]) -> None:
    with suppress(asyncio.CancelledError):
        await task
