"""Limits on failed logins, by login and address, so that attackers are refused but the owner of the login is not."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, NamedTuple, TypeVar

from dashwright.api.http.addresses import client_network

Key = TypeVar("Key", bound=Hashable)

_MAX_WINDOWS: Final = 10_000
"""Default limit on the windows of logins, and on those of addresses."""
_ADDRESS_LIMIT_FACTOR: Final = 10
"""The limit on failures of an address over all logins, as a multiple of its limit for a single login."""


class LoginThrottle:
    """Counts of failed logins per pair of login and address, and per address over all logins.

    A client that guesses passwords is blocked by its address; the owner of the login can still log in from another address. A window
    of ``window_seconds`` begins with its first failure. With an empty address (a message queue, or a proxy that names no client) the
    limit of the address does not apply. IPv6 addresses are counted by their /64 network, since one client usually controls a complete /64.
    """

    def __init__(
        self,
        max_failures: int = 5,
        window_seconds: float = 300,
        *,
        size: int = _MAX_WINDOWS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a throttle without failures. ``size`` limits the windows of logins, and those of addresses."""
        self._max_failures = max_failures
        self._login_windows: _FailureWindows[tuple[str, str]] = _FailureWindows(size, window_seconds, monotonic)
        self._address_windows: _FailureWindows[str] = _FailureWindows(size, window_seconds, monotonic)

    @property
    def max_failures(self) -> int:
        """The number of failures after which a login from an address is blocked."""
        return self._max_failures

    def is_blocked(self, login: str, address: str) -> bool:
        """Return whether logins to this account from this address are refused regardless of their password."""
        return self._login_windows.count(_login_and_network(login, address)) >= self._max_failures or self.is_address_blocked(address)

    def is_address_blocked(self, address: str) -> bool:
        """Return whether the address has reached its limit of failures over all logins."""
        return address != "" and self._address_windows.count(client_network(address)) >= self._max_failures * _ADDRESS_LIMIT_FACTOR

    def is_suspect(self, address: str) -> bool:
        """Return whether the address has a recent failure. Verifications for it then have a smaller share of the hashing queue."""
        return self._address_windows.count(client_network(address)) > 0

    def record_failure(self, login: str, address: str) -> int:
        """Count a failed login, and return the failures of this login from this address in its window."""
        self.record_address_failure(address)
        return self._login_windows.increment(_login_and_network(login, address))

    def record_address_failure(self, address: str) -> None:
        """Count a failure without a login, such as an unknown token."""
        self._address_windows.increment(client_network(address))

    def retract_failure(self, login: str, address: str) -> None:
        """Remove the failure that ``record_failure`` counted before a verification that did not happen."""
        self._login_windows.decrement(_login_and_network(login, address))
        self._address_windows.decrement(client_network(address))

    def record_success(self, login: str, address: str) -> None:
        """Remove the failure that was counted before the verification, and all other failures of this login from this address."""
        self._address_windows.decrement(client_network(address))
        self._login_windows.clear(_login_and_network(login, address))


class _Window(NamedTuple):
    """The failures of one key since its first failure."""

    ends_at: float  #: By the monotonic clock, in seconds.
    failures: int


class _FailureWindows(Generic[Key]):
    """Failure counts by key, each in a fixed window that starts with its first failure.

    The oldest window is evicted before there are more than ``size``.
    """

    def __init__(self, size: int, window_seconds: float, monotonic: Callable[[], float]) -> None:
        self._size = size
        self._window_seconds = window_seconds
        self._monotonic = monotonic
        self._windows: OrderedDict[Key, _Window] = OrderedDict()

    def count(self, key: Key) -> int:
        """Return the failures in the current window of a key."""
        window = self._windows.get(key)
        if window is None:
            return 0
        if window.ends_at <= self._monotonic():
            del self._windows[key]
            return 0
        return window.failures

    def increment(self, key: Key) -> int:
        """Count a failure, and return the failures in the window."""
        count = self.count(key) + 1
        if count > 1:
            self._windows[key] = self._windows[key]._replace(failures=count)
            return count
        if len(self._windows) >= self._size:
            self._windows.popitem(last=False)
        self._windows[key] = _Window(self._monotonic() + self._window_seconds, 1)
        return 1

    def decrement(self, key: Key) -> None:
        """Remove a failure, and the window without failures."""
        count = self.count(key) - 1
        if count > 0:
            self._windows[key] = self._windows[key]._replace(failures=count)
        else:
            self.clear(key)

    def clear(self, key: Key) -> None:
        """Remove all failures of a key."""
        self._windows.pop(key, None)


def _login_and_network(login: str, address: str) -> tuple[str, str]:
    """Return the key of the failures of a login from an address."""
    return login.lower(), client_network(address)
