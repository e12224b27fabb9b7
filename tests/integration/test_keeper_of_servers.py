"""The keeper of test servers: a server exists exactly as long as the run that requested it."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
from tests.servers import keeper

RUN = """
import sys
from tests.servers import keeper

keeper._memory_folder = lambda: None  # below TMPDIR, which is removed even if the keeper is killed
keeper_of_run = keeper.Keeper()
print(keeper.request_server("postgres")["url"], keeper_of_run.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def requester() -> Iterator[subprocess.Popen[str]]:
    """Run a process that requests a PostgreSQL from its keeper and prints the URL and the keeper's process id."""
    folder = tempfile.mkdtemp(prefix="dashwright-run-")
    Path(folder).chmod(0o711)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DASHWRIGHT_")} | {"TMPDIR": folder}
    command = [sys.executable, "-c", RUN]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2], env=environment
    ) as process:
        yield process
        process.kill()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("killed", ["run", "keeper"])
async def test_a_killed_run_stops_its_server(requester: subprocess.Popen[str], killed: str) -> None:
    """The server ends when the run or its keeper is killed."""
    assert requester.stdout
    url, keeper_pid = requester.stdout.readline().split()
    watcher = await asyncpg.connect(url)
    has_ended = asyncio.Event()
    watcher.add_termination_listener(lambda _connection: has_ended.set())
    os.kill(requester.pid if killed == "run" else int(keeper_pid), signal.SIGKILL)
    await asyncio.wait_for(has_ended.wait(), 30)


async def test_all_workers_get_the_same_server(postgres_dsn: str) -> None:
    """A second request for a server returns the address of the running one."""
    assert urlsplit(keeper.request_server("postgres")["url"]).port == urlsplit(postgres_dsn).port
