"""The reference of watches: aiohttp alone holds open responses that nothing is sent to.

``python -m benchmarks.bare_watches``; it prints its address when it is ready.
"""

import asyncio

import uvloop
from aiohttp import web


async def _held(request: web.BaseRequest) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    await asyncio.get_running_loop().create_future()
    return response


async def main() -> None:
    """Serve until the process ends."""
    runner = web.ServerRunner(web.Server(_held, access_log=None))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
    await site.start()
    print(f"http://127.0.0.1:{site.port}", flush=True)
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    uvloop.run(main())
