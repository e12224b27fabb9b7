"""RabbitMQ for tests: from the environment, this host, Docker, or Debian."""

import asyncio
import os
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Protocol
from urllib.parse import urlsplit

import aio_pika
from tests.servers.container import Container
from tests.servers.packages import install
from tests.servers.process import CannotProvide, ExternalServer, Process, Server, free_port, private_folder, start_first

from dashwright.standalone import child

ENVIRONMENT = "DASHWRIGHT_TEST_AMQP_URL"
MANAGEMENT = "DASHWRIGHT_TEST_AMQP_MANAGEMENT_URL"

_PROGRAMS = [Path("/usr/lib/rabbitmq/bin")]

# Idle schedulers of Erlang would use the processor that the tests need. A dead letter that its target refuses is repeated after the
# same time as in docker-compose.yml.
_ERLANG_ARGUMENTS = "+sbwt none +sbwtdcpu none +sbwtdio none -rabbit dead_letter_worker_publisher_confirm_timeout 10000"


class PrivateRabbitmq(Server, Protocol):
    """A broker that a test may stop and start."""

    @property
    def url(self) -> str:
        """The AMQP URL with the user and its password."""
        ...

    async def control(self, *arguments: str) -> None:
        """Run ``rabbitmqctl`` with arguments."""
        ...


