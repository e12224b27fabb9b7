"""Page that displays a file of a repository as a dashboard, at a ref."""

from collections.abc import AsyncIterator

import pytest
from tests.contract.api.conftest import ADMIN, Api
from tests.contract.api.repositories import FakeJobsWorker, make_local_repository, touch
from tests.signer import SIGNER

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.identity import Role
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import RpcServer
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker

PAGE = "/preview/team/deep/a.json"


@pytest.fixture
async def files(api: Api, broker: MemoryBroker, database: Database) -> AsyncIterator[FakeJobsWorker]:
    """Create a repository whose files are served by a fake jobs worker."""
    await make_local_repository(api, "team", api.data, "write")
    fake_worker = FakeJobsWorker()
    server = RpcServer(broker, broker.topology.repositories, fake_worker.respond, SIGNER, prefetch=8)
    worker = ExpressionsWorker(load(secret_key="of tests only"), database, broker, Clock())
    await server.start()
    await worker.start()
    yield fake_worker
    await server.stop(drain=0)
    await worker.stop()


async def get_page(api: Api, path: str, auth: str = ADMIN) -> tuple[int, str, str]:
    """Return the status, the body and the Content-Security-Policy of a page."""
    async with api.session.get(path, headers={"Authorization": auth}) as response:
        return response.status, await response.text(), response.headers.get("Content-Security-Policy", "")


async def test_a_file_is_displayed_as_a_dashboard(api: Api, files: FakeJobsWorker) -> None:
    """The page has the file's title, its path as text and its picture inline, and neither runs nor loads anything."""
    files.touches = [touch("get", "t", "")]
    status, body, policy = await get_page(api, f"{PAGE}?ref=%3Cb%3E&theme=light")
    assert status == 200, body
    assert files.requests[-1]["path"] == "deep/a.json"
    assert files.requests[-1]["ref"] == "<b>"
    assert "<h1>T</h1>" in body
    assert 'src="data:image/png;base64,iVBOR' in body
    assert "<b>" not in body
    assert "default-src 'none'" in policy
    assert "img-src 'self' data:;" in policy
    assert "script" not in policy


async def test_a_preview_needs_the_permissions_of_its_objects(api: Api, files: FakeJobsWorker) -> None:
    """A preview needs read access to the file's objects; without permission to query it has no picture."""
    files.touches = [touch("get", "t", "")]
    unprivileged = await api.person("unprivileged", Role.NONE)
    reader = await api.person("reader", Role.NONE, ("dashboards:read", "dashboards:*"), ("dashboards:read", "folders:*"))
    assert (await get_page(api, PAGE, unprivileged))[0] == 403
    status, body, _ = await get_page(api, PAGE, reader)
    assert (status, "<h1>T</h1>" in body, "datasources:query" in body, "<img" in body) == (200, True, True, False)
    assert (await get_page(api, "/preview/team/deep/"))[0] == 400
    files.touches = []
    assert (await get_page(api, PAGE, reader))[0] == 403
