"""The page that shows a file of a repository as a dashboard, at a ref."""

from collections.abc import AsyncIterator

import pytest
from tests.contract.api.conftest import ADMIN, Api
from tests.contract.api.repositories import StandIn, made, touch
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
async def files(api: Api, broker: MemoryBroker, database: Database) -> AsyncIterator[StandIn]:
    await made(api, "team", api.data, "write")
    stand_in = StandIn()
    server = RpcServer(broker, broker.topology.repositories, stand_in.answer, SIGNER, prefetch=8)
    worker = ExpressionsWorker(load(secret_key="of tests only"), database, broker, Clock())
    await server.start()
    await worker.start()
    yield stand_in
    await server.stop(drain=0)
    await worker.stop()


async def page(api: Api, path: str, auth: str = ADMIN) -> tuple[int, str, str]:
    """Status, body, and what the page may do."""
    async with api.session.get(path, headers={"Authorization": auth}) as answer:
        return answer.status, await answer.text(), answer.headers.get("Content-Security-Policy", "")


async def test_a_file_is_shown_as_a_dashboard(api: Api, files: StandIn) -> None:
    """As it is at the ref: its title, its path as text, and its picture in the page itself, which runs nothing and loads nothing."""
    files.touches = [touch("get", "t", "")]
    status, body, policy = await page(api, f"{PAGE}?ref=%3Cb%3E&theme=light")
    assert status == 200, body
    assert files.asked[-1]["path"] == "deep/a.json"
    assert files.asked[-1]["ref"] == "<b>"
    assert "<h1>T</h1>" in body
    assert 'src="data:image/png;base64,iVBOR' in body
    assert "<b>" not in body
    assert "default-src 'none'" in policy
    assert "img-src 'self' data:;" in policy
    assert "script" not in policy


async def test_a_preview_takes_the_rights_on_what_it_shows(api: Api, files: StandIn) -> None:
    """Those to read the objects in the file; without that to query there is a page, and no picture."""
    files.touches = [touch("get", "t", "")]
    nobody = await api.person("nobody", Role.NONE)
    reader = await api.person("reader", Role.NONE, ("dashboards:read", "dashboards:*"), ("dashboards:read", "folders:*"))
    assert (await page(api, PAGE, nobody))[0] == 403
    status, body, _ = await page(api, PAGE, reader)
    assert (status, "<h1>T</h1>" in body, "datasources:query" in body, "<img" in body) == (200, True, True, False)
    assert (await page(api, "/preview/team/deep/"))[0] == 400
    files.touches = []
    assert (await page(api, PAGE, reader))[0] == 403
