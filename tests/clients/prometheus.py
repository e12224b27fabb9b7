"""The Prometheus that clients query. It scrapes itself."""

from contextlib import AsyncExitStack
from typing import Any

import aiohttp
from tests.acceptance.polling import wait_until
from tests.servers import prometheus

#: True once the server has scraped itself at least twice.
_QUERY = {"query": "count_over_time(up[1m]) > 1"}


async def url(stack: AsyncExitStack) -> str:
    """Start a server that ends with ``stack``, wait until it has data, and return its address. Raises CannotProvide."""
    server = await prometheus.provide([])
    stack.push_async_callback(server.remove)
    session = await stack.enter_async_context(aiohttp.ClientSession())

    async def has_data() -> bool:
        """Return True if the query has a result."""
        async with session.get(f"{server.url}/api/v1/query", params=_QUERY) as response:
            result: dict[str, Any] = await response.json()
            return bool(result["data"]["result"])

    await wait_until(has_data, seconds=60)
    return server.url
