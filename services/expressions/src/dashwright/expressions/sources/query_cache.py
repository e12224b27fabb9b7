"""What data sources answered, kept for a moment and shared: whoever asks the same while a query is under way waits for its answer.

Frames that went through here belong to several requests at once. Their arrays are made read-only, so that a bug shows as an error and
not as somebody else's wrong number.
"""

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from numpy.typing import NDArray

from dashwright.common.clock import Clock
from dashwright.expressions.engine.frame import FieldType, Frame

MAX_BYTES: Final = 64 * 1024 * 1024
SECONDS: Final = 10.0

_FRAME_BYTES: Final = 1_000
"""What a frame and its labels take beside its values, about."""

_MOST_JSON_VALUES: Final = 100_000
"""So many are counted for one answer, within tens of milliseconds; one with more is not kept."""

Asked = Callable[[], Coroutine[Any, Any, Sequence[Frame]]]


@dataclass(slots=True)
class _CacheEntry:
    frames: Sequence[Frame]
    size: int
    until: float


@dataclass(slots=True)
class _Flight:
    """A query under way, and how many wait for it."""

    task: asyncio.Task[Sequence[Frame]]
    waiting: int = 0


class QueryCache:
    """``max_bytes`` are kept at most, 0 for none, each answer for ``seconds``. The least recently used goes first."""

    def __init__(self, *, max_bytes: int = MAX_BYTES, seconds: float = SECONDS, clock: Clock | None = None) -> None:
        self._max_bytes = max_bytes
        self._seconds = seconds
        self._clock = clock or Clock()
        self._kept: OrderedDict[Hashable, _CacheEntry] = OrderedDict()
        self._size = 0
        self._flights: dict[Hashable, _Flight] = {}

    async def get(self, key: Hashable, ask: Asked, *, fresh: Hashable = None) -> tuple[Sequence[Frame], bool]:
        """The answer to what ``key`` stands for, and whether it was there without asking.

        Who gives ``fresh`` gets an answer that was asked for with the same ``fresh``, and no older one. Raises what ``ask`` raises, which
        is not kept. A caller that goes takes nothing from the others; with the last one the query is cancelled.
        """
        if fresh is None and (kept := self._found(key)) is not None:
            return kept, True
        place = (key, fresh)
        flight = self._flights.get(place)
        joined = flight is not None
        if flight is None:
            flight = self._flights[place] = _Flight(asyncio.create_task(self._fly(place, ask)))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task), joined
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                # Nobody may join what is about to end.
                del self._flights[place]
                flight.task.cancel()

    async def _fly(self, place: tuple[Hashable, Hashable], ask: Asked) -> Sequence[Frame]:
        this = asyncio.current_task()
        try:
            frames = await ask()
            _freeze(frames)
            self._keep(place[0], frames)
            return frames
        finally:
            if place in self._flights and self._flights[place].task is this:
                del self._flights[place]

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
    """The bytes that frames take, about; None where their JSON has too many values to count. A time column that they share counts once."""
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
    """Of every value in their documents, and the keys; None where there are too many."""
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
