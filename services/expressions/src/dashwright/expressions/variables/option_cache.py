"""Cache of the options that data sources have for variables: the panels of a page are drawn by separate requests, which all need them."""

from collections.abc import Callable, Coroutine, Hashable, Sequence
from contextlib import suppress
from typing import Any, Final

from cachetools import TTLCache

from dashwright.common.clock import Clock
from dashwright.common.single_flight import SingleFlight
from dashwright.expressions.sources.query_cache import TTL_SECONDS

#: The limit of the characters of all cached options.
MAX_CHARACTERS: Final = 4_000_000
#: Characters that an option counts for in addition to its own.
_OPTION_CHARACTERS: Final = 100

#: Values and texts of options.
ValuesAndTexts = Sequence[tuple[str, str]]


class OptionCache:
    """A cache of options, for ``seconds`` each (0 disables it). Equal queries that run concurrently are sent once.

    The least recently used options are evicted first.
    """

    def __init__(self, *, seconds: float = TTL_SECONDS, max_characters: int = MAX_CHARACTERS, clock: Clock | None = None) -> None:
        self.seconds = seconds
        timer = (clock or Clock()).seconds
        self._options: TTLCache[Hashable, ValuesAndTexts] = TTLCache(max_characters, seconds, timer, _size_of)
        self._flights: SingleFlight[Hashable, ValuesAndTexts] = SingleFlight(cancel_unused=True)

    async def get(self, key: Hashable, run: Callable[[], Coroutine[Any, Any, ValuesAndTexts]]) -> ValuesAndTexts:
        """Return the options for ``key``. Raises the errors of ``run``; they are not cached."""
        options = self._options.get(key)
        return options if options is not None else await self._flights.run(key, lambda: self._run(key, run))

    async def _run(self, key: Hashable, run: Callable[[], Coroutine[Any, Any, ValuesAndTexts]]) -> ValuesAndTexts:
        options = await run()
        with suppress(ValueError):  # larger than the cache
            self._options[key] = options
        return options


def _size_of(options: ValuesAndTexts) -> int:
    """Return the characters that options count for."""
    return sum(len(value) + len(text) + _OPTION_CHARACTERS for value, text in options) + _OPTION_CHARACTERS
