"""A simulated network: a TCP proxy that delays all data and does not limit the throughput.

``python -m benchmarks.sync.network MILLISECONDS URL…`` starts a proxy for each URL of a server, and prints the URLs of the proxies. A
round trip takes the given time longer.
"""

import asyncio
import sys
from contextlib import AsyncExitStack, suppress
from typing import Final
from urllib.parse import urlsplit

_READ_BYTES: Final = 1 << 16
#: Chunks in transit for each connection and direction, up to 16 MB.
_CHUNKS_IN_FLIGHT: Final = 256


class DelayingProxy:
    """A proxy between clients and a server, through which a round trip takes ``round_trip_ms`` longer."""

    def __init__(self, host: str, port: int, round_trip_ms: float) -> None:
        self._host = host
        self._port = port
        #: The delay of each direction.
        self._delay_seconds = round_trip_ms / 2_000

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward a connection in both directions until both sides have closed it."""
        # The handshake of TCP takes a round trip.
        await asyncio.sleep(2 * self._delay_seconds)
        server_reader, server_writer = await asyncio.open_connection(self._host, self._port)
        with suppress(ConnectionError):
            await asyncio.gather(self._forward(reader, server_writer), self._forward(server_reader, writer))

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one direction. Chunks are read while earlier ones wait, so that the delay does not limit the throughput."""
        chunks: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_CHUNKS_IN_FLIGHT)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._read(reader, chunks))
            tasks.create_task(self._write(chunks, writer))

    async def _read(self, reader: asyncio.StreamReader, chunks: asyncio.Queue[tuple[float, bytes]]) -> None:
        """Queue each chunk with the time at which it is due."""
        is_open = True
        while is_open:
            # An empty chunk is the end of the connection, which is forwarded, too.
            chunk = await reader.read(_READ_BYTES)
            is_open = bool(chunk)
            await chunks.put((asyncio.get_running_loop().time() + self._delay_seconds, chunk))

    async def _write(self, chunks: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
        """Write each chunk when it is due, and close the connection after the last one."""
        while True:
            due, chunk = await chunks.get()
            await asyncio.sleep(due - asyncio.get_running_loop().time())
            if not chunk:
                break
            writer.write(chunk)
            await writer.drain()
        writer.close()


async def main() -> None:
    """Serve until the process ends. Print the URLs when the proxies are ready."""
    round_trip_ms, addresses = float(sys.argv[1]), [urlsplit(address) for address in sys.argv[2:]]
    async with AsyncExitStack() as exit_stack:
        for address in addresses:
            proxy = DelayingProxy(str(address.hostname), int(address.port or 80), round_trip_ms)
            server = await exit_stack.enter_async_context(await asyncio.start_server(proxy.connect, "127.0.0.1", 0))
            print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main())
