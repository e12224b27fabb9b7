"""The reference of proxied streams: aiohttp alone passes the bytes of a server to a client.

``python -m benchmarks.bare_proxy source BYTES`` is the server, and ``… proxy URL`` the reference; each prints its address when it is
ready.
"""

import asyncio
import sys

import aiohttp
import uvloop
from aiohttp import web

_PIECE = bytes(64 * 1024)


async def serve_source(size: int) -> None:
    """Respond to every request with ``size`` bytes."""

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.content_length = size
        await response.prepare(request)
        for start in range(0, size, len(_PIECE)):
            await response.write(_PIECE[: size - start])
        return response

    await _serve(handle)


async def serve_proxy(url: str) -> None:
    """Respond to every request with the response of the server."""
    async with aiohttp.ClientSession(url) as session:

        async def handle(request: web.Request) -> web.StreamResponse:
            async with session.get(request.path_qs) as upstream:
                response = web.StreamResponse(status=upstream.status)
                response.content_length = upstream.content_length
                await response.prepare(request)
                async for chunk in upstream.content.iter_any():
                    await response.write(chunk)
                return response

        await _serve(handle)


async def _serve(handle: web.RequestHandler | object) -> None:
    application = web.Application()
    application.router.add_get("/{path:.*}", handle)  # type: ignore[arg-type]
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    print(f"http://{host}:{port}", flush=True)
    await asyncio.Future()


if __name__ == "__main__":
    role, argument = sys.argv[1:]
    uvloop.run(serve_source(int(argument)) if role == "source" else serve_proxy(argument))
