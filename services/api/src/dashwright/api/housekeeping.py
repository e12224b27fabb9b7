"""Chores of a gateway: writing last-use times in batches, and deleting expired tokens and old audit events."""

from datetime import datetime, timedelta
from typing import Final

import structlog

from dashwright.api.stores import audit
from dashwright.api.stores import keys as key_store
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.identity import Caller, Identity

log = structlog.get_logger()

CLEAN_SECONDS: Final = 3600.0
_BATCH: Final = 1000
_LARGEST_BUFFER: Final = 10_000


class LastUseTimes:
    """Buffer of last-use times that are not written yet, one for each key and user. When it is full, further ones are dropped."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._keys: dict[int, datetime] = {}
        self._users: dict[int, datetime] = {}

    def note(self, identity: Identity) -> None:
        """Record that a caller was looked up, which happens every few seconds of use."""
        if identity.key_id:
            self._put(self._keys, identity.key_id)
        if identity.kind is Caller.USER and identity.user_id:
            self._put(self._users, identity.user_id)

    async def flush(self) -> None:
        """Write the recorded times. Raises Unavailable; then they are kept for the next time."""
        keys, self._keys = self._keys, {}
        users, self._users = self._users, {}
        if not keys and not users:
            return
        try:
            async with self._database.transaction() as connection:
                await key_store.write_last_use(connection, keys=keys, users=users)
        except BaseException:
            # Times recorded since are newer, and so have precedence.
            self._keys = keys | self._keys
            self._users = users | self._users
            raise

    def _put(self, times: dict[int, datetime], number: int) -> None:
        if number in times or len(times) < _LARGEST_BUFFER:
            times[number] = self._clock.now()


class Cleaner:
    """The cleaner of expired tokens and old audit events. Only one gateway cleans at a time."""

    def __init__(self, database: Database, clock: Clock, *, expired_token_days: int, audit_days: int) -> None:
        """Keep expired tokens and audit events for so many days; 0: permanently."""
        self._database = database
        self._clock = clock
        self._expired_token_days = expired_token_days
        self._audit_days = audit_days

    async def clean(self) -> None:
        """Delete what is due, in transactions of bounded length."""
        now = self._clock.now()
        if self._expired_token_days:
            before = int((now - timedelta(days=self._expired_token_days)).timestamp())
            while await self._drop_tokens(before) == _BATCH:
                pass
        if self._audit_days:
            older_than = now - timedelta(days=self._audit_days)
            while await self._drop_events(older_than) == _BATCH:
                pass

    async def _drop_tokens(self, before: int) -> int:
        # Claimed for each transaction: if this gateway stops between two, another one continues.
        async with self._database.transaction() as connection:
            if not await key_store.claim_upkeep(connection):
                return 0
            dropped = await key_store.drop_expired_tokens(connection, before=before, limit=_BATCH)
        if dropped:
            log.info("expired_tokens_dropped", tokens=dropped)
        return dropped

    async def _drop_events(self, older_than: datetime) -> int:
        async with self._database.transaction() as connection:
            if not await key_store.claim_upkeep(connection):
                return 0
            forgotten = await audit.forget(connection, older_than, limit=_BATCH)
        if forgotten:
            log.info("audit_events_dropped", events=forgotten)
        return forgotten
