"""When the gateway asks for a repository to be looked at before it takes work for it."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.repositories import REPOSITORIES, judged, made
from tests.signer import SIGNER

from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import Reply, Request, RpcServer
from dashwright.common.models.provisioning import HealthStatus


class Prober:
    """Finds every repository healthy."""

    def __init__(self) -> None:
        self.looks = 0

    async def answer(self, request: Request) -> Reply:
        self.looks += 1
        return Reply(body=HealthStatus(healthy=True, checked=int(time.time() * 1000)).to_json())


@pytest.fixture
async def prober(broker: MemoryBroker) -> AsyncIterator[Prober]:
    prober = Prober()
    server = RpcServer(broker, broker.topology.probe, prober.answer, SIGNER, prefetch=8)
    await server.start()
    yield prober
    await server.stop(drain=0)


@pytest.mark.parametrize(
    ("healthy", "ago", "looks", "status"), [(True, 10, 0, 202), (True, 26, 1, 202), (False, 0, 0, 424), (False, 6, 1, 202)]
)
async def test_bad_news_is_believed_for_a_shorter_time(
    api: Api, prober: Prober, tmp_path: Path, healthy: bool, ago: int, looks: int, status: int
) -> None:
    """25 seconds that a repository is healthy, 5 that it is not: who has mended it and asks again is not told what was wrong before."""
    await made(api, "team", tmp_path)
    await judged(api, "team", healthy=healthy, ago=ago)
    assert (await api("POST", f"{REPOSITORIES}/team/sync"))[0] == status
    assert prober.looks == looks
