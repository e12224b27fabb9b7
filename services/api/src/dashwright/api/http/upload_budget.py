"""How much is held at once of what strangers send, before anything vouches for it."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from dashwright.api.http.addresses import client_network
from dashwright.common.errors import TooManyRequests

_PATIENCE: Final = 10.0


class UploadBudget:
    """Counts bytes: ``most`` of all together, ``most_of_one`` of each network that they come from."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._held: Counter[str] = Counter()

    @contextmanager
    def reserve(self, address: str) -> Iterator[Callable[[int], None]]:
        """What is called with the size of each piece before it is kept; at the end all of them are let go.

        It raises TooManyRequests where there is no room.
        """
        network, own = client_network(address), 0

        def keep(size: int) -> None:
            nonlocal own
            if self._held[network] + size > self._most_of_one or self._held.total() + size > self._most:
                raise TooManyRequests("too much is being sent at once that is not checked yet; send it again later", retry_after=_PATIENCE)
            self._held[network] += size
            own += size

        try:
            yield keep
        finally:
            self._held[network] -= own
            if not self._held[network]:
                del self._held[network]
