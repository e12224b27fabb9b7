"""A bounded log of the newest changes, for watchers that are a little behind."""

from collections import deque
from collections.abc import Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from dashwright.common.stores.changes import Change, ObjectState

_MAX_CHANGES: Final = 4096
"""Default limit on the changes in the buffer."""
_MAX_BYTES: Final = 16 * 1024 * 1024
"""Default limit on their estimated memory, because single changes may be large."""
_OVERHEAD_BYTES: Final = 700
"""Estimated memory of one change in addition to its strings."""


class _BufferedChange(NamedTuple):
    """A change in the buffer."""

    stream_index: int
    change: Change
    size: int  #: Estimated memory, in bytes.


class ChangeBuffer:
    """The newest changes of a stream in the order in which the stream read them, limited by number and bytes.

    Changes are numbered from 1 by their index. A full buffer discards its oldest changes, but never uses an index twice.
    """

    def __init__(self, *, max_changes: int = _MAX_CHANGES, max_bytes: int = _MAX_BYTES) -> None:
        """Create an empty buffer with these limits."""
        #: Index of the newest change.
        self.last_index = 0
        self._changes: deque[_BufferedChange] = deque()
        self._max_changes = max_changes
        self._free_bytes = max_bytes  #: Bytes that further changes may take; negative only within ``append``.

    def clear(self) -> None:
        """Discard all changes. The next index is skipped, so that cursors at earlier indexes read from the database."""
        self._free_bytes += sum(buffered.size for buffered in self._changes)
        self._changes.clear()
        self.last_index += 1

    def append(self, change: Change) -> None:
        """Add the newest change, and discard the oldest changes until the buffer is within its limits."""
        old_size = 0 if change.old is None else _state_size(change.old)
        size = _OVERHEAD_BYTES + _state_size(change.state) + old_size + len(change.spec or "")
        self.last_index += 1
        self._changes.append(_BufferedChange(self.last_index, change, size))
        self._free_bytes -= size
        while self._free_bytes < 0 or len(self._changes) > self._max_changes:
            self._free_bytes += self._changes.popleft().size

    def changes_after(self, index: int, *, last_index: int) -> Sequence[Change] | None:
        """Return the changes after ``index``, up to and including ``last_index``, or None if some of them were discarded."""
        newest_discarded_index = self.last_index - len(self._changes)
        if newest_discarded_index > index:
            return None
        # Search backwards from the newest, so that the cost depends on how far the watcher is behind, not on the size of the buffer.
        newer_changes = takewhile(lambda buffered: buffered.stream_index > index, reversed(self._changes))
        return [buffered.change for buffered in reversed(list(newer_changes)) if buffered.stream_index <= last_index]


def _state_size(state: ObjectState) -> int:
    """Return the length of the strings of a state, as an estimate of its memory."""
    return len(state.metadata) + len(state.status or "") + len(state.labels)
