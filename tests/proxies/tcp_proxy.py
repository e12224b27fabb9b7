"""A TCP proxy between a service and a server, which a test interrupts, slows down or redirects to simulate faults of the network."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit

from tests.proxies.conversation import Conversation, Opaque, Unit
from tests.proxies.traps import Traps

_CHUNK_BYTES = 65_536


class TcpProxy:
    """A proxy on one loopback port that forwards bytes to the server of ``url``. The port is the same after each interruption.

    ``open_conversation`` returns the decoder of a new connection, whose moments are reported to ``traps``.
    """

    def __init__(self, url: str, open_conversation: Callable[[], Conversation] = Opaque, traps: Traps | None = None) -> None:
        #: Seconds by which each piece is delayed in each direction.
        self.delay_seconds = 0.0
        self.traps = traps or Traps()
        self._parts = urlsplit(url)
        self._open_conversation = open_conversation
        #: 0, which selects a free port, until the first listener has one.
        self._port = 0
        self._listener: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_forwarding = asyncio.Event()
        self._is_forwarding.set()

    @property
    def url(self) -> str:
        """The server's URL with the proxy's address."""
        credentials, at, _ = self._parts.netloc.rpartition("@")
        return self._parts._replace(netloc=f"{credentials}{at}127.0.0.1:{self._port}").geturl()

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.disconnect()

    async def connect(self) -> None:
        """Accept connections and forward them to the server."""
        self._listener = await asyncio.start_server(self._handle_connection, "127.0.0.1", self._port)
        self._port = self._listener.sockets[0].getsockname()[1]

    async def disconnect(self) -> None:
        """Abort every connection and refuse new ones."""
        if self._listener is not None:
            self._listener.close()
            self.abort()
            await self._listener.wait_closed()
            self._listener = None

    def abort(self) -> None:
        """Abort every connection. New ones are accepted."""
        for writer in self._writers:
            writer.transport.abort()

    def redirect(self, url: str) -> None:
        """Forward later connections to the server of another URL, which may differ in its address only."""
        self._parts = urlsplit(url)

    def hold(self) -> None:
        """Hold back all bytes of both directions, as a partition of the network does. New connections are accepted."""
        self._is_forwarding.clear()

    def release(self) -> None:
        """Forward the bytes that ``hold`` has held back, and all later ones."""
        self._is_forwarding.set()

    async def _handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward the bytes of a client's connection in both directions until both have ended."""
        self._writers.add(writer)
        conversation = self._open_conversation()
        try:
            server_reader, server_writer = await asyncio.open_connection(self._parts.hostname, self._parts.port)
            self._writers.add(server_writer)
            try:
                await asyncio.gather(
                    self._forward(reader, server_writer, conversation.from_client),
                    self._forward(server_reader, writer, conversation.from_server),
                )
            finally:
                self._writers.discard(server_writer)
                server_writer.close()
        except OSError:  # the server refuses connections, and so does the proxy
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, units_of: Callable[[bytes], Iterator[Unit]]
    ) -> None:
        """Forward one direction unit by unit, with a stop at each moment, and close ``writer`` at the end."""
        # A trap that springs raises TrapSprung, which is a ConnectionError.
        with suppress(ConnectionError):
            while piece := await reader.read(_CHUNK_BYTES):
                if self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)
                await self._is_forwarding.wait()
                for unit in units_of(piece):
                    for moment in unit.before:
                        await self.traps.reach(moment)
                    writer.write(unit.data)
                    for moment in unit.after:
                        # The moment is only reached when the bytes were sent.
                        await writer.drain()
                        await self.traps.reach(moment)
                await writer.drain()
        writer.close()
