"""What the probes say of a process, and the small server of processes without a gateway."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession, DummyCookieJar
from structlog.testing import capture_logs

from dashwright.common.observability.probes import Probes, ProbeServer


async def well() -> None:
    """Passes."""


async def away() -> None:
    raise ConnectionError("postgresql://admin:hunter2@db is away")


async def silent() -> None:
    await asyncio.Event().wait()


@pytest.fixture
async def probes() -> Probes:
    probes = Probes(seconds=0.02)
    probes.add("loop", well, of_process=True)
    probes.add("database", away)
    probes.add("broker", silent)
    return probes


async def test_what_is_down_is_named_and_why_is_only_logged(probes: Probes) -> None:
    """A check that fails or stays silent is down by name; its reason may hold addresses and goes to the log."""
    with capture_logs() as lines:
        report = await probes.ready()
    assert report.status == 503
    assert report.text() == (
        "[+]ping ok\n[+]loop ok\n[-]database failed: reason withheld\n[-]broker failed: reason withheld\nreadyz check failed\n"
    )
    assert {line["check"] for line in lines} == {"database", "broker"}


async def test_a_process_whose_database_is_away_lives(probes: Probes) -> None:
    """Only checks of the process itself decide over a restart."""
    report = await probes.live()
    assert (report.status, report.text(), report.text(verbose=True)) == (200, "ok", "[+]ping ok\n[+]loop ok\nlivez check passed\n")


@pytest.fixture
async def client(probes: Probes) -> AsyncIterator[ClientSession]:
    server = ProbeServer(probes)
    port = await server.start()
    async with ClientSession(f"http://127.0.0.1:{port}", cookie_jar=DummyCookieJar()) as client:
        yield client
    await server.stop()


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/livez", 200, "ok"),
        ("/livez/?verbose", 200, "livez check passed"),
        ("/readyz", 503, "readyz check failed"),
        ("/healthz", 503, "healthz check failed"),
        ("/metrics", 200, "dashwright_broker_connected"),
        ("/elsewhere", 404, "/readyz"),
    ],
)
async def test_a_worker_answers_its_probes(client: ClientSession, path: str, status: int, text: str) -> None:
    """A worker without a gateway is watched at the same paths."""
    async with client.get(path) as response:
        assert response.status == status
        assert text in await response.text()


async def test_a_probe_is_read_only(client: ClientSession) -> None:
    """Nothing can be posted to a worker."""
    async with client.post("/livez") as response:
        assert (response.status, response.headers["Allow"]) == (405, "GET, HEAD")
