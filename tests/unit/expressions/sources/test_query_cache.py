"""The cache of query results shares equal queries, and evicts results by age and size."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from prometheus_client import REGISTRY

from dashwright.common.clock import Clock
from dashwright.common.errors import SourceFailed
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.sources.query_cache import QueryCache, size_of


@dataclass
class ManualClock(Clock):
    """A clock that a test sets."""

    current_seconds: float = 1000.0

    def seconds(self) -> float:
        return self.current_seconds


class CountingSource:
    """A source that responds while ``released`` is set, as it is by default, and counts its queries."""

    def __init__(self, size: int = 10, error: Exception | None = None) -> None:
        self.count = 0
        self.cancelled = 0
        self.released = asyncio.Event()
        self.released.set()
        self.frames: Sequence[Frame] = [frame(size)]
        self._error = error

    async def __call__(self) -> Sequence[Frame]:
        self.count += 1
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self._error:
            raise self._error
        return self.frames


def frame(size: int) -> Frame:
    """Return a frame with a number of rows."""
    return Frame([Field("v", FieldType.FLOAT64, np.zeros(size), np.zeros(size, np.bool_))])


async def is_shared(cache: QueryCache, key: str, source: CountingSource) -> bool:
    """Return whether the result for a key is that of an earlier or concurrent caller."""
    _, is_shared_result = await cache.get(key, source)
    return is_shared_result


async def test_a_result_is_cached_for_its_time() -> None:
    """A result is cached for the configured time, and queried again afterwards."""
    clock, source = ManualClock(), CountingSource()
    cache = QueryCache(seconds=10, clock=clock)
    assert [await is_shared(cache, "k", source) for _ in range(3)] == [False, True, True]
    clock.current_seconds += 10
    assert not await is_shared(cache, "k", source)
    assert source.count == 2


async def test_the_least_recently_used_is_evicted_first() -> None:
    """The cache does not exceed its size in bytes. A result that is larger than the cache is not cached. A size of 0 disables it."""
    result_bytes = int(size_of([frame(1000)]))
    cache, source = QueryCache(max_bytes=2 * result_bytes), CountingSource(1000)
    for key in ("a", "b", "a", "c"):
        await cache.get(key, source)
    assert await is_shared(cache, "a", source)
    assert await is_shared(cache, "c", source)
    assert not await is_shared(cache, "b", source)
    assert [await is_shared(cache, "large", CountingSource(3000)) for _ in range(2)] == [False, False]
    disabled_cache = QueryCache(max_bytes=0)
    assert [await is_shared(disabled_cache, "k", source) for _ in range(2)] == [False, False]


async def test_the_size_of_the_cache_is_a_metric() -> None:
    """The gauges of the cache have its size after additions, evictions and expirations."""
    result_bytes = int(size_of([frame(1000)]))
    clock, source = ManualClock(), CountingSource(1000)
    cache = QueryCache(max_bytes=2 * result_bytes, seconds=10, clock=clock)
    sizes = []
    for key in ("a", "b", "c"):
        await cache.get(key, source)
        sizes.append(cache_size())
    # The third result evicts the first.
    assert sizes == [(result_bytes, 1), (2 * result_bytes, 2), (2 * result_bytes, 2)]
    clock.current_seconds += 10
    # The expired results are removed, and the new one is too large.
    await cache.get("b", CountingSource(3000))
    assert cache_size() == (0, 0)


def cache_size() -> tuple[float | None, float | None]:
    """Return the bytes and the number of cached results."""
    value = REGISTRY.get_sample_value
    return value("dashwright_query_cache_bytes"), value("dashwright_query_cache_entries")


async def test_a_shared_time_column_counts_once() -> None:
    """The size of series counts their shared axis once."""
    times = np.zeros(1000, np.int64)
    shared = [Frame([Field("t", FieldType.TIME, times), Field("v", FieldType.FLOAT64, np.zeros(1))]) for _ in range(10)]
    size = size_of(shared)
    assert size is not None
    # At most 2,000 bytes for the objects of each frame.
    assert size < 2 * times.nbytes + 10 * 2000


async def test_a_failure_is_not_cached() -> None:
    """A failure is not cached: the next caller sends the query again."""
    cache, source = QueryCache(), CountingSource(error=SourceFailed("gone"))
    for _ in range(2):
        with pytest.raises(SourceFailed, match="gone"):
            await cache.get("k", source)
    assert source.count == 2


def documents(count: int) -> Frame:
    """Return a frame with a single JSON value that contains ``count`` objects."""
    column = np.empty(1, object)
    column[0] = {"items": [{"n": index} for index in range(count)]}
    return Frame([Field("v", FieldType.JSON, column)])


async def test_the_size_of_json_counts_nested_values() -> None:
    """The size of a JSON value includes its nested values. A value that is larger than the cache is not cached."""
    # An object with one member takes at least 50 bytes.
    assert size_of([documents(10_000)]) >= 10_000 * 50
    source = CountingSource()
    source.frames = [documents(10_000)]
    small_cache = QueryCache(max_bytes=1024 * 1024)
    assert [await is_shared(small_cache, "k", source) for _ in range(2)] == [False, False]
    large_cache = QueryCache()
    assert [await is_shared(large_cache, "k", source) for _ in range(2)] == [False, True]


async def test_json_with_too_many_values_is_not_cached() -> None:
    """A JSON value with too many values to count is not cached, even if the cache is large enough."""
    source = CountingSource()
    source.frames = [documents(100_000)]
    assert size_of(source.frames) == math.inf
    cache = QueryCache(max_bytes=2**40)
    assert [await is_shared(cache, "k", source) for _ in range(2)] == [False, False]


async def test_concurrent_callers_share_one_query() -> None:
    """Concurrent callers send one query and receive the same frame objects."""
    # Without cached results, only running queries are shared.
    cache, source = QueryCache(max_bytes=0), CountingSource()
    source.released.clear()
    tasks = [asyncio.create_task(cache.get("k", source)) for _ in range(3)]
    await asyncio.sleep(0)
    source.released.set()
    results = await asyncio.gather(*tasks)
    assert source.count == 1
    assert [is_shared_result for _, is_shared_result in results] == [False, True, True]
    assert all(frames is results[0][0] for frames, _ in results)


async def test_a_cancelled_caller_does_not_affect_others() -> None:
    """If one of several callers is cancelled, their query continues.

    If the last caller is cancelled, the query is cancelled, and the next caller sends the query again.
    """
    cache, source = QueryCache(), CountingSource()
    source.released.clear()
    first, second = (asyncio.create_task(cache.get("k", source)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    assert source.count == 1
    assert source.cancelled == 0
    second.cancel()
    await asyncio.wait([second])
    third = asyncio.create_task(cache.get("k", source))
    # One round starts the caller, and the next one starts its query.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert source.count == 2
    assert source.cancelled == 1
    source.released.set()
    _, is_shared_result = await third
    assert not is_shared_result


async def test_a_fresh_result_is_queried_on_request() -> None:
    """A request for fresh results does not use the cache. Equal queries of the request are sent once, and their result is cached."""
    cache, source = QueryCache(), CountingSource()
    await cache.get("k", source)
    request = object()
    results = await asyncio.gather(*(cache.get("k", source, fresh_token=request) for _ in range(2)))
    assert source.count == 2
    assert [is_shared_result for _, is_shared_result in results] == [False, True]
    assert await is_shared(cache, "k", source)


async def test_shared_frames_cannot_be_changed() -> None:
    """A bug that writes into shared frames raises an error instead of changing another caller's result."""
    frames, _ = await QueryCache().get("k", CountingSource())
    (column,) = frames[0].fields
    with pytest.raises(ValueError, match="read-only"):
        column.values[0] = 1
    assert column.nulls is not None
    with pytest.raises(ValueError, match="read-only"):
        column.nulls[0] = True
