"""The reference of the gateway: aiohttp and asyncpg alone return the same data, without authentication or authorization.

``python -m benchmarks.bare_gateway DATABASE_URL`` runs the server, which prints its address when it is ready.
"""

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import asyncpg.pool
import orjson
import uvloop
from aiohttp import web

from benchmarks import bare_server
from dashwright.common.database import queries
from dashwright.common.models.quotas import ORG_TARGETS, UNLIMITED

QUOTAS_PATH = "/api/org/quotas"
#: The path of the collection of dashboards in a namespace.
DASHBOARDS_ROUTE = "/apis/dashboard.grafana.app/v2alpha1/namespaces/{namespace}/dashboards"
#: Connections to the database, as many as the product has by default.
POOL_SIZE = 10

#: The package with the product's SQL files.
_STORES = "dashwright.common.stores"
#: The organization of the first user.
_ORG_ID = 1


async def _keep_state(_connection: Any) -> None:
    """Do not reset a returned connection, which saves a round trip, as in the product's pool."""


class StatementRunner:
    """Runner of the product's statements, which returns their rows as JSON."""

    def __init__(self, pool: "asyncpg.pool.Pool[asyncpg.Record]") -> None:
        self._pool = pool
        self._limits_and_use = queries.load(_STORES, "quotas.sql").limits_and_use
        self._get = queries.load(_STORES, "resources.sql").get

    @classmethod
    async def open(cls, database_url: str) -> "StatementRunner":
        """Connect to the database."""
        return cls(await asyncpg.create_pool(database_url, min_size=1, max_size=POOL_SIZE, reset=_keep_state))

    async def quotas(self) -> bytes:
        """Return the quotas of the organization with their use."""
        count = len(ORG_TARGETS)
        parameters = ["org"] * count, [_ORG_ID] * count, ORG_TARGETS, [UNLIMITED] * count
        async with self._pool.acquire() as connection:
            rows = await connection.fetch(self._limits_and_use, *parameters, True)
        return orjson.dumps([dict(row) for row in rows])

    async def dashboard(self, namespace: str, name: str) -> bytes:
        """Return a dashboard with metadata and spec, as they are stored."""
        async with self._pool.acquire() as connection:
            row = await connection.fetchrow(self._get, namespace, "dashboard.grafana.app", "dashboards", name)
        assert row is not None
        return orjson.dumps({"metadata": orjson.Fragment(row["metadata"]), "spec": orjson.Fragment(row["spec"])})


def _application(runner: StatementRunner) -> web.Application:
    """Return the application with one route for quotas and one for a dashboard."""

    async def quotas(_request: web.Request) -> web.Response:
        return web.Response(body=await runner.quotas(), content_type="application/json")

    async def dashboard(request: web.Request) -> web.Response:
        body = await runner.dashboard(request.match_info["namespace"], request.match_info["name"])
        return web.Response(body=body, content_type="application/json")

    application = web.Application()
    handlers: dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]] = {
        QUOTAS_PATH: quotas,
        f"{DASHBOARDS_ROUTE}/{{name}}": dashboard,
    }
    application.add_routes([web.get(path, handler) for path, handler in handlers.items()])
    return application


async def serve(database_url: str) -> None:
    """Serve until the process ends."""
    await bare_server.serve(_application(await StatementRunner.open(database_url)))


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
