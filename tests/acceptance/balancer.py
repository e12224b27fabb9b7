"""A load balancer of TCP connections over the gateways that are ready, like that of deploy/haproxy/haproxy.cfg."""

import asyncio
from contextlib import suppress
from typing import Final, Self
from urllib.parse import urlsplit

import aiohttp

#: Time between two checks of a gateway.
_CHECK_SECONDS: Final = 0.1
_CHUNK_BYTES: Final = 65_536


class Balancer:
    """A listener on a loopback port that forwards each connection to the ready gateway with the fewest connections."""

    def __init__(self) -> None:
        self.address = ""
        #: Numbers of connections of the ready gateways, by address.
        self._ready: dict[str, int] = {}
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._change = asyncio.Condition()
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2))

    async def __aenter__(self) -> Self:
        self._listener = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listener.close()
        for check in self._checks.values():
            check.cancel()
        await asyncio.gather(*self._checks.values(), return_exceptions=True)
        await self._session.close()

    async def add(self, gateway: str) -> None:
        """Add a gateway, and wait until it is ready."""
        self._checks[gateway] = asyncio.create_task(self._check(gateway))
        async with asyncio.timeout(20), self._change:
            await self._change.wait_for(lambda: gateway in self._ready)

    async def _check(self, gateway: str) -> None:
        """Check repeatedly whether a gateway is ready, and record it."""
        while True:
            is_ready = False
            with suppress(aiohttp.ClientError, TimeoutError):
                async with self._session.get(f"{gateway}/readyz") as response:
                    is_ready = response.status == 200
            async with self._change:
                if is_ready:
                    self._ready.setdefault(gateway, 0)
                else:
                    self._ready.pop(gateway, None)
                self._change.notify_all()
            await asyncio.sleep(_CHECK_SECONDS)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward a connection to the ready gateway with the fewest connections, until both sides have closed it."""
        gateway = min(self._ready, key=lambda candidate: self._ready[candidate])
        self._ready[gateway] += 1
        try:
            parts = urlsplit(gateway)
            gateway_reader, gateway_writer = await asyncio.open_connection(parts.hostname, parts.port)
            await asyncio.gather(_copy(reader, gateway_writer), _copy(gateway_reader, writer))
        finally:
            if gateway in self._ready:
                self._ready[gateway] -= 1
            writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Write all bytes of the reader to the writer, and then close the writer."""
    with suppress(ConnectionError):
        while chunk := await reader.read(_CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
    writer.close()
