"""MariaDB for the oracle of SQL expressions: from the environment, this host, or Debian."""

import asyncio
import os
import shutil
import signal
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import pymysql
from tests.servers.packages import install
from tests.servers.process import CannotProvide, ExternalServer, Process, Server, private_folder, start_first

from dashwright.standalone import child

ENVIRONMENT = "DASHWRIGHT_TEST_MARIADB_URL"

_PROGRAM_FOLDERS = [Path("/usr/sbin"), Path("/usr/bin"), Path("/usr/local/bin")]
_FAST_OPTIONS = ["--skip-log-bin", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M"]


class HostMariadb:
    """A server on a Unix socket in its own folder, without a port. Its only user is root, without a password."""

    def __init__(self) -> None:
        self._server_program, self._installer = _program("mariadbd", "mysqld"), _program("mariadb-install-db", "mysql_install_db")
        self._account = _account()
        self._folder = private_folder("mariadb", self._account)
        self._data, self._socket = self._folder / "data", self._folder / "socket"
        self._server = Process(
            [
                self._server_program,
                "--no-defaults",
                f"--datadir={self._data}",
                f"--socket={self._socket}",
                f"--pid-file={self._folder / 'pid'}",
                f"--tmpdir={self._folder}",
                "--skip-networking",
                "--skip-grant-tables",
                *_FAST_OPTIONS,
            ],
            account=self._account,
            output=self._folder / "server.log",
            end_signal=signal.SIGTERM,
        )

    @property
    def addresses(self) -> dict[str, str]:
        """The path of the socket."""
        return {"socket": str(self._socket)}

    async def start(self) -> None:
        """Start the server, with a new data directory at the first start."""
        if not self._data.exists():
            self._make_data()
        await self._server.start(lambda: asyncio.to_thread(_serves, self._socket))

    async def stop(self) -> None:
        """Stop the server and keep its data."""
        await self._server.stop()

    async def remove(self) -> None:
        """Stop the server and delete its folder."""
        await self._server.stop()
        shutil.rmtree(self._folder)

    def _make_data(self) -> None:
        """Create the data directory. Raises CannotProvide."""
        options = [
            "--no-defaults",
            f"--datadir={self._data}",
            f"--tmpdir={self._folder}",
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
        ]
        with tempfile.TemporaryFile() as output:
            created = child.spawn([self._installer, *options], account=self._account, output=output, parent_end_signal=signal.SIGKILL)
            if created.wait(120):
                output.seek(0)
                raise CannotProvide(f"{self._installer.name} failed: {output.read().decode(errors='replace')[-2000:]}")


async def provide() -> Server:
    """Return a MariaDB for the whole run, by the first way that works."""
    address = os.environ.get(ENVIRONMENT)
    return ExternalServer(url=address) if address else await start_first("MariaDB", [HostMariadb, _install_server])


def connect(addresses: dict[str, str]) -> "pymysql.Connection[pymysql.cursors.Cursor]":
    """Return a connection to a provided server."""
    if "socket" in addresses:
        return pymysql.connect(unix_socket=addresses["socket"], user="root", autocommit=True)
    parts = urlsplit(addresses["url"])
    return pymysql.connect(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or 3306,
        user=parts.username or "root",
        password=parts.password or "",
        autocommit=True,
    )


def _install_server() -> HostMariadb:
    """Install Debian's package and return its server."""
    install("mariadb-server")
    return HostMariadb()


def _program(*names: str) -> Path:
    """Return the first of these programs that this host has. Raises CannotProvide."""
    for name in names:
        program = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *map(str, _PROGRAM_FOLDERS)]))
        if program:
            return Path(program)
    raise CannotProvide(f"there is no {names[0]} on this host (looked in PATH, {', '.join(map(str, _PROGRAM_FOLDERS))})")


def _account() -> child.UnixAccount:
    """Return the user to run the server as, which is not root."""
    if os.getuid() != 0:
        return child.current_account()
    account = child.named_account("mysql") or child.named_account("nobody")
    if account is None:
        raise CannotProvide("there is neither a user mysql nor nobody to run MariaDB as")
    return account


def _serves(socket: Path) -> bool:
    """Return True if the server accepts connections."""
    try:
        pymysql.connect(unix_socket=str(socket), user="root", connect_timeout=5).close()
    except pymysql.err.OperationalError:
        return False
    return True
