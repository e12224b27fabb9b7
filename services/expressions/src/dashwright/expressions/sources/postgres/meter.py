"""A limit on the bytes that a server sends. asyncpg has none, and a single value may have a gigabyte."""

import asyncio
import math
from typing import TYPE_CHECKING, Any

import asyncpg

if TYPE_CHECKING:
    _Connection = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection


class Meter(asyncio.Protocol):
    """A wrapper of asyncpg's protocol that counts received bytes and aborts the connection at a limit."""

    def __init__(self, protocol: Any, transport: Any) -> None:
        self._protocol = protocol
        self._transport = transport
        self._received_bytes = 0
        self._max_bytes = math.inf
        self.is_exceeded = False  #: Whether the server sent more than the limit.

    def start(self, max_bytes: float) -> None:
        """Start counting from zero, up to ``max_bytes``."""
        self._received_bytes, self._max_bytes = 0, max_bytes

    def data_received(self, data: bytes) -> None:
        """Count the data and forward it, or abort the connection."""
        self._received_bytes += len(data)
        if self._received_bytes > self._max_bytes:
            self.is_exceeded = True
            self._transport.abort()
        elif not self.is_exceeded:
            self._protocol.data_received(data)

    def eof_received(self) -> bool | None:
        """Forward the end of the stream."""
        keep_open: bool | None = self._protocol.eof_received()
        return keep_open

    def connection_lost(self, exc: Exception | None) -> None:
        """Forward the loss of the connection."""
        self._protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        """Forward the pause."""
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """Forward the resumption."""
        self._protocol.resume_writing()


class MeteredConnection(_Connection):
    """A connection with a meter, which ``metered`` sets."""

    __slots__ = ("meter",)
    meter: Meter


def metered(connection: MeteredConnection) -> MeteredConnection:
    """Insert a meter between transport and protocol of the connection, and return the connection."""
    transport = connection._transport  # type: ignore[attr-defined]
    connection.meter = Meter(connection._protocol, transport)  # type: ignore[attr-defined]
    transport.set_protocol(connection.meter)
    return connection
