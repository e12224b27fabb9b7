"""Keeps the servers that one test run shares: started when the first test asks, removed when the run ends, however it ends.

It is a process of its own, since no other one lives exactly as long as the run: workers of pytest-xdist come and go, and Ctrl-C or
a kill may take the controller. It ends when its standard input closes, which the system does for a controller that died; and its
servers end when it does. A request is a line on its socket (``postgres``, say), the answer a line of JSON.
"""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from importlib import import_module
from pathlib import Path

from tests.servers.process import RUN_FOLDER, CannotProvide, Server

_SOCKET = "socket"
_PROVIDERS = {"postgres": "tests.servers.postgres", "rabbitmq": "tests.servers.rabbitmq", "mariadb": "tests.servers.mariadb"}
_PATIENCE = 600  # seconds; a first image or package may have to be downloaded


class Keeper:
    """The controller's handle on the keeper process. While it lives, the environment tells this process and its workers the folder."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="dashwright-tests-")
        Path(folder).chmod(0o711)  # servers that run as another user have folders of their own in it
        os.environ[RUN_FOLDER] = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.keeper", folder],
            stdin=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        """Waits until the servers are gone."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(60)
        del os.environ[RUN_FOLDER]


def request_server(name: str) -> dict[str, str]:
    """The addresses of a shared server, starting it if need be. Raises CannotProvide, saying what was tried."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_PATIENCE)
        _connect(connection, f"{os.environ[RUN_FOLDER]}/{_SOCKET}")
        connection.sendall(f"{name}\n".encode())
        with connection.makefile() as answer:
            addresses: dict[str, str] = json.loads(answer.readline())
    if "error" in addresses:
        raise CannotProvide(addresses["error"])
    return addresses


def _connect(connection: socket.socket, address: str) -> None:
    """The keeper may be starting still: its socket file appears when it listens."""
    for _ in range(1000):
        try:
            connection.connect(address)
        except (FileNotFoundError, ConnectionRefusedError):
            threading.Event().wait(0.02)
        else:
            return
    raise CannotProvide(f"the keeper of the test servers did not start ({address})")


class _SharedServers:
    """One server of each name, made once; what could not be made is not tried again."""

    def __init__(self) -> None:
        self._servers: list[Server] = []
        self._addresses: dict[str, dict[str, str]] = {}
        self._locks = {name: asyncio.Lock() for name in _PROVIDERS}

    async def respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = (await reader.readline()).decode().strip()
        async with self._locks[name]:
            if name not in self._addresses:
                self._addresses[name] = await self._provide(name)
        writer.write(json.dumps(self._addresses[name]).encode() + b"\n")
        await writer.drain()
        writer.close()

    async def _provide(self, name: str) -> dict[str, str]:
        # Imported when asked for: most runs of a few tests need no server, and should not wait for one to be possible.
        provider = import_module(_PROVIDERS[name])
        try:
            server: Server = await provider.provide()
        except CannotProvide as error:
            return {"error": str(error)}
        self._servers.append(server)
        return server.addresses

    async def remove(self) -> None:
        await asyncio.gather(*(server.remove() for server in self._servers))


async def _keep(folder: Path) -> None:
    shared = _SharedServers()
    end_of_run = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), end_of_run.set)
    async with await asyncio.start_unix_server(shared.respond, folder / _SOCKET):
        await end_of_run.wait()
    await shared.remove()
    shutil.rmtree(folder, ignore_errors=True)  # a killed worker's own servers may be ending in it


if __name__ == "__main__":
    asyncio.run(_keep(Path(sys.argv[1])))
