"""A fake data source on a loopback port, with responses that a test chooses."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import orjson
from aiohttp import web
from aiohttp.test_utils import TestServer

from dashwright.common.allowed_hosts import LOOPBACK, AllowedHosts
from dashwright.common.host_resolver import HostResolver
from dashwright.expressions.sources.http_client import HttpClient

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

LOOPBACK_RESOLVER = HostResolver(AllowedHosts.parse(LOOPBACK))


class ReceivedRequest(NamedTuple):
    """A request that a server has received."""

    method: str
    path: str
    parameters: dict[str, str]  #: The parameters of the query and of the body together.
    headers: dict[str, str]


class FakeServer:
    """A server that responds by ``handler``, and records its requests."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.requests: list[ReceivedRequest] = []
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._respond)
        self.server = TestServer(application)

    @property
    def url(self) -> str:
        """Address of the server, without a slash at the end."""
        return str(self.server.make_url("/")).rstrip("/")

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        """Record the request, and return the handler's response."""
        form = {key: str(value) for key, value in (await request.post()).items()}
        self.requests.append(ReceivedRequest(request.method, request.path, {**request.query, **form}, dict(request.headers)))
        return await self._handler(request)


def success(result_type: str, result: Any, **fields: Any) -> bytes:
    """Return the body of a successful response of Prometheus."""
    return orjson.dumps({"status": "success", "data": {"resultType": result_type, "result": result}, **fields})


def respond_with(body: bytes, status: int = 200, **headers: str) -> Handler:
    """Return a handler with a fixed response."""

    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(body=body, status=status, headers=headers, content_type="application/json")

    return handler


def loopback_client(resolver: HostResolver = LOOPBACK_RESOLVER) -> HttpClient:
    """Return a client with few connections, which by default may reach this machine."""
    return HttpClient(resolver, connections=4)
