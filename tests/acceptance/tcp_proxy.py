"""A TCP proxy between a service and a server, which a test interrupts and restores to simulate an outage."""

import asyncio
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit

_PIECE = 65_536


class TcpProxy:
    """A proxy on one loopback port that forwards bytes to the server of ``url``. The port is the same after each interruption."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._port = 0
        self._listener: asyncio.Server | None = None
        self._ends: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        """The server's URL with the proxy's address."""
        credentials = self._parts.netloc.rpartition("@")[0]
        return self._parts._replace(netloc=f"{credentials}@127.0.0.1:{self._port}").geturl()

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.disconnect()

    async def connect(self) -> None:
        """Accept connections and forward them to the server."""
        self._listener = await asyncio.start_server(self._join, "127.0.0.1", self._port)
        self._port = self._listener.sockets[0].getsockname()[1]

    async def disconnect(self) -> None:
        """Abort every connection and refuse new ones."""
        if self._listener is not None:
            self._listener.close()
            for end in self._ends:
                end.transport.abort()
            await self._listener.wait_closed()
            self._listener = None

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ends.add(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection(self._parts.hostname, self._parts.port)
            self._ends.add(far_writer)
            try:
                await asyncio.gather(_pass_on(reader, far_writer), _pass_on(far_reader, writer))
            finally:
                self._ends.discard(far_writer)
                far_writer.close()
        finally:
            self._ends.discard(writer)
            writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
    writer.close()
