"""Chores of a gateway: writing last-use times in batches, and deleting what has expired."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import structlog

from dashwright.api.stores import audit, query_history, short_urls, snapshots
from dashwright.api.stores import keys as key_store
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.identity import CallerType, Identity
from dashwright.common.settings import Settings

log = structlog.get_logger()

CLEAN_INTERVAL_SECONDS: Final = 3600.0
_BATCH_SIZE: Final = 1000
"""Limit on the rows that one transaction deletes."""
_SNAPSHOTS_BATCH_SIZE: Final = 100
"""Limit on the snapshots that one transaction deletes: their rows are large."""
_MAX_BUFFERED: Final = 10_000
"""Limit on the buffered times of keys, and on those of users."""


class LastUseTimes:
    """A buffer of last-use times, one for each API key or token and one for each user.

    A full buffer discards the times of further keys and users.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._keys: dict[int, datetime] = {}  #: By id of the key or token.
        self._users: dict[int, datetime] = {}  #: By id of the user.

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
        """Set the time of a key or user in one of the buffers, unless it is full."""
        if holder_id in times or len(times) < _MAX_BUFFERED:
            times[holder_id] = self._clock.now()


class Cleaner:
    """The cleaner of expired rows: tokens, audit events, snapshots, short URLs, query histories. Only one gateway cleans at a time."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        expired_token_days: int = 0,
        audit_days: int = 0,
        short_url_days: int = 0,
        query_history_days: int = 0,
    ) -> None:
        """Create the cleaner. Each number of days is the time for which rows are kept; 0 keeps them permanently.

        The time is counted from the expiry of a token, and from the last use of a short URL. For audit events and entries of query
        histories, it is counted from their creation.
        """
        self._database = database
        self._clock = clock
        self._expired_token_days = expired_token_days
        self._audit_days = audit_days
        self._short_url_days = short_url_days
        self._query_history_days = query_history_days

    async def clean(self) -> None:
        """Delete the rows that have expired, in transactions of bounded length."""
        now = self._clock.now()
        if self._expired_token_days:
            expired_before = int((now - timedelta(days=self._expired_token_days)).timestamp())
            await self._delete("tokens", "expired_tokens_dropped", partial(key_store.delete_expired_tokens, before=expired_before))
        if self._audit_days:
            await self._delete(
                "events", "audit_events_dropped", partial(audit.delete_old, older_than=now - timedelta(days=self._audit_days))
            )
        await self._delete(
            "snapshots", "expired_snapshots_dropped", partial(snapshots.delete_expired, now=now), limit=_SNAPSHOTS_BATCH_SIZE
        )
        if self._short_url_days:
            unused_since = now - timedelta(days=self._short_url_days)
            await self._delete("short_urls", "unused_short_urls_dropped", partial(short_urls.delete_unused, before=unused_since))
        if self._query_history_days:
            older_than = now - timedelta(days=self._query_history_days)
            await self._delete("entries", "query_history_dropped", partial(query_history.delete_old, before=older_than))

    async def _delete(self, count_field: str, event: str, delete: Callable[..., Awaitable[int]], *, limit: int = _BATCH_SIZE) -> None:
        """Delete all rows that ``delete`` finds. The log ``event`` has the number of deleted rows in the field ``count_field``."""
        count = limit
        while count == limit:
            # Each transaction takes the lock again: if this gateway stops between two transactions, another gateway continues.
            async with self._database.transaction() as connection:
                is_only_cleaner = await key_store.lock_cleanup(connection)
                if not is_only_cleaner:
                    return
                count = await delete(connection, limit=limit)
            if count:
                log.info(event, **{count_field: count})


def create_cleaner(settings: Settings, database: Database, clock: Clock) -> Cleaner:
    """Return the cleaner with the times of the settings."""
    return Cleaner(
        database,
        clock,
        expired_token_days=settings.expired_token_days,
        audit_days=settings.audit_days,
        short_url_days=settings.short_url_days,
        query_history_days=settings.query_history_days,
    )
