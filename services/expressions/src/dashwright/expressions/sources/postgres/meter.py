"""Limit on the bytes that a server sends. asyncpg has none, and a single value may have a gigabyte."""

import asyncio
import math
from typing import TYPE_CHECKING, Any

import asyncpg

if TYPE_CHECKING:
    _Connection = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection


class Meter(asyncio.Protocol):
    """A protocol between a connection and asyncpg's protocol that counts bytes, and aborts the connection at the limit."""

    def __init__(self, protocol: Any, transport: Any) -> None:
        self._protocol = protocol
        self._transport = transport
        self._received = 0
        self._limit = math.inf
        self.exceeded = False

    def start(self, limit: float) -> None:
        """Start counting from zero, up to ``limit`` bytes."""
        self._received, self._limit = 0, limit

    def data_received(self, data: bytes) -> None:
        """Count the data and pass it on, or abort the connection."""
        self._received += len(data)
        if self._received > self._limit:
            self.exceeded = True
            self._transport.abort()
        elif not self.exceeded:
            self._protocol.data_received(data)

    def eof_received(self) -> bool | None:
        """Pass the end of the stream on."""
        ended: bool | None = self._protocol.eof_received()
        return ended

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass the loss of the connection on."""
        self._protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        """Pass the pause on."""
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """Pass the resumption on."""
        self._protocol.resume_writing()


class MeteredConnection(_Connection):
    """A connection with its meter, which ``metered`` sets."""

    __slots__ = ("meter",)
    meter: Meter


def metered(connection: MeteredConnection) -> MeteredConnection:
    """Return the connection with a meter between its transport and its protocol."""
    transport = connection._transport  # type: ignore[attr-defined]
    connection.meter = Meter(connection._protocol, transport)  # type: ignore[attr-defined]
    transport.set_protocol(connection.meter)
    return connection
