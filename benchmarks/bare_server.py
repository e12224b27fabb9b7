"""The HTTP server of reference programs: aiohttp alone, on a free port of the loopback interface."""

import asyncio

from aiohttp import web


async def serve(application: web.Application) -> None:
    """Serve until the process ends. Print the address when the server is ready."""
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    print(f"http://{host}:{port}", flush=True)
    await asyncio.Future()
