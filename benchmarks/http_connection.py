"""A minimal HTTP client with one persistent connection and encoded requests, so that little of the measured time is its own."""

import asyncio
import base64
from typing import Self
from urllib.parse import urlsplit

#: The longest head of a response or line of a chunked body.
_BUFFER_BYTES = 4 * 2**20


class HttpConnection:
    """A connection to a server that authenticates as the first user, admin."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader = reader
        self._writer = writer
        self._host = host

    @classmethod
    async def open(cls, address: str) -> Self:
        """Connect to a server by its URL."""
        parts = urlsplit(address)
        assert parts.hostname is not None
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=_BUFFER_BYTES)
        return cls(reader, writer, parts.netloc)

    def encode(self, method: str, path: str, body: bytes = b"", *, accept: str = "*/*") -> bytes:
        """Return an encoded request."""
        credentials = base64.b64encode(b"admin:admin").decode()
        headers = {"Host": self._host, "Authorization": f"Basic {credentials}", "Accept": accept, "Content-Length": len(body)}
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
        return head.encode() + body

    async def call(self, request: bytes, *, status: int) -> bytes:
        """Send an encoded request and return the body. Raises AssertionError if the response has another status."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        body = await self._reader.readexactly(int(length)) if length else await self._read_chunks()
        if int(head[9:12]) != status:  # The status follows ``HTTP/1.1 ``.
            raise AssertionError(f"{head.decode()}{body[:500].decode()}")
        return body

    async def call_and_discard(self, request: bytes) -> None:
        """Send an encoded request, and read the body without keeping it. The response must have a Content-Length header."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        remaining = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if not head.startswith(b"HTTP/1.1 200"):
            raise AssertionError(head.decode())
        while remaining:
            remaining -= len(await self._reader.read(remaining))

    async def _read_chunks(self) -> bytes:
        """Return a chunked body. A line with the size precedes each chunk, and a line break follows it. The last size is 0."""
        chunks = []
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            chunks.append(await self._reader.readexactly(size))
            await self._reader.readexactly(len(b"\r\n"))
        await self._reader.readexactly(len(b"\r\n"))
        return b"".join(chunks)

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
        await self._writer.wait_closed()
