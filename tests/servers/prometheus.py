"""Prometheus for tests: always a new server with a given configuration, from the programs of this host or of Debian."""

import os
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import aiohttp
from tests.servers.packages import install
from tests.servers.process import CannotProvide, Process, free_port, private_folder, start_first

from dashwright.standalone import child

#: Time between two scrapes of a target.
SCRAPE_SECONDS = 1

_CONFIGURATION = """
global: {{scrape_interval: {seconds}s, scrape_timeout: {seconds}s}}
scrape_configs:
  - job_name: prometheus
    static_configs: [{{targets: ["127.0.0.1:{port}"], labels: {{instance: "localhost:9090"}}}}]
  - job_name: gateway
    static_configs: [{{targets: [{targets}]}}]
"""


class HostPrometheus:
    """A server with its own port and folder.

    It scrapes itself as job ``prometheus`` and instance ``localhost:9090``, as by default, and ``targets`` as job ``gateway``.
    """

    def __init__(self, program: Path, targets: Sequence[str]) -> None:
        account = _account()
        self._folder = private_folder("prometheus", account)
        self._port = free_port()
        configuration = self._folder / "prometheus.yml"
        quoted = ", ".join(f'"{target}"' for target in targets)
        configuration.write_text(_CONFIGURATION.format(seconds=SCRAPE_SECONDS, port=self._port, targets=quoted))
        shutil.chown(configuration, account.uid, account.gid)
        self._server = Process(
            [
                program,
                f"--config.file={configuration}",
                f"--storage.tsdb.path={self._folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self._port}",
            ],
            account=account,
            output=self._folder / "server.log",
            end_signal=signal.SIGTERM,
        )

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def addresses(self) -> dict[str, str]:
        """The URL of the server, by its name."""
        return {"url": self.url}

    async def start(self) -> None:
        """Start the server and wait until it is ready."""
        await self._server.start(self._is_ready)

    async def stop(self) -> None:
        """Stop the server and keep its data."""
        await self._server.stop()

    async def remove(self) -> None:
        """Kill the server and delete its folder."""
        await self._server.kill()
        shutil.rmtree(self._folder)

    async def _is_ready(self) -> bool:
        """Return True if the server responds and has read its data."""
        try:
            async with aiohttp.ClientSession() as session, session.get(f"{self.url}/-/ready") as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False


async def provide(targets: Sequence[str]) -> HostPrometheus:
    """Return a server by the first way that works."""
    methods: list[Callable[[], HostPrometheus]] = [lambda: HostPrometheus(_program(), targets), lambda: _install_server(targets)]
    return await start_first("Prometheus", methods)


def _install_server(targets: Sequence[str]) -> HostPrometheus:
    """Install Debian's package and return its server."""
    install("prometheus")
    return HostPrometheus(_program(), targets)


def _program() -> Path:
    """Return the program of this host. Raises CannotProvide."""
    program = shutil.which("prometheus")
    if program is None:
        raise CannotProvide("there is no program prometheus on this host")
    return Path(program)


def _account() -> child.UnixAccount:
    """Return the user to run the server as, which is not root."""
    if os.getuid() != 0:
        return child.current_account()
    account = child.named_account("prometheus") or child.named_account("nobody")
    if account is None:
        raise CannotProvide("there is neither a user prometheus nor nobody to run Prometheus as")
    return account
