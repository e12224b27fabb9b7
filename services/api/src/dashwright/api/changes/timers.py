"""Bookmarks and timeouts of all watches, from one timer: a timer for each of thousands of watches would be expensive."""

import asyncio
from itertools import count
from typing import Final

from dashwright.api.changes.cursor import Cursor, WakeReason

BOOKMARK_SECONDS: Final = 60
"""Seconds between two bookmarks of a watch that requested them."""

GRACE_SECONDS: Final = 60
"""Seconds after its timeout until a watch is cancelled: a client that does not read would keep the watch open permanently."""


class WatchTimers:
    """The timer wheel of all watches.

    Each second it wakes one sixtieth of the watches with bookmarks, and the watches that time out. A watch that is still open
    ``GRACE_SECONDS`` after its timeout is cancelled. The timer is off while there are no watches.
    """

    def __init__(self) -> None:
        self._bookmark_slots: list[set[Cursor]] = [set() for _ in range(BOOKMARK_SECONDS)]  #: By ``Cursor.bookmark_second``.
        self._cursors_by_end: dict[int, set[Cursor]] = {}  #: By ``Cursor.ends_at``.
        self._bookmark_counter = count()  #: Spreads the bookmarks evenly over the seconds of a minute.
        self._watch_count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._handled_second = 0  #: Second of the loop's clock that was handled last.

    def add(self, cursor: Cursor, *, seconds: float, bookmarks: bool) -> None:
        """Add a watch that times out after ``seconds``."""
        loop = asyncio.get_running_loop()
        self._watch_count += 1
        if self._timer is None:
            self._handled_second = int(loop.time())
            self._timer = loop.call_later(1, self._tick, loop)
        self._schedule_end(cursor, int(loop.time() + max(1.0, seconds)))
        if bookmarks:
            cursor.bookmark_second = next(self._bookmark_counter) % BOOKMARK_SECONDS
            self._bookmark_slots[cursor.bookmark_second].add(cursor)

    def remove(self, cursor: Cursor) -> None:
        """Remove a watch."""
        self._watch_count -= 1
        if (cursors := self._cursors_by_end.get(cursor.ends_at)) is not None:
            cursors.discard(cursor)
            if not cursors:
                del self._cursors_by_end[cursor.ends_at]
        if cursor.bookmark_second is not None:
            self._bookmark_slots[cursor.bookmark_second].discard(cursor)
        if not self._watch_count:
            self.close()

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake or cancel the watches that are due, and set the timer for the next second."""
        now = int(loop.time())
        # A late tick handles each second that it missed.
        for second in range(self._handled_second + 1, now + 1):
            for cursor in self._cursors_by_end.pop(second, ()):
                if cursor.is_overdue:
                    cursor.cancel_task()
                else:
                    cursor.is_overdue = True
                    cursor.wake(WakeReason.TIMEOUT)
                    self._schedule_end(cursor, second + GRACE_SECONDS)
            for cursor in self._bookmark_slots[second % BOOKMARK_SECONDS]:
                cursor.wake(WakeReason.BOOKMARK)
        self._handled_second = now
        self._timer = loop.call_later(1, self._tick, loop)

    def _schedule_end(self, cursor: Cursor, second: int) -> None:
        """Set the second of the loop's clock at which a watch is woken for its timeout, or cancelled after that."""
        cursor.ends_at = second
        self._cursors_by_end.setdefault(second, set()).add(cursor)
