"""The reference of watches: aiohttp alone keeps responses open without sending events.

``python -m benchmarks.bare_watches`` runs the server, which prints its address when it is ready.
"""

import asyncio

import uvloop
from aiohttp import web


async def _keep_open(request: web.BaseRequest) -> web.StreamResponse:
    """Send the head of a response, and keep the response open until the client closes the connection."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    await asyncio.get_running_loop().create_future()
    return response


async def main() -> None:
    """Serve until the process ends. Print the address when the server is ready."""
    runner = web.ServerRunner(web.Server(_keep_open, access_log=None))
    await runner.setup()
    # Many watches are opened concurrently; the default backlog is 128.
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
    await site.start()
    print(f"http://127.0.0.1:{site.port}", flush=True)
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    uvloop.run(main())
