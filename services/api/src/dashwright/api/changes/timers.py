"""Bookmarks and timeouts of watches, driven by one timer: a timer for each of thousands of watches would be expensive."""

import asyncio
from itertools import count
from typing import Final

from dashwright.api.changes.cursor import Cursor, Wake

BOOKMARK_SECONDS: Final = 60
"""Seconds between two bookmarks of a watch that requested them."""

GRACE_SECONDS: Final = 60
"""Seconds after its timeout for which a watch may still be sending; a client that reads nothing would keep it open permanently."""


class WatchTimers:
    """The timer wheel of all watches.

    Each second it wakes one sixtieth of the watches with bookmarks, and those that time out. A watch that is still open 60 seconds
    after its timeout is cancelled. The timer is off while there are no watches.
    """

    def __init__(self) -> None:
        self._bookmarked: list[set[Cursor]] = [set() for _ in range(BOOKMARK_SECONDS)]
        self._ending: dict[int, set[Cursor]] = {}
        self._next_turn = count()  #: Spreads the bookmarks evenly over the seconds of a minute.
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._second = 0

    def add(self, cursor: Cursor, *, seconds: float, bookmarks: bool) -> None:
        """Add a watch that times out after ``seconds``."""
        loop = asyncio.get_running_loop()
        self._count += 1
        if self._timer is None:
            self._second = int(loop.time())
            self._timer = loop.call_later(1, self._tick, loop)
        self._end(cursor, int(loop.time() + max(1.0, seconds)))
        if bookmarks:
            cursor.turn = next(self._next_turn) % BOOKMARK_SECONDS
            self._bookmarked[cursor.turn].add(cursor)

    def remove(self, cursor: Cursor) -> None:
        """Remove a watch."""
        self._count -= 1
        if (ending := self._ending.get(cursor.ends_at)) is not None:
            ending.discard(cursor)
            if not ending:
                del self._ending[cursor.ends_at]
        if cursor.turn is not None:
            self._bookmarked[cursor.turn].discard(cursor)
        if not self._count:
            self.close()

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        now = int(loop.time())
        # A late tick handles each second that it missed.
        for second in range(self._second + 1, now + 1):
            for cursor in self._ending.pop(second, ()):
                if cursor.is_overdue:
                    cursor.break_off()
                else:
                    cursor.is_overdue = True
                    cursor.wake(Wake.TIME)
                    self._end(cursor, second + GRACE_SECONDS)
            for cursor in self._bookmarked[second % BOOKMARK_SECONDS]:
                cursor.wake(Wake.BOOKMARK)
        self._second = now
        self._timer = loop.call_later(1, self._tick, loop)

    def _end(self, cursor: Cursor, second: int) -> None:
        cursor.ends_at = second
        self._ending.setdefault(second, set()).add(cursor)
