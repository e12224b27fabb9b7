"""Connection pools that outlive tests: a new connection costs PostgreSQL more processor time than most tests do."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.servers.databases import WARM_SESSIONS
from tests.servers.warm_listeners import ListeningDatabase, WarmListeners

from dashwright.common.database.pool import Database


class WarmPools:
    """Pools by the URL of their database, which is restored between tests. All tests must run in one event loop."""

    def __init__(self) -> None:
        self._pools: dict[str, Database] = {}
        self._listeners: dict[str, WarmListeners] = {}

    @asynccontextmanager
    async def lend(self, url: str) -> AsyncIterator[Database]:
        """Yield a ``Database`` without state of earlier tests, over connections that may have served them."""
        pool = await self._pool_of(url)
        # Connections outside the pool, such as those that listen, must end with the test.
        options = {**pool._options, "server_settings": {**pool._options["server_settings"], "application_name": "test"}}
        database = Database(pool._pool, url, options, pool._timeouts)
        yield database
        await self._return(database)

    @asynccontextmanager
    async def lend_with_listeners(self, url: str) -> AsyncIterator[Database]:
        """Yield a ``Database`` like ``lend``, whose connections for notifications may have served earlier tests, too."""
        pool = await self._pool_of(url)
        listeners = self._listeners.setdefault(url, WarmListeners(pool))
        database = ListeningDatabase(pool, listeners)
        yield database
        listeners.end_test()
        await self._return(database)

    async def close(self) -> None:
        """Close all connections."""
        for listeners in self._listeners.values():
            listeners.terminate()
        for pool in self._pools.values():
            await pool.close()

    async def _pool_of(self, url: str) -> Database:
        """Return the pool of a database, which is opened at the first use."""
        if url not in self._pools:
            self._pools[url] = await Database.open(url, application_name=WARM_SESSIONS, min_size=1, max_size=5)
        return self._pools[url]

    async def _return(self, database: Database) -> None:
        """Close the pool of a database if a test has closed it, or has not returned all of its connections."""
        await database._notifier.flush()
        pool = database._pool
        if pool.is_closing() or pool.get_idle_size() < pool.get_size():
            self._pools.pop(database._url)._pool.terminate()
