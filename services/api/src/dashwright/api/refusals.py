"""Refused changes on their way into the audit: taken in without waiting, written in batches, and never held against the caller."""

from collections import Counter, deque
from typing import Final

from dashwright.api.domain.actor import Actor
from dashwright.api.http.addresses import client_network
from dashwright.api.stores import audit
from dashwright.common.database.pool import Database
from dashwright.common.identity import Caller
from dashwright.common.observability import metrics

_SIZE: Final = 1000
_STRANGERS: Final = 10
"""One part in so many is for callers without credentials: they must not crowd out what members of an organization try."""


LOGIN: Final = "login"


class RefusalBuffer:
    """Keeps at most ``size`` refusals until they are written, a tenth of them of strangers, and a tenth of those from one network.

    What comes when it is full is counted and dropped.
    """

    def __init__(self, database: Database, size: int = _SIZE) -> None:
        self._database = database
        self._size = size
        self._events: deque[audit.Event] = deque()
        self._strangers = 0
        self._networks: Counter[str] = Counter()

    def note(self, actor: Actor, action: str, *, org_id: int, status: int) -> None:
        self._add(audit.Event(actor, action, outcome=audit.Outcome.REFUSED, status=status, org_id=org_id))

    def note_login(self, user_id: int | None, login: str, address: str, failures: int) -> None:
        """Keep a failed login of a user, or of a login that is not known: its text, perhaps a password, is not kept."""
        actor = Actor(Caller.ANONYMOUS, "" if user_id is None else login, 0, address, "", "")
        subject = "" if user_id is None else f"user:{user_id}"
        details = {"failures": failures}
        self._add(audit.Event(actor, LOGIN, subject, outcome=audit.Outcome.REFUSED, status=401, details=details, org_id=None))

    def _add(self, event: audit.Event) -> None:
        if len(self._events) >= self._size or (_is_stranger(event.actor) and not self._has_room(event.actor.address)):
            metrics.audit_dropped.inc()
            return
        if _is_stranger(event.actor):
            self._strangers += 1
            self._networks[client_network(event.actor.address)] += 1
        self._events.append(event)

    def _has_room(self, address: str) -> bool:
        most = max(1, self._size // _STRANGERS)
        return self._strangers < most and self._networks[client_network(address)] < max(1, most // _STRANGERS)

    async def flush(self) -> None:
        """Writes what was noted. Raises Unavailable; then it is kept for the next time, and told twice rather than not at all."""
        events = list(self._events)
        if not events:
            return
        async with self._database.transaction() as connection:
            await audit.record_all(connection, events)
        for _ in events:
            self._events.popleft()
        kept = [event.actor for event in self._events if _is_stranger(event.actor)]
        self._strangers, self._networks = len(kept), Counter(client_network(actor.address) for actor in kept)


def _is_stranger(actor: Actor) -> bool:
    return actor.uid == Caller.ANONYMOUS
