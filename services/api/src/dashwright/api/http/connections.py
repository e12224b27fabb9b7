"""Limits on the connections of one address, and on those without a request."""

from collections import Counter
from typing import Final

from dashwright.api.http.addresses import PEERS, Addresses, client_network

MOST_UNFINISHED: Final = 1024
"""Connections of one address that may be open without a complete request head."""


class ConnectionLimiter:
    """Counter of connections by network of the client."""

    def __init__(self, most: int, proxies: Addresses = PEERS, *, most_unfinished: int = MOST_UNFINISHED) -> None:
        """Limit each network to ``most`` connections, and to ``most_unfinished`` without a request.

        The first limit does not apply to this machine and to trusted ``proxies``, the second one not to trusted proxies.
        """
        self._most = most
        self._most_unfinished = most_unfinished
        self._proxies = proxies
        self._open: Counter[str] = Counter()
        self._unfinished: Counter[str] = Counter()

    def admit(self, peer: str) -> bool:
        """Count a new connection, and return True; return False, without counting it, if the address is over its limit."""
        network = client_network(peer)
        is_counted = not self._proxies.exempts(peer)
        # A proxy and this machine open connections for many clients, so one limit would make them block each other.
        if is_counted and self._open[network] >= self._most:
            return False
        if self._unfinished[network] >= self._most_unfinished and not self._proxies.trusts(peer):
            return False
        if is_counted:
            self._open[network] += 1
        self._unfinished[network] += 1
        return True

    def has_begun(self, peer: str) -> None:
        """Count the first request of a connection."""
        _take(self._unfinished, client_network(peer))

    def close(self, peer: str, *, has_begun: bool) -> None:
        """Count the end of a connection that was admitted."""
        network = client_network(peer)
        if not has_begun:
            _take(self._unfinished, network)
        if not self._proxies.exempts(peer):
            _take(self._open, network)


def _take(counts: Counter[str], network: str) -> None:
    counts[network] -= 1
    if counts[network] <= 0:
        del counts[network]
