"""The position of one watcher in a change stream."""

import asyncio
from collections.abc import Sequence
from enum import IntFlag
from typing import Protocol

from dashwright.api.changes.buffer import ChangeBuffer
from dashwright.common.identity import Identity
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.changes import Change


class WakeReason(IntFlag):
    """The reasons to wake a watcher, combined as flags."""

    NOTHING = 0
    CHANGES = 1  #: There may be changes that the watcher selects.
    BOOKMARK = 2  #: A bookmark with the position of the watcher is due.
    TIMEOUT = 4  #: The watch has reached its timeout.
    RELIST = 8  #: The client must list again: the caller's rights have changed, or the database was restored to an older state.


class ChangeSource(Protocol):
    """The change stream that a cursor reads."""

    index: int  #: Index of the newest change that cursors may read.
    buffer: ChangeBuffer

    @property
    def is_following(self) -> bool:
        """True if cursors can read. If false, they are woken as soon as they can."""
        ...

    async def read_from_database(self, cursor: "Cursor") -> tuple[Sequence[Change], int | None]:
        """Return changes above the version of a cursor, and the index up to which they were read: None if there may be more."""
        ...

    def boundary(self, namespace: str) -> int:
        """Return the newest version up to which the stream has read all changes of a watched namespace."""
        ...

    def leave(self, cursor: "Cursor") -> None:
        """Remove a cursor from the stream."""


class Cursor:
    """The position of a watcher in a change stream, and its selection: one kind in a namespace, or one object.

    A cursor buffers nothing. A slow watcher does not delay the stream: it reads the changes that the buffer has discarded from the
    database. A waiting watcher has received everything up to the index of the stream.
    """

    __slots__ = (
        "_stream",
        "_task",
        "_waiter",
        "_wake_reasons",
        "bookmark_second",
        "caller",
        "ends_at",
        "index",
        "is_overdue",
        "kind",
        "name",
        "namespace",
        "version",
    )

    def __init__(self, stream: ChangeSource, kind: Kind, namespace: str, name: str | None, caller: Identity) -> None:
        self._stream = stream
        self._waiter: asyncio.Future[None] | None = None
        self._wake_reasons = WakeReason.NOTHING
        self.kind = kind
        self.namespace = namespace
        self.name = name
        self.caller = caller
        self.version = 0  #: The client has all changes of the namespace up to this version.
        self.index: int | None = None  #: Changes of the stream up to this index were read; None: read the database first.
        self.bookmark_second: int | None = None  #: Second of each minute at which bookmarks are due; None without bookmarks.
        self.ends_at = 0  #: Second of the loop's clock at which the watch ends.
        self.is_overdue = False  #: True once the watcher was woken for its timeout; the next time its task is cancelled.
        self._task: asyncio.Task[object] | None = None

    def start(self, version: int, index: int | None) -> None:
        """Set the position.

        ``index`` may be given only if every change of the namespace above ``version`` has a higher index. With None, the cursor reads
        the database first.
        """
        self.version, self.index = version, index

    @property
    def is_caught_up(self) -> bool:
        """True if nothing is left to read now."""
        return not self._stream.is_following or (self.index is not None and self.index >= self._stream.index)

    @property
    def position(self) -> int:
        """The version up to which a caught-up watcher has received everything, which never divides a transaction."""
        return max(self.version, self._stream.boundary(self.namespace))

    async def read_changes(self) -> Sequence[Change]:
        """Return the next changes, in order, and advance the cursor. The result may be empty before the cursor ``is_caught_up``.

        Changes of the access to objects (``changes_access``) are included even if they are not selected. Raises Gone if the database
        no longer has the changes after this version, and Unavailable.
        """
        if self.is_caught_up:
            return ()
        last_index = self._stream.index
        buffered = None if self.index is None else self._stream.buffer.changes_after(self.index, last_index=last_index)
        if buffered is None:
            changes, self.index = await self._stream.read_from_database(self)
        else:
            # A list may be newer than the stream, so the client may know some of these changes.
            changes = [change for change in buffered if change.resource_version > self.version and self.is_affected_by(change)]
            self.index = last_index
        if changes:
            self.version = changes[-1].resource_version
        return changes

    def is_affected_by(self, change: Change) -> bool:
        """Return whether a change is selected, or may change which objects of this kind the caller can read."""
        if change.namespace != self.namespace:
            return False
        if change.kind is self.kind and (self.name is None or change.name == self.name):
            return True
        has_access_rules = self.kind.in_folder or self.kind.is_tree
        return change.changes_access and has_access_rules

    async def wait(self) -> None:
        """Wait until the cursor is woken. Only a watcher that is caught up may wait."""
        if not self._wake_reasons:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    def take_wake_reasons(self) -> WakeReason:
        """Return the reasons for waking since the last call, and clear them."""
        reasons, self._wake_reasons = self._wake_reasons, WakeReason.NOTHING
        return reasons

    def wake(self, reason: WakeReason) -> None:
        """Wake the watcher if it waits. If it does not wait now, its next wait ends immediately."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            # No change up to the index of the stream affects this watcher, or it would have been woken before.
            self.version, self.index = self.position, self._stream.index
            waiter.set_result(None)
        self._wake_reasons |= reason

    def attach_task(self, task: asyncio.Task[object] | None) -> None:
        """Set the task that sends the changes of this cursor to the client."""
        self._task = task

    def cancel_task(self) -> None:
        """Cancel the task of the watcher, even while it is sending."""
        if self._task is not None:
            self._task.cancel()

    def close(self) -> None:
        """Remove the cursor from its stream."""
        self._stream.leave(self)
