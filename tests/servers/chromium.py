"""A headless Chromium for tests of what browsers send: from the environment, from this host, or from Debian."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import ClientConnectionError, ClientSession, ClientWebSocketResponse
from tests.servers.packages import install
from tests.servers.process import Process, private_folder

from dashwright.standalone import child

ENVIRONMENT = "DASHWRIGHT_TEST_CHROMIUM"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking")
_TIMEOUT_SECONDS = 60.0


class Tab:
    """Page that is controlled by the DevTools protocol."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self._socket = socket
        self._count = 0
        self._events: list[dict[str, Any]] = []

    async def __aenter__(self) -> Self:
        for domain in ("Page", "Network", "Runtime"):
            await self.command(f"{domain}.enable")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._socket.close()

    async def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._count += 1
        number = self._count
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        message = await self._message(lambda message: message.get("id") == number)
        assert "error" not in message, message
        result: dict[str, Any] = message["result"]
        return result

    async def open(self, address: str) -> int:
        """Load a page and return the status of its response."""
        self._events.clear()
        await self.command("Page.navigate", url=address)
        return await self.status(address.rpartition("@")[2].removeprefix("http://"))

    async def load(self, address: str) -> int:
        """Load a page with all that it contains, and return the status of its response."""
        status = await self.open(address)
        await self._message(lambda message: message.get("method") == "Page.loadEventFired")
        return status

    async def status(self, end: str) -> int:
        """Return the status of the first response, from now on, whose address ends with this text."""

        def matches(message: dict[str, Any]) -> bool:
            """Return True for a response from this address."""
            return message.get("method") == "Network.responseReceived" and message["params"]["response"]["url"].endswith(end)

        message = await self._message(matches)
        status: int = message["params"]["response"]["status"]
        return status

    async def evaluate(self, expression: str) -> Any:
        """Return the value of an expression, awaited, in the page."""
        result = await self.command("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def _message(self, matches: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the first message that matches, and keep other events for later calls."""
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            for index, event in enumerate(self._events):
                if matches(event):
                    return self._events.pop(index)
            while True:
                message: dict[str, Any] = await self._socket.receive_json()
                if matches(message):
                    return message
                self._events.append(message)


@asynccontextmanager
async def browsing(*, hosts: str) -> AsyncIterator[Tab]:
    """Run a browser of the test's own and yield a page of it.

    ``hosts`` are rules for host names (``MAP dash.corp 127.0.0.1``).
    """
    folder = private_folder("chromium", child.current_account())
    sandbox_options = ("--no-sandbox",) if os.getuid() == 0 else ()
    debugging = ("--remote-debugging-port=0", f"--user-data-dir={folder}", f"--host-resolver-rules={hosts}")
    process = Process(
        [_program(), *_OPTIONS, *sandbox_options, *debugging, "about:blank"],
        account=child.current_account(),
        output=folder / "output",
        end_signal=signal.SIGTERM,
    )
    port_file = folder / "DevToolsActivePort"
    try:
        async with ClientSession() as session:

            async def serves() -> bool:
                """Return True if the browser has written its port and responds there."""
                try:
                    async with session.get(f"{_address(port_file)}/json/version") as response:
                        return response.status == 200
                except (OSError, IndexError, ClientConnectionError):
                    return False

            await process.start(serves)
            async with session.put(f"{_address(port_file)}/json/new") as response:
                target = await response.json(content_type=None)
            async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket, Tab(socket) as tab:
                yield tab
    finally:
        await process.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _address(port_file: Path) -> str:
    """Return the address of the DevTools protocol, whose port the browser writes to a file."""
    return f"http://127.0.0.1:{port_file.read_text().splitlines()[0]}"


def _program() -> Path:
    """Return the browser of the environment or of this host. Installs Debian's if both are missing; raises CannotProvide."""
    configured = os.environ.get(ENVIRONMENT)
    if configured:
        return Path(configured)
    program = _find_program()
    if program is None:
        install("chromium")
        program = _find_program()
    assert program is not None
    return program


def _find_program() -> Path | None:
    """Return the first known browser in the path."""
    return next((Path(path) for path in map(shutil.which, _NAMES) if path), None)
