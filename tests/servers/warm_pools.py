"""Connection pools that outlive tests: a new connection costs PostgreSQL more processor time than most tests do."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.servers.databases import WARM_SESSIONS

from dashwright.common.database.pool import Database


class WarmPools:
    """Pools by the URL of their database, which is restored between tests. All tests must run on one event loop."""

    def __init__(self) -> None:
        self._kept: dict[str, Database] = {}

    @asynccontextmanager
    async def lend(self, url: str) -> AsyncIterator[Database]:
        """Yield a ``Database`` without state of earlier tests, over connections that may have served them."""
        kept = self._kept.get(url)
        if kept is None:
            kept = self._kept[url] = await Database.open(url, application_name=WARM_SESSIONS, min_size=1, max_size=5)
        # Connections outside the pool, such as those that listen, must end with the test.
        options = {**kept._options, "server_settings": {**kept._options["server_settings"], "application_name": "test"}}
        database = Database(kept._pool, url, options, kept._timeouts)
        yield database
        await database._notifier.flush()
        if kept._pool.is_closing() or kept._pool.get_idle_size() < kept._pool.get_size():
            self._kept.pop(url)._pool.terminate()

    async def close(self) -> None:
        """Close all connections."""
        for kept in self._kept.values():
            await kept.close()
