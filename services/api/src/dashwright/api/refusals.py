"""A buffer of refused changes for the audit, which is written in batches so that no caller waits for it."""

from collections import Counter, deque
from typing import Final

from dashwright.api.domain.actor import Actor
from dashwright.api.http.addresses import client_network
from dashwright.api.stores import audit
from dashwright.common.database.pool import Database
from dashwright.common.identity import Caller
from dashwright.common.observability import metrics

_SIZE: Final = 1000
_ANONYMOUS_PART: Final = 10
"""One in so many places is for callers without credentials, who must not crowd out the refusals of members of organizations."""

LOGIN: Final = "login"
"""Audit event of a failed login."""


class RefusalBuffer:
    """A bounded buffer of refusals. When it is full, further ones are counted and dropped."""

    def __init__(self, database: Database, size: int = _SIZE) -> None:
        """Buffer ``size`` refusals, a tenth of them of unauthenticated clients, and a tenth of those from one network."""
        self._database = database
        self._size = size
        self._events: deque[audit.Event] = deque()
        self._anonymous = 0
        self._networks: Counter[str] = Counter()

    def note(self, actor: Actor, action: str, *, org_id: int, status: int) -> None:
        """Add a refused change."""
        self._add(audit.Event(actor, action, outcome=audit.Outcome.REFUSED, status=status, org_id=org_id))

    def note_login(self, user_id: int | None, login: str, address: str, failures: int) -> None:
        """Add a failed login. The text of an unknown login is not stored: it may be a password."""
        actor = Actor(Caller.ANONYMOUS, "" if user_id is None else login, 0, address, "", "")
        subject = "" if user_id is None else f"user:{user_id}"
        details = {"failures": failures}
        self._add(audit.Event(actor, LOGIN, subject, outcome=audit.Outcome.REFUSED, status=401, details=details, org_id=None))

    def _add(self, event: audit.Event) -> None:
        if len(self._events) >= self._size or (_is_anonymous(event.actor) and not self._has_room(event.actor.address)):
            metrics.audit_dropped.inc()
            return
        if _is_anonymous(event.actor):
            self._anonymous += 1
            self._networks[client_network(event.actor.address)] += 1
        self._events.append(event)

    def _has_room(self, address: str) -> bool:
        most = max(1, self._size // _ANONYMOUS_PART)
        return self._anonymous < most and self._networks[client_network(address)] < max(1, most // _ANONYMOUS_PART)

    async def flush(self) -> None:
        """Write the buffer to the audit. Raises Unavailable; then the events are kept for the next time."""
        # The events leave the buffer after the commit: an event may be written twice, but none is lost.
        events = list(self._events)
        if not events:
            return
        async with self._database.transaction() as connection:
            await audit.record_all(connection, events)
        for _ in events:
            self._events.popleft()
        kept = [event.actor for event in self._events if _is_anonymous(event.actor)]
        self._anonymous, self._networks = len(kept), Counter(client_network(actor.address) for actor in kept)


def _is_anonymous(actor: Actor) -> bool:
    return actor.uid == Caller.ANONYMOUS
