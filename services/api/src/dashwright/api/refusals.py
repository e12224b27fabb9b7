"""A buffer of refused changes and failed logins. They are written to the audit log in batches, so that no caller waits for the write."""

from collections import Counter, deque
from typing import Final

from dashwright.api.domain.actor import Actor
from dashwright.api.http.addresses import client_network
from dashwright.api.stores import audit
from dashwright.common.database.pool import Database
from dashwright.common.identity import CallerType
from dashwright.common.observability import metrics

_MAX_EVENTS: Final = 1000
"""Default limit on the refusals in the buffer."""
_ANONYMOUS_DIVISOR: Final = 10
"""A tenth of the buffer is for unauthenticated clients, so that they cannot displace the refusals of members of organizations.

One network may use a tenth of this tenth.
"""

LOGIN: Final = "login"
"""Audit event of a failed login."""


class RefusalBuffer:
    """A bounded buffer of refusals. A full buffer counts further refusals in a metric and discards them."""

    def __init__(self, database: Database, size: int = _MAX_EVENTS) -> None:
        """Create a buffer of at most ``size`` refusals."""
        self._database = database
        self._size = size
        self._events: deque[audit.Event] = deque()
        self._anonymous_count = 0  #: Number of events of unauthenticated clients.
        self._anonymous_by_network: Counter[str] = Counter()  #: Number of these events by network.

    def record(self, actor: Actor, action: str, *, org_id: int, status: int) -> None:
        """Add a refused change."""
        self._add(audit.Event(actor, action, outcome=audit.Outcome.REFUSED, status=status, org_id=org_id))

    def record_failed_login(self, user_id: int | None, login: str, address: str, failures: int) -> None:
        """Add a failed login. An unknown login (no ``user_id``) is not stored: it may be a password typed into the wrong field."""
        actor = Actor(CallerType.ANONYMOUS, "" if user_id is None else login, 0, address, "", "")
        subject = "" if user_id is None else f"user:{user_id}"
        details = {"failures": failures}
        self._add(audit.Event(actor, LOGIN, subject, outcome=audit.Outcome.REFUSED, status=401, details=details, org_id=None))

    def _add(self, event: audit.Event) -> None:
        """Add an event, or discard it if the buffer or the part for unauthenticated clients is full."""
        is_part_full = _is_anonymous(event.actor) and not self._accepts_anonymous(event.actor.address)
        if len(self._events) >= self._size or is_part_full:
            metrics.audit_dropped.inc()
            return
        if _is_anonymous(event.actor):
            self._anonymous_count += 1
            self._anonymous_by_network[client_network(event.actor.address)] += 1
        self._events.append(event)

    def _accepts_anonymous(self, address: str) -> bool:
        """Return whether an unauthenticated client may add an event: neither all of them nor its network have reached their limit."""
        limit = max(1, self._size // _ANONYMOUS_DIVISOR)
        network_limit = max(1, limit // _ANONYMOUS_DIVISOR)
        return self._anonymous_count < limit and self._anonymous_by_network[client_network(address)] < network_limit

    async def flush(self) -> None:
        """Write the buffer to the audit log. Raises Unavailable, after which the events remain in the buffer."""
        # The events are removed only after the commit: an event may be written twice, but is never lost.
        events = list(self._events)
        if not events:
            return
        async with self._database.transaction() as connection:
            await audit.record_all(connection, events)
        for _ in events:
            self._events.popleft()
        anonymous_networks = [client_network(event.actor.address) for event in self._events if _is_anonymous(event.actor)]
        self._anonymous_count, self._anonymous_by_network = len(anonymous_networks), Counter(anonymous_networks)


def _is_anonymous(actor: Actor) -> bool:
    return actor.uid == CallerType.ANONYMOUS
