"""Cache of recent results of data sources. A caller waits for an equal query that is already running.

Several requests share the cached frames. Their arrays are read-only, so that a bug raises an error instead of changing
the numbers of another request.
"""

import math
import sys
from collections.abc import Callable, Coroutine, Hashable, Sequence
from contextlib import suppress
from typing import Any, Final

from cachetools import TTLCache
from numpy.typing import NDArray

from dashwright.common.clock import Clock
from dashwright.common.observability import metrics
from dashwright.common.single_flight import SingleFlight
from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.engine.frame_set import FrameSet

#: The default size of the cache, and the default time for which it keeps a result.
MAX_BYTES: Final = 64 * 1024 * 1024
TTL_SECONDS: Final = 10.0

#: Approximate bytes of a frame and its labels, without its values.
_FRAME_BYTES: Final = 1_000

#: The maximum number of values in the JSON columns of a cached result. Counting them takes tens of milliseconds.
_MAX_JSON_VALUES: Final = 100_000

#: Runs a query.
RunQuery = Callable[[], Coroutine[Any, Any, Sequence[Frame]]]


class QueryCache:
    """A cache of the results of queries, for ``seconds`` each and ``max_bytes`` in total (0 disables it).

    The least recently used result is evicted first.
    """

    def __init__(self, *, max_bytes: int = MAX_BYTES, seconds: float = TTL_SECONDS, clock: Clock | None = None) -> None:
        timer = (clock or Clock()).seconds
        self._results: TTLCache[Hashable, Sequence[Frame]] = TTLCache(max_bytes, seconds, timer, size_of)
        self._flights: SingleFlight[Hashable, Sequence[Frame]] = SingleFlight(cancel_unused=True)

    async def get(self, key: Hashable, run: RunQuery, *, fresh_token: Hashable = None) -> tuple[Sequence[Frame], bool]:
        """Return the result for ``key``, and whether it is from the cache or from a query that was already running.

        With a ``fresh_token``, the cache is not read, and only a running query with an equal token is shared. Raises
        the errors of ``run``; they are not cached. The query is cancelled when all its callers are cancelled.
        """
        if fresh_token is None and (frames := self._find(key)) is not None:
            return frames, True
        flight_key = (key, fresh_token)
        is_running = flight_key in self._flights
        return await self._flights.run(flight_key, lambda: self._run(key, run)), is_running

    async def _run(self, key: Hashable, run: RunQuery) -> Sequence[Frame]:
        frames = await run()
        _freeze(frames)
        self._add(key, frames)
        return frames

    def _find(self, key: Hashable) -> Sequence[Frame] | None:
        frames = self._results.get(key)
        self._report_size()
        return frames

    def _add(self, key: Hashable, frames: Sequence[Frame]) -> None:
        # If the new result is too large to be added, the old one must not remain.
        self._results.pop(key, None)
        with suppress(ValueError):  # larger than the cache
            self._results[key] = frames
        self._report_size()

    def _report_size(self) -> None:
        metrics.query_cache_bytes.set(self._results.currsize)
        metrics.query_cache_entries.set(len(self._results))


def size_of(frames: Sequence[Frame]) -> float:
    """Return the approximate bytes of frames, or infinity if their JSON columns have too many values."""
    if isinstance(frames, FrameSet):
        return _FRAME_BYTES * len(frames.values) + sum(array.nbytes for array in frames.arrays())
    # By the id of its array, so that a time column that frames share is counted once.
    fields = {id(field.values): field for frame in frames for field in frame.fields}.values()
    json_size = _size_of_json([field.values for field in fields if field.type is FieldType.JSON])
    string_size = sum(sum(map(sys.getsizeof, field.values.tolist())) for field in fields if field.type is FieldType.STRING)
    array_size = sum(field.values.nbytes + (0 if field.nulls is None else field.nulls.nbytes) for field in fields)
    return len(frames) * _FRAME_BYTES + string_size + json_size + array_size


def _size_of_json(columns: Sequence[NDArray[Any]]) -> float:
    """Return the bytes of all keys and values in the columns' JSON documents, or infinity if there are too many values."""
    if sum(map(len, columns)) > _MAX_JSON_VALUES:
        return math.inf
    pending: list[Any] = [column.tolist() for column in columns]
    size = count = 0
    while pending:
        container = pending.pop()
        members = [*container, *container.values()] if isinstance(container, dict) else container
        count += len(members)
        if count > _MAX_JSON_VALUES:
            return math.inf
        size += sum(map(sys.getsizeof, members))
        pending += [member for member in members if isinstance(member, dict | list)]
    return size


def _freeze(frames: Sequence[Frame]) -> None:
    """Make all arrays of the frames read-only."""
    if isinstance(frames, FrameSet):
        for array in frames.arrays():
            array.flags.writeable = False
        return
    for frame in frames:
        for field in frame.fields:
            field.values.flags.writeable = False
            if field.nulls is not None:
                field.nulls.flags.writeable = False
