"""Limits on the open connections of one address, and on its connections that have sent no request yet."""

from collections import Counter
from typing import Final

from dashwright.api.http.addresses import NO_PROXIES, TrustedProxies, client_network

MAX_UNFINISHED: Final = 1024
"""Connections of one address that may be open without a complete request head."""


class ConnectionLimiter:
    """Counter of open connections by network of the client."""

    def __init__(self, limit: int, proxies: TrustedProxies = NO_PROXIES, *, unfinished_limit: int = MAX_UNFINISHED) -> None:
        """Limit each network to ``limit`` connections, and to ``unfinished_limit`` connections without a request.

        ``limit`` applies neither to this machine nor to trusted ``proxies``. ``unfinished_limit`` does not apply to trusted proxies.
        """
        self._limit = limit
        self._unfinished_limit = unfinished_limit
        self._proxies = proxies
        self._open: Counter[str] = Counter()
        self._unfinished: Counter[str] = Counter()

    def admit(self, peer: str) -> bool:
        """Count a new connection and return True, or return False if the address has reached its limit."""
        network = client_network(peer)
        is_counted = not self._proxies.may_be_shared(peer)
        # Many clients share the address of a proxy or of this machine, so a limit would make them block each other.
        if is_counted and self._open[network] >= self._limit:
            return False
        if self._unfinished[network] >= self._unfinished_limit and not self._proxies.trusts(peer):
            return False
        if is_counted:
            self._open[network] += 1
        self._unfinished[network] += 1
        return True

    def record_request(self, peer: str) -> None:
        """Stop counting a connection as one without a request."""
        _decrement(self._unfinished, client_network(peer))

    def record_close(self, peer: str, *, has_sent_request: bool) -> None:
        """Stop counting a closed connection. ``has_sent_request`` says whether ``record_request`` was called for it."""
        network = client_network(peer)
        if not has_sent_request:
            _decrement(self._unfinished, network)
        if not self._proxies.may_be_shared(peer):
            _decrement(self._open, network)


def _decrement(counts: Counter[str], network: str) -> None:
    counts[network] -= 1
    if counts[network] <= 0:
        del counts[network]
