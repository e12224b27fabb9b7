"""The newest changes, kept for those who are a little behind."""

from collections import deque
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from dashwright.common.stores.changes import Change, ObjectState

_CHANGES: Final = 4096
_BYTES: Final = 16 * 1024 * 1024
_OBJECTS: Final = 700
"""What the objects of one change take, beside its texts."""


class ChangeBuffer:
    """Every change of a feed above ``start``, bounded by number and bytes: when it is full the oldest go, and ``start`` moves up."""

    def __init__(self, *, changes: int = _CHANGES, size: int = _BYTES) -> None:
        self.start = 0
        self._changes: deque[tuple[Change, int]] = deque()
        self._most = changes
        self._room = size

    def clear(self, start: int) -> None:
        """Goes on from a version, with nothing before it."""
        self._room += sum(size for _, size in self._changes)
        self._changes.clear()
        self.start = start

    def append(self, change: Change) -> None:
        size = _OBJECTS + _size(change.state) + (0 if change.old is None else _size(change.old)) + len(change.spec or "")
        self._changes.append((change, size))
        self._room -= size
        while self._room < 0 or len(self._changes) > self._most:
            dropped, size = self._changes.popleft()
            self._room += size
            self.start = dropped.resource_version

    def after(self, version: int, *, until: int) -> Sequence[Change] | None:
        """The changes above ``version`` up to ``until``, in order; None where they do not reach back so far.

        It takes the time of what is newer than ``version``, however much there is.
        """
        if version < self.start:
            return None
        newer = [change for change, _ in takewhile(lambda held: held[0].resource_version > version, reversed(self._changes))]
        return [change for change in reversed(newer) if change.resource_version <= until]


def _size(state: ObjectState) -> int:
    return len(state.metadata) + len(state.status or "") + len(state.labels)
