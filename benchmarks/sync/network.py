"""A network with delay: a TCP proxy that holds each piece of data back and does not limit the throughput.

``python -m benchmarks.sync.network MILLISECONDS ADDRESS…`` prints an address for each address of a server.
"""

import asyncio
import sys
from contextlib import AsyncExitStack, suppress
from typing import Final
from urllib.parse import urlsplit

_READ_BYTES: Final = 1 << 16
#: Pieces in flight for each connection and direction, about 16 MB.
_IN_FLIGHT: Final = 256


class DelayedNetwork:
    """Delay between clients and a server. A round trip takes ``round_trip_ms`` longer."""

    def __init__(self, host: str, port: int, round_trip_ms: float) -> None:
        self._host = host
        self._port = port
        self._delay = round_trip_ms / 2_000

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward a connection in both directions until both sides have closed it. Its handshake takes a round trip."""
        await asyncio.sleep(2 * self._delay)
        server_reader, server_writer = await asyncio.open_connection(self._host, self._port)
        with suppress(ConnectionError):
            await asyncio.gather(self._forward(reader, server_writer), self._forward(server_reader, writer))

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_IN_FLIGHT)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._read(reader, pieces))
            tasks.create_task(self._write(pieces, writer))

    async def _read(self, reader: asyncio.StreamReader, pieces: asyncio.Queue[tuple[float, bytes]]) -> None:
        piece = b"-"
        while piece:
            piece = await reader.read(_READ_BYTES)
            await pieces.put((asyncio.get_running_loop().time() + self._delay, piece))

    async def _write(self, pieces: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
        while True:
            due, piece = await pieces.get()
            await asyncio.sleep(due - asyncio.get_running_loop().time())
            if not piece:
                break
            writer.write(piece)
            await writer.drain()
        writer.close()


async def main() -> None:
    """Serve until the process ends."""
    round_trip_ms, addresses = float(sys.argv[1]), [urlsplit(address) for address in sys.argv[2:]]
    async with AsyncExitStack() as opened:
        for address in addresses:
            network = DelayedNetwork(str(address.hostname), int(address.port or 80), round_trip_ms)
            server = await opened.enter_async_context(await asyncio.start_server(network.connect, "127.0.0.1", 0))
            print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main())
