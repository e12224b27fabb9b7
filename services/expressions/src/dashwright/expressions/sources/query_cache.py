"""Recent results of data sources, cached and shared: a caller with an equal query waits for the one that is running.

Frames from here belong to several requests at the same time. Their arrays are made read-only, so that a bug raises an
error instead of changing the numbers of another request.
"""

import sys
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from numpy.typing import NDArray

from dashwright.common.clock import Clock
from dashwright.common.single_flight import SingleFlight
from dashwright.expressions.engine.frame import FieldType, Frame

MAX_BYTES: Final = 64 * 1024 * 1024
SECONDS: Final = 10.0

#: Approximate bytes of a frame and its labels, without its values.
_FRAME_BYTES: Final = 1_000

#: Most values of JSON columns that are counted for one result, within tens of milliseconds; larger ones are not cached.
_MOST_JSON_VALUES: Final = 100_000

Asked = Callable[[], Coroutine[Any, Any, Sequence[Frame]]]


@dataclass(slots=True)
class _CacheEntry:
    frames: Sequence[Frame]
    size: int
    until: float


class QueryCache:
    """Results of queries, each kept for ``seconds``, at most ``max_bytes`` in total (0 for none).

    The least recently used result is dropped first.
    """

    def __init__(self, *, max_bytes: int = MAX_BYTES, seconds: float = SECONDS, clock: Clock | None = None) -> None:
        self._max_bytes = max_bytes
        self._seconds = seconds
        self._clock = clock or Clock()
        self._kept: OrderedDict[Hashable, _CacheEntry] = OrderedDict()
        self._size = 0
        self._flights: SingleFlight[Hashable, Sequence[Frame]] = SingleFlight(cancel_unused=True)

    async def get(self, key: Hashable, ask: Asked, *, fresh: Hashable = None) -> tuple[Sequence[Frame], bool]:
        """Return the result for ``key``, and whether it came without a new query.

        With ``fresh`` it is the result of a query started with an equal ``fresh``, never an older one. Raises what
        ``ask`` raises; errors are not cached. A caller that is cancelled does not affect the others; when the last one
        is cancelled, the query is cancelled too.
        """
        if fresh is None and (kept := self._found(key)) is not None:
            return kept, True
        place = (key, fresh)
        joined = place in self._flights
        return await self._flights.once(place, lambda: self._query(key, ask)), joined

    async def _query(self, key: Hashable, ask: Asked) -> Sequence[Frame]:
        frames = await ask()
        _freeze(frames)
        self._keep(key, frames)
        return frames

    def _found(self, key: Hashable) -> Sequence[Frame] | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        if kept.until <= self._clock.seconds():
            self._drop(key)
            return None
        self._kept.move_to_end(key)
        return kept.frames

    def _keep(self, key: Hashable, frames: Sequence[Frame]) -> None:
        size = size_of(frames)
        if key in self._kept:
            self._drop(key)
        if size is None or size > self._max_bytes:
            return
        self._kept[key] = _CacheEntry(frames, size, self._clock.seconds() + self._seconds)
        self._size += size
        while self._size > self._max_bytes:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Hashable) -> None:
        self._size -= self._kept.pop(key).size


def size_of(frames: Sequence[Frame]) -> int | None:
    """Return the approximate bytes of frames, or None if their JSON has too many values to count.

    A time column that frames share counts once.
    """
    arrays = {id(item.values): item for frame in frames for item in frame.fields}
    documents = _size_of_json([item.values for item in arrays.values() if item.type is FieldType.JSON])
    if documents is None:
        return None
    texts = sum(sum(map(sys.getsizeof, item.values.tolist())) for item in arrays.values() if item.type is FieldType.STRING)
    return (
        len(frames) * _FRAME_BYTES
        + texts
        + documents
        + sum(item.values.nbytes + (0 if item.nulls is None else item.nulls.nbytes) for item in arrays.values())
    )


def _size_of_json(columns: Sequence[NDArray[Any]]) -> int | None:
    """Return the bytes of every key and value in the documents, or None if there are too many."""
    if sum(map(len, columns)) > _MOST_JSON_VALUES:
        return None
    left: list[Any] = [column.tolist() for column in columns]
    size = count = 0
    while left:
        value = left.pop()
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        count += len(parts)
        if count > _MOST_JSON_VALUES:
            return None
        size += sum(map(sys.getsizeof, parts))
        left += [part for part in parts if isinstance(part, dict | list)]
    return size


def _freeze(frames: Sequence[Frame]) -> None:
    for frame in frames:
        for item in frame.fields:
            item.values.flags.writeable = False
            if item.nulls is not None:
                item.nulls.flags.writeable = False
