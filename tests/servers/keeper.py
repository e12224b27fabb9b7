"""Process that keeps the servers shared by one test run: started at the first request, removed when the run ends.

No other process lives exactly as long as the run: pytest-xdist starts and ends its workers, and Ctrl-C or a kill may end the
controller. The keeper ends when its standard input closes, which the operating system ensures even if the controller dies, and
its servers end with it. A request is a line on its socket with the name of a server (``postgres``), the response a line of JSON.
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
_TIMEOUT_SECONDS = 600  # at the first run, an image or package may have to be downloaded

_MEMORY_FOLDER = Path("/dev/shm")
#: 6 GiB, which the files of a run in memory may need.
_MIN_FREE_BYTES = 6 << 30


def _memory_folder() -> Path | None:
    """Return a folder in memory for the files of servers and tests, or None if memory lacks space for them.

    Each test has a database of its own: their files are written and deleted so fast that a disk would be the bottleneck. Git and
    the embedded PostgreSQL even wait for the disk at each commit.
    """
    if not _MEMORY_FOLDER.is_dir() or not os.access(_MEMORY_FOLDER, os.W_OK):
        return None
    return _MEMORY_FOLDER if shutil.disk_usage(_MEMORY_FOLDER).free >= _MIN_FREE_BYTES else None


class Keeper:
    """The controller's handle on the keeper process.

    Environment variables name the run's folder to this process, its workers and their programs, also for temporary files.
    """

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="dashwright-tests-", dir=_memory_folder())
        Path(folder).chmod(0o711)  # servers that run as another user have folders of their own in it
        os.environ[RUN_FOLDER] = os.environ["TMPDIR"] = tempfile.tempdir = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.keeper", folder],
            stdin=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The process id of the keeper."""
        return self._process.pid

    def close(self) -> None:
        """Stop the keeper and wait until its servers are removed."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(60)
        del os.environ[RUN_FOLDER], os.environ["TMPDIR"]
        tempfile.tempdir = None


def request_server(name: str) -> dict[str, str]:
    """Return the addresses of a shared server, which is started if needed. Raises CannotProvide, which lists the attempts."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_TIMEOUT_SECONDS)
        _connect(connection, f"{os.environ[RUN_FOLDER]}/{_SOCKET}")
        connection.sendall(f"{name}\n".encode())
        with connection.makefile() as response:
            addresses: dict[str, str] = json.loads(response.readline())
    if "error" in addresses:
        raise CannotProvide(addresses["error"])
    return addresses


def _connect(connection: socket.socket, address: str) -> None:
    """Connect to the keeper, which may still be starting: its socket file appears when it listens."""
    for _ in range(1000):
        try:
            connection.connect(address)
        except (FileNotFoundError, ConnectionRefusedError):
            threading.Event().wait(0.02)
        else:
            return
    raise CannotProvide(f"the keeper of the test servers did not start ({address})")


class _SharedServers:
    """Servers by name, each started once. A failed start is not repeated."""

    def __init__(self) -> None:
        self._servers: list[Server] = []
        self._addresses: dict[str, dict[str, str]] = {}
        self._locks = {name: asyncio.Lock() for name in _PROVIDERS}

    async def respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Respond to a request with the addresses of the server, or with the reason why there is no server."""
        name = (await reader.readline()).decode().strip()
        async with self._locks[name]:
            if name not in self._addresses:
                self._addresses[name] = await self._provide(name)
        writer.write(json.dumps(self._addresses[name]).encode() + b"\n")
        await writer.drain()
        writer.close()

    async def _provide(self, name: str) -> dict[str, str]:
        """Start a server, and return its addresses or the error."""
        # Imported on request: most runs of a few tests need no server, and the import takes time.
        provider = import_module(_PROVIDERS[name])
        try:
            server: Server = await provider.provide()
        except CannotProvide as error:
            return {"error": str(error)}
        self._servers.append(server)
        return server.addresses

    async def remove(self) -> None:
        """Remove all servers that were started."""
        await asyncio.gather(*(server.remove() for server in self._servers))


async def _serve_until_end_of_run(folder: Path) -> None:
    """Provide servers until standard input closes, and then remove them with the folder of the run."""
    shared = _SharedServers()
    end_of_run = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), end_of_run.set)
    async with await asyncio.start_unix_server(shared.respond, folder / _SOCKET):
        await end_of_run.wait()
    await shared.remove()
    shutil.rmtree(folder, ignore_errors=True)  # a killed worker's private servers may still be writing to it


if __name__ == "__main__":
    asyncio.run(_serve_until_end_of_run(Path(sys.argv[1])))
