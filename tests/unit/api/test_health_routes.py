"""The gateway's own paths: probes, metrics and versions, all without a credential."""

import re

import pytest

from dashwright.api.routes import health
from dashwright.common.errors import Unavailable
from dashwright.common.observability.probes import Probes

from .conftest import Gateway, Serve


class FakeDatabase:
    """A database that a test makes unavailable."""

    def __init__(self) -> None:
        self.is_unavailable = False

    async def check(self) -> None:
        """Raise Unavailable if the test has set ``is_unavailable``."""
        if self.is_unavailable:
            raise Unavailable("away")


@pytest.fixture
def database() -> FakeDatabase:
    """Return an available database."""
    return FakeDatabase()


@pytest.fixture
async def gateway(serve: Serve, database: FakeDatabase) -> Gateway:
    """Return a gateway whose only probe is that of the database."""
    probes = Probes()
    probes.add("database", database.check)
    return await serve(health.routes(probes, reported_version="12.0.0", commit="abc"))


async def test_the_classic_health_reports_the_database(gateway: Gateway, database: FakeDatabase) -> None:
    """The classic health has the version and the state of the database. Its status is 503 if the database is unavailable."""
    async with gateway.client.get("/api/health") as response:
        assert response.status == 200
        assert await response.json() == {"commit": "abc", "database": "ok", "version": "12.0.0"}
    database.is_unavailable = True
    async with gateway.client.get("/api/health/") as response:
        assert response.status == 503
        assert await response.json() == {"commit": "abc", "database": "failing", "version": "12.0.0"}


async def test_the_gateway_lives_but_is_not_ready_without_its_database(gateway: Gateway, database: FakeDatabase) -> None:
    """Without its database, the gateway is not ready, but alive, because a restart would not help."""
    database.is_unavailable = True
    for path, status, text in (
        ("/livez", 200, "ok"),
        ("/readyz", 503, "[-]database failed"),
        ("/healthz?verbose", 503, "healthz check failed"),
    ):
        async with gateway.client.get(path) as response:
            assert response.status == status
            assert response.content_type == "text/plain"
            assert text in await response.text()


async def test_the_version_is_one_kubernetes_clients_parse(gateway: Gateway) -> None:
    """``gitVersion`` is a semantic version with a v; major and minor agree with it."""
    async with gateway.client.get("/version") as response:
        version = await response.json()
    assert re.fullmatch(r"v\d+\.\d+\.\d+.*", version["gitVersion"])
    assert version["gitVersion"].startswith(f"v{version['major']}.{version['minor']}.")
    assert set(version) == {"major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"}


async def test_metrics_are_prometheus_text(gateway: Gateway) -> None:
    """Metrics are text in the format of Prometheus. A scrape is counted in the next one."""
    # The second scrape contains the first one.
    for _ in range(2):
        async with gateway.client.get("/metrics") as response:
            text = await response.text()
            assert response.headers["Content-Type"].startswith("text/plain; version=")
    assert 'dashwright_http_requests_total{method="GET",route="/metrics",status="200"}' in text
