"""Cache of the options that data sources have for variables: the panels of a page are drawn by separate requests, which all need them."""

from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.clock import Clock
from dashwright.common.single_flight import SingleFlight
from dashwright.expressions.sources.query_cache import TTL_SECONDS

#: The limit of the characters of all cached options.
MAX_CHARACTERS: Final = 4_000_000
#: Characters that an option counts for in addition to its own.
_OPTION_CHARACTERS: Final = 100

#: Values and texts of options.
FoundOptions = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _CachedOptions:
    options: FoundOptions
    size: int  #: In characters.
    expires_at: float  #: In seconds of the cache's clock.


class OptionCache:
    """A cache of options, for ``seconds`` each (0 disables it). Equal queries that run concurrently are sent once.

    The least recently used options are evicted first.
    """

    def __init__(self, *, seconds: float = TTL_SECONDS, max_characters: int = MAX_CHARACTERS, clock: Clock | None = None) -> None:
        self.seconds = seconds
        self._max_characters = max_characters
        self._clock = clock or Clock()
        self._entries: OrderedDict[Hashable, _CachedOptions] = OrderedDict()
        self._size = 0
        self._flights: SingleFlight[Hashable, FoundOptions] = SingleFlight(cancel_unused=True)

    async def get(self, key: Hashable, run: Callable[[], Coroutine[Any, Any, FoundOptions]]) -> FoundOptions:
        """Return the options for ``key``. Raises what ``run`` raises; errors are not cached."""
        entry = self._entries.get(key)
        if entry is not None and entry.expires_at > self._clock.seconds():
            self._entries.move_to_end(key)
            return entry.options
        return await self._flights.run(key, lambda: self._run(key, run))

    async def _run(self, key: Hashable, run: Callable[[], Coroutine[Any, Any, FoundOptions]]) -> FoundOptions:
        options = await run()
        size = sum(len(value) + len(text) + _OPTION_CHARACTERS for value, text in options) + _OPTION_CHARACTERS
        self._remove(key)
        if self.seconds > 0 and size <= self._max_characters:
            self._entries[key] = _CachedOptions(options, size, self._clock.seconds() + self.seconds)
            self._size += size
            while self._size > self._max_characters:
                self._remove(next(iter(self._entries)))
        return options

    def _remove(self, key: Hashable) -> None:
        if key in self._entries:
            self._size -= self._entries.pop(key).size
