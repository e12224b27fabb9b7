"""Where one watcher stands in the feed."""

import asyncio
from collections.abc import Sequence
from enum import IntFlag
from typing import Protocol

from dashwright.api.changes.buffer import ChangeBuffer
from dashwright.common.identity import Identity
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.changes import Change


class Wake(IntFlag):
    """Why a watcher is woken."""

    NOTHING = 0
    CHANGES = 1
    """There may be something for it."""
    BOOKMARK = 2
    """It is time to say how far it is."""
    TIME = 4
    """Its time is up."""
    AGAIN = 8
    """It must begin anew: what its caller may see has changed, or the database is another."""


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
    """A place in one half of the feed, and whose changes are looked for from there on: one kind in a namespace, or one object.

    It holds no changes: while its watcher is slow the feed goes on, and the watcher reads from the database what the feed has let go.
    A watcher that waits costs nothing and has been told everything up to the boundary of its half.
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
        self.turn: int | None = None
        self.ends_at = 0
        self.is_overdue = False
        self._watcher: asyncio.Task[object] | None = None

    @property
    def is_caught_up(self) -> bool:
        return self.version >= self._stream.boundary

    @property
    def position(self) -> int:
        """Up to which version a watcher that is caught up has been told everything; no transaction lies on both sides of it."""
        return max(self.version, self._stream.boundary)

    async def read(self) -> Sequence[Change]:
        """Some of what comes next, in order, and moves on behind it; perhaps nothing, until it ``is_caught_up``.

        Beside the changes that it looks for come those that ``moves_access`` in its namespace. Raises Gone where the feed does not
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
        if change.namespace != self.namespace:
            return False
        if change.kind is self.kind and (self.name is None or change.name == self.name):
            return True
        return change.moves_access and (self.kind.in_folder or self.kind.is_tree)

    async def wait(self) -> None:
        """Waits for a reason to go on. Only a watcher that is caught up may wait."""
        if not self._pending:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    def take(self) -> Wake:
        """Why it was woken since it last asked."""
        woken, self._pending = self._pending, Wake.NOTHING
        return woken

    def wake(self, why: Wake) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            self.version = self.position
            waiter.set_result(None)
        self._pending |= why

    def held_by(self, watcher: asyncio.Task[object] | None) -> None:
        """Who sends what is read from here."""
        self._watcher = watcher

    def break_off(self) -> None:
        """Ends its watcher in the middle of what it sends."""
        if self._watcher is not None:
            self._watcher.cancel()

    def close(self) -> None:
        """Nobody looks for anything from here any more."""
        self._stream.leave(self)
