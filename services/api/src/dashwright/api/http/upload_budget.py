"""A budget for the memory of unauthenticated request bodies."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from dashwright.api.http.addresses import client_network
from dashwright.common.errors import TooManyRequests

_RETRY_SECONDS: Final = 10.0


class UploadBudget:
    """Counter of buffered bytes of unauthenticated bodies, such as deliveries whose signature is not verified yet."""

    def __init__(self, most: int, most_of_one: int) -> None:
        """Limit all bodies together to ``most`` bytes, and those of one network to ``most_of_one``."""
        self._most = most
        self._most_of_one = most_of_one
        self._held: Counter[str] = Counter()

    @contextmanager
    def reserve(self, address: str) -> Iterator[Callable[[int], None]]:
        """Yield a function that reserves ``size`` bytes; call it before buffering each chunk.

        Everything reserved is released when the block ends. The function raises TooManyRequests if the budget of the network, or of
        all, is used up.
        """
        network, own = client_network(address), 0

        def reserve_chunk(size: int) -> None:
            nonlocal own
            if self._held[network] + size > self._most_of_one or self._held.total() + size > self._most:
                raise TooManyRequests("too many unauthenticated uploads in progress; retry later", retry_after=_RETRY_SECONDS)
            self._held[network] += size
            own += size

        try:
            yield reserve_chunk
        finally:
            self._held[network] -= own
            if not self._held[network]:
                del self._held[network]
