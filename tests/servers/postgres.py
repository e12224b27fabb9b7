"""PostgreSQL for tests: from the environment, this host, the embedded package, Docker, or Debian."""

import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import Protocol

import asyncpg
from tests.servers.container import Container
from tests.servers.packages import install
from tests.servers.process import CannotProvide, ExternalServer, Process, Server, free_port, private_folder, start_first

from dashwright.common.errors import Unavailable
from dashwright.standalone import child, placement

ENVIRONMENT = "DASHWRIGHT_TEST_DATABASE_URL"

#: Settings with which a commit does not wait for the disk.
_FAST_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_DEFAULT_SETTINGS = {
    "max_connections": "200",
    "shared_buffers": "64MB",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "log_min_messages": "log",
}


class PrivatePostgres(Server, Protocol):
    """A server that a test may stop and start."""

    @property
    def dsn(self) -> str:
        """The URL of the database ``postgres``."""
        ...

    async def crash(self) -> None:
        """End the server without a checkpoint, so that its next start recovers from the log."""
        ...


class HostPostgres:
    """A cluster on a free loopback port, run from the server programs of this host.

    ``programs`` returns the folder of the programs, and may copy them into the cluster's folder.
    """

    def __init__(self, programs: Callable[[Path], Path], *, durable: bool) -> None:
        self._account = _account()
        self._folder = private_folder("postgres", self._account)
        self._bin = programs(self._folder)
        self._port = free_port()
        self._password = token_hex(8)
        data = self._folder / "data"
        settings = {
            **_DEFAULT_SETTINGS,
            **({} if durable else _FAST_SETTINGS),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        self._server = Process(
            [self._bin / "postgres", "-D", data, "-p", str(self._port), *options],
            account=self._account,
            output=self._folder / "server.log",
            end_signal=signal.SIGINT,
        )
        self._data = data

    @property
    def addresses(self) -> dict[str, str]:
        """The URL of the server."""
        return {"url": self.dsn}

    @property
    def dsn(self) -> str:
        """The URL of the database ``postgres``."""
        # The server offers no TLS; a client that asks for it creates a context and a second socket for each connection.
        return f"postgresql://dashwright:{self._password}@127.0.0.1:{self._port}/postgres?sslmode=disable"

    async def start(self) -> None:
        """Start the server, with a new cluster at the first start."""
        if not self._data.exists():
            self._make_cluster()
        await self._server.start(lambda: _serves(self.dsn))

    async def stop(self) -> None:
        """Stop the server and keep its data."""
        await self._server.stop()

    async def crash(self) -> None:
        """End the server without a checkpoint, so that its next start recovers from the log."""
        # PostgreSQL's immediate shutdown. After SIGKILL the next start would have to wait for the end of orphaned processes.
        await self._server.stop(signal.SIGQUIT)

    async def remove(self) -> None:
        """Stop the server and delete its folder."""
        await self._server.stop()
        shutil.rmtree(self._folder)

    def _make_cluster(self) -> None:
        """Create the cluster with one user, who has a password. Raises CannotProvide."""
        secret = self._folder / "password"
        secret.write_text(self._password)
        shutil.chown(secret, self._account.uid, self._account.gid)
        # With scram-sha-256 the server would hash the password for milliseconds at each of a test's connections.
        options = f"-D {self._data} -U dashwright --pwfile {secret} -A md5 -E UTF8 --locale=C --no-sync".split()
        with tempfile.TemporaryFile() as output:
            created = child.spawn(
                [str(self._bin / "initdb"), *options], account=self._account, output=output, parent_end_signal=signal.SIGKILL
            )
            if created.wait(60):
                output.seek(0)
                raise CannotProvide(f"initdb failed: {output.read().decode(errors='replace')[-2000:]}")


class ContainerPostgres:
    """A server in a container of the official image."""

    def __init__(self) -> None:
        self._port = free_port()
        self._password = token_hex(8)
        environment = {"POSTGRES_USER": "dashwright", "POSTGRES_PASSWORD": self._password, "POSTGRES_DB": "postgres"}
        self._container = Container("postgres:17", {5432: self._port}, environment)
        self.remove = self._container.remove
        self.stop = self._container.stop
        self.crash = self._container.kill

    @property
    def addresses(self) -> dict[str, str]:
        """The URL of the server."""
        return {"url": self.dsn}

    @property
    def dsn(self) -> str:
        """The URL of the database ``postgres``."""
        return f"postgresql://dashwright:{self._password}@127.0.0.1:{self._port}/postgres?sslmode=disable"

    async def start(self) -> None:
        """Create the container, or start it again."""
        await self._container.start(lambda: _serves(self.dsn))


def programs(_folder: Path) -> Path:
    """Return the folder of the newest PostgreSQL server programs on this host. Raises CannotProvide if PostgreSQL is not installed."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("postgres")
    for postgres in [*reversed(installed), *([Path(on_path).resolve()] if on_path else [])]:
        if (postgres.parent / "initdb").exists():
            return postgres.parent
    raise CannotProvide("there are no PostgreSQL server programs on this host (looked in PATH and /usr/lib/postgresql)")


def embedded_programs(folder: Path) -> Path:
    """Return the folder of the embedded server's programs, copied into ``folder`` if its user cannot reach them."""
    try:
        return placement.reachable_programs(folder)
    except Unavailable as error:
        raise CannotProvide(error.message) from error


def _account() -> child.UnixAccount:
    """Return the user to run the server as, which is not root."""
    if os.getuid() != 0:
        return child.current_account()
    account = child.named_account("nobody")
    if account is None:
        raise CannotProvide("PostgreSQL refuses to run as root and there is no user nobody")
    return account


async def provide() -> Server:
    """Return a PostgreSQL for the whole run, by the first way that works."""
    address = os.environ.get(ENVIRONMENT)
    return ExternalServer(url=address) if address else await provide_private(durable=False)


async def provide_private(*, durable: bool = True) -> PrivatePostgres:
    """Return a new PostgreSQL by the first way that works. Unless ``durable``, it may lose data in a crash."""
    methods: list[Callable[[], PrivatePostgres]] = [
        lambda: HostPostgres(programs, durable=durable),
        lambda: HostPostgres(embedded_programs, durable=durable),
        ContainerPostgres,
        lambda: _install_server(durable),
    ]
    return await start_first("PostgreSQL", methods)


def _install_server(durable: bool) -> HostPostgres:
    """Install Debian's package and return its server."""
    install("postgresql")
    return HostPostgres(programs, durable=durable)


async def _serves(dsn: str) -> bool:
    """Return True if the server accepts connections."""
    try:
        connection = await asyncpg.connect(dsn, timeout=5)
    except (OSError, asyncpg.CannotConnectNowError, asyncpg.PostgresConnectionError):
        return False
    await connection.close()
    return True
