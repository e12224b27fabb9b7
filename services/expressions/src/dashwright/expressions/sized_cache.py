"""A cache that is bounded by the sizes of its values, which expire."""

import math
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from dashwright.common.clock import Clock

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(slots=True)
class _SizedEntry(Generic[Value]):
    value: Value
    size: int
    expires_at: float  #: In seconds of the cache's clock.


class SizedCache(Generic[Key, Value]):
    """A cache of values for ``seconds`` each, and of ``max_size`` in total (0 for either disables it).

    The least recently used value is evicted first.
    """

    def __init__(self, max_size: int, *, seconds: float = math.inf, clock: Clock | None = None) -> None:
        self._max_size = max_size
        self._seconds = seconds
        self._clock = clock or Clock()
        self._entries: OrderedDict[Key, _SizedEntry[Value]] = OrderedDict()
        self._size = 0

    @property
    def size(self) -> int:
        """The size of all values, in the unit of their sizes."""
        return self._size

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: Key) -> Value | None:
        """Return the value of a key, or None if it is missing or expired."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.expires_at <= self._clock.seconds():
            self.remove(key)
            return None
        self._entries.move_to_end(key)
        return entry.value

    def add(self, key: Key, value: Value, size: int) -> None:
        """Replace the value of a key. A value that is larger than the cache is not stored."""
        self.remove(key)
        if size > self._max_size or self._seconds <= 0:
            return
        self._entries[key] = _SizedEntry(value, size, self._clock.seconds() + self._seconds)
        self._size += size
        while self._size > self._max_size:
            self.remove(next(iter(self._entries)))

    def remove(self, key: Key) -> None:
        """Remove the value of a key, if it is there."""
        if key in self._entries:
            self._size -= self._entries.pop(key).size
