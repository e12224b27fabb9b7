"""Limits on the open connections of one address, and on its connections that have sent no request yet."""

from collections import Counter, defaultdict
from typing import Final, Protocol

from dashwright.api.http.addresses import NO_PROXIES, TrustedProxies, client_network

MAX_UNFINISHED: Final = 1024
"""Maximum number of open connections of one address without a complete request head."""


class LimitedConnection(Protocol):
    """An open connection."""

    @property
    def has_sent_request(self) -> bool:
        """True if a request head has arrived, whether it is readable or not."""
        ...


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
        #: Open connections by network, from their opening on. Those that have sent a request are removed when the limit is reached.
        self._unfinished: defaultdict[str, set[LimitedConnection]] = defaultdict(set)

    def admit(self, peer: str, connection: LimitedConnection) -> bool:
        """Count a new connection and return True, or return False if the address has reached its limit."""
        network = client_network(peer)
        is_counted = not self._proxies.may_be_shared(peer)
        # Many clients share the address of a proxy or of this machine, so a limit would make them block each other.
        if is_counted and self._open[network] >= self._limit:
            return False
        unfinished = self._unfinished[network]
        if len(unfinished) >= self._unfinished_limit:
            unfinished -= {open_connection for open_connection in unfinished if open_connection.has_sent_request}
        if len(unfinished) >= self._unfinished_limit and not self._proxies.trusts(peer):
            return False
        if is_counted:
            self._open[network] += 1
        unfinished.add(connection)
        return True

    def record_close(self, peer: str, connection: LimitedConnection) -> None:
        """Stop counting a connection that was admitted."""
        network = client_network(peer)
        unfinished = self._unfinished[network]
        unfinished.discard(connection)
        if not unfinished:
            del self._unfinished[network]
        if not self._proxies.may_be_shared(peer):
            self._open[network] -= 1
            if not self._open[network]:
                del self._open[network]
