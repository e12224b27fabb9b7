"""A receiver of webhooks on the loopback interface."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from standardwebhooks.webhooks import Webhook

# The example of the Standard Webhooks specification.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@dataclass(frozen=True)
class ReceivedRequest:
    """A request with its headers in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        """The id of the message, which is the same for each attempt to deliver it."""
        return self.headers["webhook-id"]

    @property
    def event(self) -> dict[str, Any]:
        """Return the event. Raises WebhookVerificationError unless the signature is valid."""
        Webhook(SECRET).verify(self.body.decode(), self.headers)
        event: dict[str, Any] = json.loads(self.body)
        return event


ResponseFunction = Callable[[ReceivedRequest], Awaitable[web.StreamResponse]]


async def accept(_: ReceivedRequest) -> web.StreamResponse:
    """Respond with 204 to every request."""
    return web.Response(status=204)


def respond_with(*statuses: int) -> ResponseFunction:
    """Return a function that responds with each status once, and then with 204."""
    remaining = list(statuses)

    async def respond(_: ReceivedRequest) -> web.StreamResponse:
        """Respond with the next status, or with 204 after the last one."""
        return web.Response(status=remaining.pop(0) if remaining else 204, headers={"Location": "/elsewhere"})

    return respond


class WebhookReceiver:
    """A receiver that records requests, and responds to them as ``respond`` decides."""

    def __init__(self) -> None:
        self.respond: ResponseFunction = accept
        self.received: list[ReceivedRequest] = []
        self.url = ""
        self._queue: asyncio.Queue[ReceivedRequest] = asyncio.Queue()

    async def next(self) -> ReceivedRequest:
        """Return the next request."""
        async with asyncio.timeout(30):
            return await self._queue.get()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Record a request and respond to it."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        received = ReceivedRequest(request.path, headers, await request.read())
        self.received.append(received)
        self._queue.put_nowait(received)
        return await self.respond(received)


@asynccontextmanager
async def receiving() -> AsyncIterator[WebhookReceiver]:
    """Yield a receiver that listens on a free port."""
    receiver = WebhookReceiver()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", receiver.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    address = runner.addresses[0]
    receiver.url = f"http://{address[0]}:{address[1]}/hooks/secret-path"
    yield receiver
    await runner.cleanup()
