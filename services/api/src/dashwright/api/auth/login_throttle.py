"""A limit on failed logins that stops guessing without locking the owner out."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, NamedTuple, TypeVar

from dashwright.api.http.addresses import client_network

Key = TypeVar("Key", bound=Hashable)

_SIZE: Final = 10_000
_ADDRESS_FACTOR: Final = 10
"""Factor from the limit of one login at an address to the limit of the address over all logins."""


class LoginThrottle:
    """A count of failed logins per pair of login and address, and per address over all logins.

    A guessing client is blocked by its address; the owner of the login can still log in from another address. A window of
    ``seconds`` begins with its first failure. With an empty address (a message queue, or a proxy that names no client) only the
    login counts. IPv6 addresses count by their /64 network, since one client usually controls a whole /64.
    """

    def __init__(
        self, attempts: int = 5, seconds: float = 300, *, size: int = _SIZE, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._attempts = attempts
        self._by_pair: _Windows[tuple[str, str]] = _Windows(size, seconds, monotonic)
        self._by_address: _Windows[str] = _Windows(size, seconds, monotonic)

    @property
    def attempts(self) -> int:
        """The number of failures after which a login from an address is refused."""
        return self._attempts

    def refuses(self, login: str, address: str) -> bool:
        """Return whether a login from an address is refused regardless of its password."""
        return self._by_pair.count(_pair(login, address)) >= self._attempts or self.refuses_address(address)

    def refuses_address(self, address: str) -> bool:
        """Return whether an address has reached its limit of failures over all logins."""
        return address != "" and self._by_address.count(client_network(address)) >= self._attempts * _ADDRESS_FACTOR

    def suspects(self, address: str) -> bool:
        """Return whether the address has a failure in its window. Its password checks then get a smaller share of the hashing queue."""
        return self._by_address.count(client_network(address)) > 0

    def failed(self, login: str, address: str) -> int:
        """Count a failed login, and return how many this login had from this address."""
        self.failed_at(address)
        return self._by_pair.add(_pair(login, address))

    def failed_at(self, address: str) -> None:
        """Count a failure without a login: an unknown token."""
        self._by_address.add(client_network(address))

    def take_back(self, login: str, address: str) -> None:
        """Remove a failure that was counted in advance, because the password was never checked."""
        self._by_pair.take_back(_pair(login, address))
        self._by_address.take_back(client_network(address))

    def succeeded(self, login: str, address: str) -> None:
        """Remove the failure counted in advance at the address, and all failures of this login from there."""
        self._by_address.take_back(client_network(address))
        self._by_pair.clear(_pair(login, address))


class _Window(NamedTuple):
    until: float
    failures: int


class _Windows(Generic[Key]):
    """Failure counts by key, each in a fixed window that starts with its first failure.

    The oldest window is evicted when there are too many.
    """

    def __init__(self, size: int, seconds: float, monotonic: Callable[[], float]) -> None:
        self._size = size
        self._seconds = seconds
        self._monotonic = monotonic
        self._windows: OrderedDict[Key, _Window] = OrderedDict()

    def count(self, key: Key) -> int:
        window = self._windows.get(key)
        if window is None:
            return 0
        if window.until <= self._monotonic():
            del self._windows[key]
            return 0
        return window.failures

    def add(self, key: Key) -> int:
        count = self.count(key) + 1
        if count > 1:
            self._windows[key] = self._windows[key]._replace(failures=count)
            return count
        if len(self._windows) >= self._size:
            self._windows.popitem(last=False)
        self._windows[key] = _Window(self._monotonic() + self._seconds, 1)
        return 1

    def take_back(self, key: Key) -> None:
        count = self.count(key) - 1
        if count > 0:
            self._windows[key] = self._windows[key]._replace(failures=count)
        else:
            self.clear(key)

    def clear(self, key: Key) -> None:
        self._windows.pop(key, None)


def _pair(login: str, address: str) -> tuple[str, str]:
    return login.lower(), client_network(address)
