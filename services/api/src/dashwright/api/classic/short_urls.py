"""Use cases on short URLs, which redirect to a path of this server."""

from datetime import timedelta
from typing import Final

from dashwright.api.classic.common import new_uid
from dashwright.api.domain.actor import Actor
from dashwright.api.domain.relative_paths import checked_relative_path
from dashwright.api.stores import audit, short_urls
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import Forbidden, NotFound
from dashwright.common.identity import Identity

CREATE: Final = "shorturls:create"
"""The action of the permission to create short URLs."""

_USE_PRECISION: Final = timedelta(hours=1)
"""Time after a recorded use for which further uses are not recorded, so that requests rarely write the row of a popular URL."""


class ShortUrls:
    """The short URLs of a caller's current organization."""

    def __init__(self, database: Database, clock: Clock, *, limit: int) -> None:
        """Create the use cases. ``limit`` is the largest number of short URLs of an organization."""
        self._database = database
        self._clock = clock
        self._limit = limit

    async def create(self, actor: Actor, caller: Identity, path: str) -> str:
        """Return the uid of the short URL of a path. If the path has none, one is created.

        Raises BadRequest for a path that is not relative, and Forbidden if there are too many short URLs.
        """
        checked_path, now = checked_relative_path(path), self._clock.now()
        async with self._database.transaction() as connection:
            # Under the lock, concurrent requests for a path get the same short URL, and cannot exceed the limit together.
            await short_urls.lock(connection, caller.org_id)
            # Records a use of the path's short URL, and returns its uid, or None without one.
            uid = await short_urls.touch_path(connection, caller.org_id, checked_path, now=now)
            if uid is None:
                if await short_urls.count(connection, caller.org_id) >= self._limit:
                    raise Forbidden(
                        f"The organization has {self._limit} short URLs, which is the limit (DASHWRIGHT_SHORT_URLS); unused ones expire"
                    )
                uid = new_uid()
                await short_urls.insert(connection, caller.org_id, uid, caller.user_id, checked_path, now=now)
            await audit.record(connection, actor, "shorturl.create", f"shorturl:{uid}", org_id=caller.org_id)
        return uid

    async def resolve(self, caller: Identity, uid: str) -> str:
        """Return the path of a short URL, percent-encoded and with a slash at the start. Raises NotFound."""
        now = self._clock.now()
        async with self._database.connection() as connection:
            short_url = await short_urls.find(connection, caller.org_id, uid)
            if short_url is None:
                raise NotFound("short URL not found: it may belong to another organization, or it was not used for a long time")
            if now - short_url.last_used_at > _USE_PRECISION:
                await short_urls.touch(connection, caller.org_id, uid, now=now)
        return f"/{short_url.path}"
