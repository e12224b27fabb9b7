"""Parts of privately started servers: a port, a folder that the server's user can enter, and a wait until it serves."""

import asyncio
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

from dashwright.standalone import child

#: The folder that holds all files of a test run; the keeper removes it at the end.
RUN_FOLDER = "DASHWRIGHT_TEST_FOLDER"


class Server(Protocol):
    """A server that the tests provide. Addresses and data stay the same over ``stop`` and ``start``; ``remove`` deletes everything."""

    @property
    def addresses(self) -> dict[str, str]:
        """Addresses by name, such as ``url``."""
        ...

    async def start(self) -> None:
        """Start the server and wait until it serves. Raises CannotProvide."""
        ...

    async def stop(self) -> None:
        """Stop the server and keep its data."""
        ...

    async def remove(self) -> None:
        """Stop the server and delete its data."""
        ...


AnyServer = TypeVar("AnyServer", bound=Server)


class CannotProvide(Exception):
    """The reason why a server cannot be provided in one way."""


def free_port() -> int:
    """Return a loopback port outside the range of outgoing connections, so that it is still free after a restart."""
    for _ in range(100):
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise CannotProvide("no free port on the loopback")


def private_folder(name: str, account: child.UnixAccount) -> Path:
    """Create a folder, inside the run's folder if there is one, that only ``account`` and root can enter."""
    folder = Path(tempfile.mkdtemp(prefix=f"dashwright-{name}-", dir=os.environ.get(RUN_FOLDER)))
    if folder.stat().st_uid != account.uid:
        shutil.chown(folder, account.uid, account.gid)
    return folder


class Process:
    """Program whose output is in a file, and which ends at a signal."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        account: child.UnixAccount,
        output: Path,
        end_signal: signal.Signals,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._command, self._account, self._output = command, account, output
        self._end_signal, self._environment = end_signal, environment
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self, is_serving: Callable[[], Awaitable[bool]], *, timeout_seconds: float = 60) -> None:
        """Start the program and wait until ``is_serving`` returns True."""
        with self._output.open("ab") as output:
            self._process = child.spawn(
                self._command, account=self._account, output=output, parent_end_signal=self._end_signal, environment=self._environment
            )
        try:
            async with asyncio.timeout(timeout_seconds):
                while not await is_serving():
                    if self._process.poll() is not None:
                        raise CannotProvide(f"{self._command[0]} ended at its start: {self._end_of_output()}")
                    await asyncio.sleep(0.02)
        except TimeoutError as error:
            raise CannotProvide(f"{self._command[0]} did not serve within {timeout_seconds:.0f} s: {self._end_of_output()}") from error

    def _end_of_output(self) -> str:
        """Return the last thousand characters that the program has written."""
        return self._output.read_text(errors="replace").strip()[-1000:]

    async def stop(self, end_signal: signal.Signals | None = None) -> None:
        """End the program with ``end_signal``, by default its own, or kill it after 30 s."""
        if self._process is not None:
            await asyncio.to_thread(child.stop, self._process, end_signal or self._end_signal, timeout_seconds=30)
            self._process = None

    async def run(self) -> None:
        """Run the program to its end. Raises CannotProvide if it fails."""
        with self._output.open("ab") as output:
            process = child.spawn(
                self._command, account=self._account, output=output, parent_end_signal=self._end_signal, environment=self._environment
            )
        if await asyncio.to_thread(process.wait):
            raise CannotProvide(f"{self._command[0]} failed: {self._end_of_output()}")

    async def kill(self) -> None:
        """Kill the program and its process group: a script may have started the server."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await asyncio.to_thread(self._process.wait)
            self._process = None


class ExternalServer:
    """A server from the environment, which the tests neither start nor stop."""

    def __init__(self, **addresses: str) -> None:
        self.addresses = addresses

    async def start(self) -> None:
        """Do nothing: the server is running."""

    async def stop(self) -> None:
        """Do nothing: the server belongs to the user."""

    async def remove(self) -> None:
        """Do nothing: the server belongs to the user."""


async def start_first(server_name: str, methods: Sequence[Callable[[], AnyServer]]) -> AnyServer:
    """Start the server of the first method that works, and return it. Raises CannotProvide with the reason of each failure."""
    failures = []
    for method in methods:
        try:
            return await _start_server(method())
        except CannotProvide as error:
            failures.append(str(error))
    raise CannotProvide(f"Tests need {server_name}, which could not be provided: {'; '.join(failures)}.")


async def _start_server(server: AnyServer) -> AnyServer:
    """Start a server and return it. A server that cannot be started is removed."""
    try:
        await server.start()
    except BaseException:
        await server.remove()
        raise
    return server
