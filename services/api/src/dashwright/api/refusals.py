"""Refused changes on their way into the audit: taken in without waiting, written in batches, and never held against the caller."""

from collections import deque
from typing import Final

from dashwright.api.domain.actor import Actor
from dashwright.common.database.pool import Database
from dashwright.common.identity import Caller
from dashwright.common.observability import metrics
from dashwright.common.stores import audit

_SIZE: Final = 1000
_STRANGERS: Final = 10
"""One part in so many is for callers without credentials: they must not crowd out what members of an organization try."""


class RefusalBuffer:
    """Keeps at most ``size`` refusals until they are written, a tenth of them of strangers.

    What comes when it is full is counted and dropped.
    """

    def __init__(self, database: Database, size: int = _SIZE) -> None:
        self._database = database
        self._size = size
        self._events: deque[audit.Event] = deque()
        self._strangers = 0

    def note(self, actor: Actor, action: str, *, org_id: int, status: int) -> None:
        is_stranger = _is_stranger(actor)
        if len(self._events) >= self._size or (is_stranger and self._strangers >= max(1, self._size // _STRANGERS)):
            metrics.audit_dropped.inc()
            return
        self._strangers += is_stranger
        self._events.append(audit.Event(actor, action, outcome=audit.Outcome.REFUSED, status=status, org_id=org_id))

    async def flush(self) -> None:
        """Writes what was noted. Raises Unavailable; then it is kept for the next time, and told twice rather than not at all."""
        events = list(self._events)
        if not events:
            return
        async with self._database.transaction() as connection:
            await audit.record_all(connection, events)
        for _ in events:
            self._strangers -= _is_stranger(self._events.popleft().actor)


def _is_stranger(actor: audit.Actor) -> bool:
    return actor.uid == Caller.ANONYMOUS
