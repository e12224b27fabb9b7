"""Probes of a process, and the small HTTP server of processes without a gateway."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession, DummyCookieJar
from structlog.testing import capture_logs

from dashwright.common.observability.probes import Probes, ProbeServer


async def pass_check() -> None:
    """Return without an error, as a check that passes does."""


async def fail() -> None:
    """Raise an error whose message contains a password."""
    raise ConnectionError("postgresql://admin:hunter2@db is away")


async def hang() -> None:
    """Never return."""
    await asyncio.Event().wait()


@pytest.fixture
async def probes() -> Probes:
    """Return probes of a process that is alive, but whose database fails and whose broker does not respond in time."""
    probes = Probes(timeout_seconds=0.02)
    probes.add("loop", pass_check, is_liveness=True)
    probes.add("database", fail)
    probes.add("broker", hang)
    return probes


async def test_a_failing_check_is_named_and_its_reason_is_logged(probes: Probes) -> None:
    """A check that fails or does not respond is named in the response. Its reason may contain secrets, so it is only logged."""
    with capture_logs() as lines:
        report = await probes.check_readiness()
    assert report.status == 503
    assert report.body() == (
        "[+]ping ok\n[+]loop ok\n[-]database failed: reason withheld\n[-]broker failed: reason withheld\nreadyz check failed\n"
    )
    assert {line["check"] for line in lines} == {"database", "broker"}


async def test_a_process_without_its_database_is_alive(probes: Probes) -> None:
    """Without its database, a process is alive: the liveness probe, which causes restarts, has only checks of the process itself."""
    report = await probes.check_liveness()
    assert report.status == 200
    assert report.body() == "ok"
    assert report.body(verbose=True) == "[+]ping ok\n[+]loop ok\nlivez check passed\n"


@pytest.fixture
async def client(probes: Probes) -> AsyncIterator[ClientSession]:
    """Yield a client of a server of these probes."""
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
        # The error about an unknown path names the known ones.
        ("/elsewhere", 404, "/readyz"),
    ],
)
async def test_a_worker_serves_probes(client: ClientSession, path: str, status: int, text: str) -> None:
    """A process without a gateway serves the probe paths of a gateway."""
    async with client.get(path) as response:
        assert response.status == status
        assert text in await response.text()


async def test_probes_are_read_only(client: ClientSession) -> None:
    """The server of a worker's probes accepts GET only."""
    async with client.post("/livez") as response:
        assert response.status == 405
        assert response.headers["Allow"] == "GET, HEAD"
