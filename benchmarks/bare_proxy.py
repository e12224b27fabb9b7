"""The reference of proxied streams: aiohttp alone forwards responses of a server to clients.

``python -m benchmarks.bare_proxy source BYTES`` runs the server, and ``… proxy URL`` the reference. Each prints its address when it is
ready.
"""

import sys
from collections.abc import Awaitable, Callable

import aiohttp
import uvloop
from aiohttp import web

from benchmarks import bare_server

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

#: One write of the server.
_CHUNK = bytes(64 * 1024)


async def serve_source(size: int) -> None:
    """Run the server, which responds to every request with ``size`` bytes, until the process ends."""

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.content_length = size
        await response.prepare(request)
        for start in range(0, size, len(_CHUNK)):
            await response.write(_CHUNK[: size - start])  # The last chunk may be shorter.
        return response

    await bare_server.serve(_application(handle))


async def serve_proxy(url: str) -> None:
    """Run the reference, which responds to every request with the response of the server at ``url``, until the process ends."""
    async with aiohttp.ClientSession(url) as session:

        async def handle(request: web.Request) -> web.StreamResponse:
            async with session.get(request.path_qs) as upstream:
                response = web.StreamResponse(status=upstream.status)
                response.content_length = upstream.content_length
                await response.prepare(request)
                async for chunk in upstream.content.iter_any():
                    await response.write(chunk)
                return response

        await bare_server.serve(_application(handle))


def _application(handle: Handler) -> web.Application:
    """Return an application with one handler for every GET."""
    application = web.Application()
    application.router.add_get("/{path:.*}", handle)
    return application


if __name__ == "__main__":
    role, argument = sys.argv[1:]
    uvloop.run(serve_source(int(argument)) if role == "source" else serve_proxy(argument))
