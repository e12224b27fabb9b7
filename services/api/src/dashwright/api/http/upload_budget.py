"""A budget for the memory of unauthenticated request bodies."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from dashwright.api.http.addresses import client_network
from dashwright.common.errors import TooManyRequests

_RETRY_SECONDS: Final = 10.0
"""Seconds after which a refused client may retry."""


class UploadBudget:
    """Counter of buffered bytes of unauthenticated bodies, such as webhook deliveries whose signature is not verified yet."""

    def __init__(self, limit: int, network_limit: int) -> None:
        """Limit all bodies together to ``limit`` bytes, and those of one network to ``network_limit``."""
        self._limit = limit
        self._network_limit = network_limit
        self._reserved_by_network: Counter[str] = Counter()

    @contextmanager
    def reserve(self, address: str) -> Iterator[Callable[[int], None]]:
        """Yield a function that reserves a number of bytes. Call it before buffering each chunk.

        All reserved bytes are released at the end of the block. The function raises TooManyRequests if the budget of the network or
        the whole budget is used up.
        """
        network, reserved_bytes = client_network(address), 0

        def reserve_chunk(size: int) -> None:
            """Reserve the bytes of the next chunk."""
            nonlocal reserved_bytes
            if self._reserved_by_network[network] + size > self._network_limit or self._reserved_by_network.total() + size > self._limit:
                raise TooManyRequests("too many unauthenticated uploads in progress; retry later", retry_after=_RETRY_SECONDS)
            self._reserved_by_network[network] += size
            reserved_bytes += size

        try:
            yield reserve_chunk
        finally:
            self._reserved_by_network[network] -= reserved_bytes
            # Without the deletion, the counter would grow with every network that has ever sent a body.
            if not self._reserved_by_network[network]:
                del self._reserved_by_network[network]
