"""Probes of repositories. If the last probe is too old, the gateway requests a new probe before it accepts a job."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.repositories import REPOSITORIES, make_local_repository, record_health
from tests.signer import SIGNER

from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import Reply, Request, RpcServer
from dashwright.common.models.provisioning import HealthStatus


class FakeProber:
    """Fake jobs worker that finds every repository healthy."""

    def __init__(self) -> None:
        self.probe_count = 0

    async def respond(self, request: Request) -> Reply:
        """Count a probe and return that the repository is healthy."""
        self.probe_count += 1
        return Reply(body=HealthStatus(healthy=True, checked=int(time.time() * 1000)).to_json())


@pytest.fixture
async def prober(broker: MemoryBroker) -> AsyncIterator[FakeProber]:
    """Start a fake jobs worker for the queue of probes."""
    prober = FakeProber()
    server = RpcServer(broker, broker.topology.probe, prober.respond, SIGNER, prefetch=8)
    await server.start()
    yield prober
    await server.stop(drain=0)


@pytest.mark.parametrize(
    # The result and the age in seconds of the last probe, the number of new probes, and the status of the response.
    ("healthy", "ago", "expected_probes", "status"),
    [(True, 10, 0, 202), (True, 26, 1, 202), (False, 0, 0, 424), (False, 6, 1, 202)],
)
async def test_an_unhealthy_probe_expires_earlier(
    api: Api, prober: FakeProber, tmp_path: Path, healthy: bool, ago: int, expected_probes: int, status: int
) -> None:
    """A healthy probe is valid for 25 seconds and an unhealthy one for 5, so that a repaired repository can be used soon."""
    await make_local_repository(api, "team", tmp_path)
    await record_health(api, "team", healthy=healthy, ago=ago)
    assert (await api("POST", f"{REPOSITORIES}/team/sync"))[0] == status
    assert prober.probe_count == expected_probes
