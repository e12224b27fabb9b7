"""Chores of a gateway: writing last-use times in batches, and deleting expired tokens and old audit events."""

from datetime import datetime, timedelta
from typing import Final

import structlog

from dashwright.api.stores import audit
from dashwright.api.stores import keys as key_store
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.identity import CallerType, Identity

log = structlog.get_logger()

CLEAN_INTERVAL_SECONDS: Final = 3600.0
_BATCH_SIZE: Final = 1000
"""Limit on the rows that one transaction deletes."""
_MAX_BUFFERED: Final = 10_000
"""Limit on the buffered times of keys, and on those of users."""


class LastUseTimes:
    """A buffer of last-use times, one for each API key or token and one for each user.

    A full buffer discards the times of further keys and users.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._keys: dict[int, datetime] = {}
        self._users: dict[int, datetime] = {}

    def record(self, identity: Identity) -> None:
        """Record that a caller was authenticated. The identity cache makes this rare: every few seconds for an active caller."""
        if identity.key_id:
            self._record(self._keys, identity.key_id)
        if identity.kind is CallerType.USER and identity.user_id:
            self._record(self._users, identity.user_id)

    async def flush(self) -> None:
        """Write the buffered times to the database. Raises Unavailable, after which the times remain in the buffer."""
        keys, self._keys = self._keys, {}
        users, self._users = self._users, {}
        if not keys and not users:
            return
        try:
            async with self._database.transaction() as connection:
                await key_store.write_last_use(connection, keys=keys, users=users)
        except BaseException:
            # Times recorded during the transaction are newer, and so have precedence.
            self._keys = keys | self._keys
            self._users = users | self._users
            raise

    def _record(self, times: dict[int, datetime], holder_id: int) -> None:
        if holder_id in times or len(times) < _MAX_BUFFERED:
            times[holder_id] = self._clock.now()


class Cleaner:
    """The cleaner of expired tokens and old audit events. Only one gateway cleans at a time."""

    def __init__(self, database: Database, clock: Clock, *, expired_token_days: int, audit_days: int) -> None:
        """Create the cleaner. It keeps expired tokens and audit events for these numbers of days; 0 keeps them permanently."""
        self._database = database
        self._clock = clock
        self._expired_token_days = expired_token_days
        self._audit_days = audit_days

    async def clean(self) -> None:
        """Delete the tokens and events that are old enough, in transactions of bounded length."""
        now = self._clock.now()
        if self._expired_token_days:
            expired_before = int((now - timedelta(days=self._expired_token_days)).timestamp())
            while await self._delete_tokens(expired_before) == _BATCH_SIZE:
                pass
        if self._audit_days:
            older_than = now - timedelta(days=self._audit_days)
            while await self._delete_events(older_than) == _BATCH_SIZE:
                pass

    async def _delete_tokens(self, expired_before: int) -> int:
        # Each transaction takes the lock again: if this gateway stops between two transactions, another gateway continues.
        async with self._database.transaction() as connection:
            if not await key_store.lock_cleanup(connection):
                return 0
            count = await key_store.delete_expired_tokens(connection, before=expired_before, limit=_BATCH_SIZE)
        if count:
            log.info("expired_tokens_dropped", tokens=count)
        return count

    async def _delete_events(self, older_than: datetime) -> int:
        async with self._database.transaction() as connection:
            if not await key_store.lock_cleanup(connection):
                return 0
            count = await audit.delete_old(connection, older_than, limit=_BATCH_SIZE)
        if count:
            log.info("audit_events_dropped", events=count)
        return count
