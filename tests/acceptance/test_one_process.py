"""``dashwright serve``: the whole system as one command, on its own data directory or with an existing database."""

import asyncio
import shutil
import signal
import ssl
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Self

import pytest
from aiohttp import ClientSession
from tests.acceptance import dashboard_files
from tests.acceptance.client import Client
from tests.acceptance.conftest import MakeStack
from tests.acceptance.log_checks import check_lines
from tests.acceptance.polling import wait_until
from tests.acceptance.processes import Service
from tests.acceptance.queries import QUERY
from tests.acceptance.records import Records
from tests.servers import data_directories

#: The log event of a system that serves.
LISTENING = "listening"
#: Number of pending jobs, well above a hundred.
BACKLOG = 250


class Installation:
    """A data directory and the processes that were started on it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.repositories = data / "repositories"
        self._started: list[Service] = []

    def service(self, **settings: str) -> Service:
        """Return a process on the data directory, not yet started."""
        default_settings = {"DATA_DIR": str(self.data), "HTTP_PORT": "0", "JOB_LEASE_SECONDS": "1.5", "SCHEDULING": "false"}
        self._started.append(Service("dashwright", default_settings | settings, "serve"))
        return self._started[-1]

    async def start_service(self, **settings: str) -> Service:
        """Start a process on the data directory, and wait until it serves."""
        return await self.service(**settings).start(until=LISTENING)

    async def close(self) -> None:
        """Stop all running processes."""
        for service in self._started:
            if service.is_running:
                await service.stop()


@pytest.fixture
async def new_installation() -> AsyncIterator[Installation]:
    """Yield an installation with an empty data directory, in which the first start creates a database."""
    async with installation_at(data_directories.create_empty()) as installation:
        yield installation


@pytest.fixture
async def installation() -> AsyncIterator[Installation]:
    """Yield an installation whose data directory is a copy with a database, because the creation of a database takes seconds."""
    async with installation_at(data_directories.create_with_cluster()) as installation:
        yield installation


@asynccontextmanager
async def installation_at(data: Path) -> AsyncIterator[Installation]:
    """Yield the installation of a data directory. At the end, its processes are stopped, and the directory is removed."""
    installation = Installation(data)
    yield installation
    await installation.close()
    shutil.rmtree(data)


def client_of(service: Service) -> Client:
    """Return a client of a running process."""
    return Client(service.logged_events(LISTENING)[0]["address"])


class Process(NamedTuple):
    """A process identified by its id and its start time, since ids are reused."""

    pid: int
    #: Start time in clock ticks after the start of the machine.
    started: int
    #: Process id of the parent.
    parent: int
    #: Process id and name of the program, as the system writes them.
    program: str

    @classmethod
    def list_running(cls) -> list[Self]:
        """Return all running processes, without zombies, which have ended."""
        processes = []
        for file in Path("/proc").glob("[0-9]*/stat"):
            # A process may end before its file is read.
            with suppress(OSError):
                # The fields 1 and 2 of the file are the id and the program, 3 and 4 the state and the parent, and 22 the start time.
                program, _, fields_from_3 = file.read_text().rpartition(")")
                state, parent, *fields_from_5 = fields_from_3.split()
                if state not in ("Z", "X"):
                    processes.append(cls(int(file.parent.name), int(fields_from_5[22 - 5]), int(parent), program))
        return processes


def process_tree(pid: int) -> set[Process]:
    """Return a process and all its descendants."""
    running = Process.list_running()
    processes: set[Process] = set()
    new_members = {process for process in running if process.pid == pid}
    while new_members - processes:
        processes |= new_members
        pids = {process.pid for process in processes}
        new_members = processes | {process for process in running if process.parent in pids}
    return processes


async def wait_for_end(processes: set[Process]) -> None:
    """Wait until none of the processes is running. A process that lost its parent may need a moment to end."""
    identities = {(process.pid, process.started) for process in processes}

    async def none_is_running() -> bool:
        """Return whether all of the processes have ended."""
        return identities.isdisjoint((process.pid, process.started) for process in Process.list_running())

    await wait_until(none_is_running, seconds=10)


async def test_data_survives_a_restart(new_installation: Installation) -> None:
    """A first start creates a database and prints its address. After a restart, the dashboards and the key of secrets are unchanged.

    The key is in the data directory and only its owner can read it.
    """
    names = dashboard_files.make_team(new_installation.repositories / "team")
    first = await new_installation.start_service()
    async with client_of(first) as client:
        await client.create_repository("team", "team")
        assert (await client.sync_and_wait("team"))["message"] == "completed successfully"
        await client.call("POST", "/api/ds/query", json=QUERY)
        before = await client.dashboards()
        assert sorted(before) == sorted(names)
        source = {"name": "p", "type": "prometheus", "secureJsonData": {"basicAuthPassword": "hunter22"}}
        await client.call("POST", "/api/datasources", json=source)
    key = new_installation.data / "secret.key"
    key_text = key.read_text()
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    processes = process_tree(first.pid)
    assert len(processes) > 2
    assert await first.stop() == 0
    await wait_for_end(processes)
    assert len(first.output) == 1
    assert first.output[0].startswith(f"Dashwright serves at {first.logged_events(LISTENING)[0]['address']} ")

    async with asyncio.timeout(30):
        second = await new_installation.start_service()
    async with client_of(second) as client:
        assert await client.dashboards() == before
        assert (await client.sync_and_wait("team"))["message"] == "no changes to sync"
    assert await second.interrupt() == 0
    assert key.read_text() == key_text
    assert not second.logged_events("secrets_of_another_key")
    for service in (first, second):
        check_lines(service)


async def test_a_self_signed_certificate_is_served(installation: Installation) -> None:
    """With ``TLS=self-signed`` the printed address is https, and clients that trust the generated certificate are served."""
    service = await installation.start_service(TLS="self-signed")
    address = service.logged_events(LISTENING)[0]["address"]
    assert address.startswith("https://")
    tls_context = ssl.create_default_context(cafile=installation.data / "tls" / "certificate.pem")
    async with ClientSession() as session, session.get(f"{address}/api/health", ssl=tls_context) as response:
        assert response.status == 200
    assert await service.stop() == 0
    assert service.output[0].startswith(f"Dashwright serves at {address} ")


async def test_a_killed_system_continues_its_jobs(installation: Installation) -> None:
    """After SIGKILL during a sync, the next start completes running and pending jobs. All processes of the killed system end."""
    names = dashboard_files.make_many(installation.repositories / "many", 300)
    names += dashboard_files.make_team(installation.repositories / "team")
    killed = await installation.start_service(JOB_SLOTS="1")
    async with client_of(killed) as client:
        await client.create_repository("many", "many")
        await client.create_repository("team", "team")
        jobs = [await client.sync("many"), await client.sync("team")]
        await killed.event("job_started")
        processes = process_tree(killed.pid)
        await killed.kill()
    second = await installation.start_service()
    await wait_for_end(processes)
    async with client_of(second) as client:
        for job in jobs:
            assert (await client.wait_for_job(job))["status"]["state"] == "success"
        assert len(await client.dashboards()) == len(names)


async def test_ctrl_c_stops_every_process(installation: Installation) -> None:
    """SIGINT to the process group during a sync ends the system with status 0, and all of its processes end."""
    dashboard_files.make_many(installation.repositories / "many", 300)
    service = await installation.start_service(SHUTDOWN_SECONDS="5")
    async with client_of(service) as client:
        await client.create_repository("many", "many")
        await client.sync("many")
        await service.event("job_started")
    processes = process_tree(service.pid)
    assert await service.interrupt() == 0
    await wait_for_end(processes)
    check_lines(service)


async def test_a_start_can_be_interrupted(new_installation: Installation) -> None:
    """SIGTERM during the creation of the database ends the system with status 0 and all of its processes. The next start serves."""
    service = await new_installation.service().launch()
    await wait_until(lambda: _has_children(service))
    processes = process_tree(service.pid)
    service.send(signal.SIGTERM)
    assert await service.wait(seconds=20) == 0
    await wait_for_end(processes)
    await new_installation.start_service()


async def _has_children(service: Service) -> bool:
    """Return whether the process has a child process."""
    return len(process_tree(service.pid)) > 1


async def test_a_data_folder_in_use_is_refused(installation: Installation) -> None:
    """A second start on the data directory of a running system ends with one sentence that names the process and the setting."""
    first = await installation.start_service()
    second = await installation.service().launch()
    assert await second.wait() == 1
    (text,) = [event["text"] for event in second.events if event["event"] == "text"]
    assert f"process {first.pid}" in text
    assert "DASHWRIGHT_DATA_DIR" in text
    async with client_of(first) as client:
        await client.call("GET", "/api/health")


async def test_a_long_backlog_is_resumed_at_the_start(
    installation: Installation, make_stack: MakeStack, records: Records, database_url: str
) -> None:
    """A start with pending jobs in the database, but without messages about them, runs all of these jobs."""
    stack = make_stack(PERMITTED_PATHS=str(installation.repositories))
    await stack.gateway.start()
    dashboard_files.make_team(installation.repositories / "team")
    async with Client(stack.gateway.logged_events("serving")[0]["address"]) as client:
        await client.create_repository("team", "team")
        await client.sync("team")
    assert await stack.gateway.stop() == 0
    await records.clone_pending_job(BACKLOG)
    await installation.start_service(DATABASE_URL=database_url)
    await wait_until(records.all_jobs_ended, seconds=90)
    assert {job["state"] for job in await records.jobs()} == {"success"}
