"""The position of one watcher in a change stream."""

import asyncio
from collections.abc import Sequence
from enum import IntFlag
from typing import Protocol

from dashwright.api.changes.buffer import ChangeBuffer
from dashwright.common.identity import Identity
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.changes import Change


class Wake(IntFlag):
    """Reasons to wake a watcher."""

    NOTHING = 0
    CHANGES = 1  #: There may be changes for it.
    BOOKMARK = 2  #: A bookmark with its position is due.
    TIME = 4  #: Its time is over.
    RELIST = 8  #: The client must list again: the caller's rights have changed, or the database was restored to an older state.


class ChangeSource(Protocol):
    """The change stream that a cursor reads."""

    boundary: int  #: The newest resource version that the stream has read.
    buffer: ChangeBuffer

    async def look_back(self, cursor: "Cursor", until: int) -> tuple[Sequence[Change], int]:
        """Return changes that the buffer has dropped, and the version up to which they were read."""
        ...

    def leave(self, cursor: "Cursor") -> None:
        """Remove a cursor from the stream."""


class Cursor:
    """The position of a watcher in a change stream, and its selection: one kind in a namespace, or one object.

    A cursor buffers nothing. A slow watcher does not hold up the stream: it reads from the database the changes that the buffer has
    dropped. A waiting watcher costs nothing, and has received everything up to the boundary of the stream.
    """

    __slots__ = (
        "_pending",
        "_stream",
        "_waiter",
        "_watcher",
        "caller",
        "ends_at",
        "is_overdue",
        "kind",
        "name",
        "namespace",
        "turn",
        "version",
    )

    def __init__(self, stream: ChangeSource, kind: Kind, namespace: str, name: str | None, caller: Identity) -> None:
        self._stream = stream
        self._waiter: asyncio.Future[None] | None = None
        self._pending = Wake.NOTHING
        self.kind = kind
        self.namespace = namespace
        self.name = name
        self.caller = caller
        self.version = 0
        self.turn: int | None = None  #: Second of each minute at which bookmarks are due; None without bookmarks.
        self.ends_at = 0  #: Second of the loop's clock at which the watch ends.
        self.is_overdue = False  #: True once the watcher was notified of its end; the next time it is cancelled.
        self._watcher: asyncio.Task[object] | None = None

    @property
    def is_caught_up(self) -> bool:
        """True if nothing up to the boundary of the stream is left to read."""
        return self.version >= self._stream.boundary

    @property
    def position(self) -> int:
        """The version up to which a caught-up watcher has received everything. It never splits a transaction."""
        return max(self.version, self._stream.boundary)

    async def read(self) -> Sequence[Change]:
        """Return the next changes, in order, and advance behind them. The result may be empty before the cursor ``is_caught_up``.

        Changes in the namespace that ``moves_access`` are included, whatever the selection. Raises Gone if the database does not
        reach back so far any more, and Unavailable.
        """
        until = self._stream.boundary
        if self.version >= until:
            return ()
        held = self._stream.buffer.after(self.version, until=until)
        if held is None:
            found, self.version = await self._stream.look_back(self, until)
            return found
        self.version = until
        return [change for change in held if self.looks_for(change)]

    def looks_for(self, change: Change) -> bool:
        """Return whether a change is selected, or may change who sees objects of this kind in the namespace."""
        if change.namespace != self.namespace:
            return False
        if change.kind is self.kind and (self.name is None or change.name == self.name):
            return True
        return change.moves_access and (self.kind.in_folder or self.kind.is_tree)

    async def wait(self) -> None:
        """Wait until the cursor is woken. Only a watcher that is caught up may wait."""
        if not self._pending:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    def take(self) -> Wake:
        """Return the reasons for waking since the last call, and clear them."""
        woken, self._pending = self._pending, Wake.NOTHING
        return woken

    def wake(self, why: Wake) -> None:
        """Wake the watcher, now if it waits or else before its next wait."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            # Nothing below the boundary concerned this watcher, or it would have been woken before.
            self.version = self.position
            waiter.set_result(None)
        self._pending |= why

    def attach(self, watcher: asyncio.Task[object] | None) -> None:
        """Set the task that sends what is read from this cursor."""
        self._watcher = watcher

    def break_off(self) -> None:
        """Cancel the watcher, even while it is sending."""
        if self._watcher is not None:
            self._watcher.cancel()

    def close(self) -> None:
        """Remove the cursor from its stream."""
        self._stream.leave(self)
