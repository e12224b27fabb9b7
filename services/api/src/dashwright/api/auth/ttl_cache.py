"""A bounded cache whose entries expire."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class TtlCache(Generic[Key, Value]):
    """A cache of at most ``size`` values. Each expires after ``seconds``; the oldest entry is evicted first."""

    def __init__(self, size: int, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._size = size
        self._seconds = seconds
        self._monotonic = monotonic
        self._entries: OrderedDict[Key, tuple[float, Value]] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        """Return the value, or None if it is missing or expired."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        expires_at, value = entry
        if expires_at <= self._monotonic():
            del self._entries[key]
            return None
        return value

    def put(self, key: Key, value: Value) -> None:
        """Store a value. Its lifetime starts now, even if the key is cached already."""
        self._entries.pop(key, None)
        if len(self._entries) >= self._size:
            self._entries.popitem(last=False)
        self._entries[key] = (self._monotonic() + self._seconds, value)

    def clear(self) -> None:
        """Discard all values."""
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)
