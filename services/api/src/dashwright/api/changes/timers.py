"""What happens to watchers by the clock: bookmarks and the ends of their time, under one timer for all."""

import asyncio
from itertools import count
from typing import Final

from dashwright.api.changes.cursor import Cursor, Wake

BOOKMARK_SECONDS: Final = 60
"""How often a watcher that wants bookmarks gets one."""

GRACE_SECONDS: Final = 60
"""How long after its time a watcher may still be sending: a client that takes nothing in would hold it for ever."""


class WatchTimers:
    """Each second one sixtieth of the watchers that want bookmarks have their turn, and those whose time is up are told.

    A watcher that is still there long after its time is broken off. The timer stands still while there are none.
    """

    def __init__(self) -> None:
        self._bookmarked: list[set[Cursor]] = [set() for _ in range(BOOKMARK_SECONDS)]
        self._ending: dict[int, set[Cursor]] = {}
        self._next_turn = count()
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._second = 0

    def add(self, cursor: Cursor, *, seconds: float, bookmarks: bool) -> None:
        """``seconds``: the time that the cursor has."""
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
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        now = int(loop.time())
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
