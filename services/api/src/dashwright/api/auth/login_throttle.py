"""Slows down whoever guesses, without locking out whom they guess at."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, NamedTuple, TypeVar

from dashwright.api.http.addresses import client_network

Key = TypeVar("Key", bound=Hashable)

_SIZE: Final = 10_000
_ADDRESS_FACTOR: Final = 10


class LoginThrottle:
    """Counts failed logins by login and address together, and by address over all logins, ten times as many of which are borne.

    Who guesses from one address is refused there; the owner of the login, at another, is not. A window of ``seconds`` begins with its
    first failure. An empty address is nobody's (a message queue, a proxy that names no client): there only the login counts. An IPv6
    address is its network of 64 bits, which one client has to itself.
    """

    def __init__(
        self, attempts: int = 5, seconds: float = 300, *, size: int = _SIZE, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._attempts = attempts
        self._by_pair: _Windows[tuple[str, str]] = _Windows(size, seconds, monotonic)
        self._by_address: _Windows[str] = _Windows(size, seconds, monotonic)

    @property
    def attempts(self) -> int:
        """The failures after which a login from an address is refused."""
        return self._attempts

    def refuses(self, login: str, address: str) -> bool:
        """Whether a login from there is refused whatever its password is."""
        return self._by_pair.count(_pair(login, address)) >= self._attempts or self.refuses_address(address)

    def refuses_address(self, address: str) -> bool:
        """Whether an address has used up what is borne of it."""
        return address != "" and self._by_address.count(client_network(address)) >= self._attempts * _ADDRESS_FACTOR

    def suspects(self, address: str) -> bool:
        """Whether anything failed from there of late: then its work waits behind that of others."""
        return self._by_address.count(client_network(address)) > 0

    def failed(self, login: str, address: str) -> int:
        """Counts a failed login; how many this login had from there."""
        self.failed_at(address)
        return self._by_pair.add(_pair(login, address))

    def failed_at(self, address: str) -> None:
        """Counts a failure that names no login: an unknown token."""
        self._by_address.add(client_network(address))

    def unmade(self, login: str, address: str) -> None:
        """Takes one failure back: the attempt was not made after all."""
        self._by_pair.take_back(_pair(login, address))
        self._by_address.take_back(client_network(address))

    def succeeded(self, login: str, address: str) -> None:
        """Takes back the failure that an attempt counts as until its end, and forgets this login's others from there."""
        self._by_address.take_back(client_network(address))
        self._by_pair.clear(_pair(login, address))


class _Window(NamedTuple):
    until: float
    failures: int


class _Windows(Generic[Key]):
    """Counts that begin anew some seconds after their first. The oldest window makes room."""

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