class HostRabbitmq:
    """A node run from the programs in ``bin_dir``, with its own ports, folder, name, cookie and port mapper (epmd)."""

    def __init__(self, bin_dir: Path, *, management: bool) -> None:
        self._account = _account()
        self._folder = private_folder("rabbitmq", self._account)
        self._port, self._management_port, epmd_port, peer_port = free_port(), free_port(), free_port(), free_port()
        self._password = token_hex(8)
        self._management = management
        self._configure()
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self._folder),
            "ERL_EPMD_PORT": str(epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"dashwright-{token_hex(4)}@localhost",
            "RABBITMQ_DIST_PORT": str(peer_port),
            "RABBITMQ_MNESIA_BASE": str(self._folder / "data"),
            "RABBITMQ_LOG_BASE": str(self._folder / "log"),
            "RABBITMQ_PID_FILE": str(self._folder / "pid"),
            "RABBITMQ_CONFIG_FILE": str(self._folder / "rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._folder / "enabled_plugins"),
            "RABBITMQ_CONF_ENV_FILE": str(self._folder / "none"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": _ERLANG_ARGUMENTS,
        }
        log = self._folder / "server.log"
        epmd = shutil.which("epmd") or "/usr/bin/epmd"
        self._epmd = Process(
            [epmd, "-port", str(epmd_port)], account=self._account, output=log, end_signal=signal.SIGTERM, environment=environment
        )
        self._server = Process(
            [bin_dir / "rabbitmq-server"], account=self._account, output=log, end_signal=signal.SIGTERM, environment=environment
        )
        self._epmd_port = epmd_port
        self._control = partial(
            Process, account=self._account, output=self._folder / "control.log", end_signal=signal.SIGTERM, environment=environment
        )
        self._bin = bin_dir

    @property
    def addresses(self) -> dict[str, str]:
        """The URLs of the broker and of its management API."""
        return {"url": self.url, "management_url": f"http://dashwright:{self._password}@127.0.0.1:{self._management_port}"}

    @property
    def url(self) -> str:
        """The AMQP URL with the user and its password."""
        return f"amqp://dashwright:{self._password}@127.0.0.1:{self._port}/"

    async def start(self) -> None:
        """Start the port mapper and the broker."""
        await self._epmd.start(lambda: _listens(self._epmd_port))
        await self._server.start(lambda: _serves(self.url, self._management_port if self._management else None))

    async def stop(self) -> None:
        """Stop the broker and its port mapper, and keep all data."""
        await self._server.stop()
        await self._epmd.stop()

    async def control(self, *arguments: str) -> None:
        """Run ``rabbitmqctl`` with arguments. Raises CannotProvide if it fails."""
        await self._control([self._bin / "rabbitmqctl", *arguments]).run()

    async def remove(self) -> None:
        """Kill the processes and delete their folder."""
        await self._server.kill()
        await self._epmd.kill()
        shutil.rmtree(self._folder)

    def _configure(self) -> None:
        """Write the files of the configuration."""
        lines = [
            f"listeners.tcp.default = 127.0.0.1:{self._port}",
            "default_user = dashwright",
            f"default_pass = {self._password}",
            "vm_memory_high_watermark.absolute = 1GB",
            "disk_free_limit.absolute = 50MB",
            "log.file.level = warning",
        ]
        if self._management:
            # Only virtual hosts and definitions are managed: metrics would be collected for nothing.
            without_metrics = ["management_agent.disable_metrics_collector = true", "collect_statistics_interval = 60000"]
            lines += ["management.tcp.ip = 127.0.0.1", f"management.tcp.port = {self._management_port}", *without_metrics]
        (self._folder / "rabbitmq.conf").write_text("\n".join(lines) + "\n")
        (self._folder / "enabled_plugins").write_text("[rabbitmq_management]." if self._management else "[].")
        for file in self._folder.iterdir():
            shutil.chown(file, self._account.uid, self._account.gid)


class ContainerRabbitmq:
    """A broker in a container of the official image."""

    def __init__(self) -> None:
        self._port, self._management_port = free_port(), free_port()
        self._password = token_hex(8)
        environment = {"RABBITMQ_DEFAULT_USER": "dashwright", "RABBITMQ_DEFAULT_PASS": self._password}
        ports = {5672: self._port, 15672: self._management_port}
        self._container = Container("rabbitmq:4-management", ports, environment)
        self.remove = self._container.remove
        self.stop = self._container.stop

    @property
    def addresses(self) -> dict[str, str]:
        """The URLs of the broker and of its management API."""
        return {"url": self.url, "management_url": f"http://dashwright:{self._password}@127.0.0.1:{self._management_port}"}

    @property
    def url(self) -> str:
        """The AMQP URL with the user and its password."""
        return f"amqp://dashwright:{self._password}@127.0.0.1:{self._port}/"

    async def start(self) -> None:
        """Create the container, or start it again."""
        await self._container.start(lambda: _serves(self.url, self._management_port))

    async def control(self, *arguments: str) -> None:
        """Run ``rabbitmqctl`` with arguments. Raises CannotProvide if it fails."""
        await self._container.execute("rabbitmqctl", *arguments)


async def provide() -> Server:
    """Return a RabbitMQ for the whole run, by the first way that works."""
    address = os.environ.get(ENVIRONMENT)
    if address:
        return ExternalServer(url=address, management_url=os.environ.get(MANAGEMENT) or _default_management(address))
    return await provide_private(management=True)


async def provide_private(*, management: bool = False) -> PrivateRabbitmq:
    """Return a new RabbitMQ by the first way that works."""
    methods: list[Callable[[], PrivateRabbitmq]] = [
        lambda: HostRabbitmq(programs(), management=management),
        ContainerRabbitmq,
        lambda: _install_server(management),
    ]
    return await start_first("RabbitMQ", methods)


def _install_server(management: bool) -> HostRabbitmq:
    """Install Debian's package and return its server."""
    install("rabbitmq-server")
    return HostRabbitmq(programs(), management=management)


def _default_management(amqp_url: str) -> str:
    """Return the default URL of the management API: the same host and user, port 15672."""
    parts = urlsplit(amqp_url)
    return f"http://{parts.username or 'guest'}:{parts.password or 'guest'}@{parts.hostname}:15672"


def programs() -> Path:
    """Return the folder of RabbitMQ's server programs on this host. Raises CannotProvide if RabbitMQ is not installed."""
    on_path = shutil.which("rabbitmq-server")
    for folder in [*_PROGRAMS, *([Path(on_path).resolve().parent] if on_path else [])]:
        if (folder / "rabbitmq-server").exists():
            return folder
    raise CannotProvide("there are no RabbitMQ server programs on this host (looked in PATH and /usr/lib/rabbitmq)")


def _account() -> child.UnixAccount:
    """Return the user to run the broker as. Under root it is the package's user: the programs expect to read its files."""
    if os.getuid() != 0:
        return child.current_account()
    account = child.named_account("rabbitmq") or child.named_account("nobody")
    if account is None:
        raise CannotProvide("there is neither a user rabbitmq nor nobody to run RabbitMQ as")
    return account


async def _serves(url: str, management_port: int | None) -> bool:
    """Return True if the broker accepts connections, and its management API too, if it has one."""
    if not await _listens(urlsplit(url).port or 5672):
        return False
    try:
        connection = await aio_pika.connect(url, timeout=5)
    except (OSError, aio_pika.exceptions.AMQPError):
        return False
    await connection.close()
    return management_port is None or await _listens(management_port)


async def _listens(port: int) -> bool:
    """Return True if a process listens at a port of the loopback."""
    try:
        _reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True
