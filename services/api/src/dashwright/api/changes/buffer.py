"""A bounded buffer of the newest changes, for watchers that are a little behind."""

from collections import deque
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from dashwright.common.stores.changes import Change, ObjectState

_CHANGES: Final = 4096
_BYTES: Final = 16 * 1024 * 1024
_OBJECTS: Final = 700
"""Estimated memory of one change without its strings, in bytes."""


class ChangeBuffer:
    """All changes of a stream above version ``start``, limited by number and bytes.

    A full buffer drops its oldest changes, and ``start`` advances to the last dropped version.
    """

    def __init__(self, *, changes: int = _CHANGES, size: int = _BYTES) -> None:
        """Create an empty buffer of at most ``changes`` changes and ``size`` bytes in total."""
        self.start = 0
        self._changes: deque[tuple[Change, int]] = deque()
        self._most = changes
        self._room = size

    def clear(self, start: int) -> None:
        """Drop all changes and continue after version ``start``."""
        self._room += sum(size for _, size in self._changes)
        self._changes.clear()
        self.start = start

    def append(self, change: Change) -> None:
        """Add the newest change, and drop the oldest ones until the buffer is within its limits."""
        size = _OBJECTS + _size(change.state) + (0 if change.old is None else _size(change.old)) + len(change.spec or "")
        self._changes.append((change, size))
        self._room -= size
        while self._room < 0 or len(self._changes) > self._most:
            dropped, size = self._changes.popleft()
            self._room += size
            self.start = dropped.resource_version

    def after(self, version: int, *, until: int) -> Sequence[Change] | None:
        """Return the changes above ``version`` up to ``until``, in order, or None if the buffer does not reach back to ``version``."""
        if version < self.start:
            return None
        # Search backwards from the newest, so that the cost depends on how far the watcher is behind, not on the size of the buffer.
        newer = [change for change, _ in takewhile(lambda held: held[0].resource_version > version, reversed(self._changes))]
        return [change for change in reversed(newer) if change.resource_version <= until]


def _size(state: ObjectState) -> int:
    return len(state.metadata) + len(state.status or "") + len(state.labels)
