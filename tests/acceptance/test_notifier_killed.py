"""Workers that are killed while they notify a receiver: another worker sends the event again, with the same id."""

import asyncio
from pathlib import Path

import asyncpg
import pytest
from aiohttp import web
from tests.acceptance.client import PROVISIONING, Client
from tests.acceptance.conftest import MakeStack
from tests.acceptance.polling import wait_until
from tests.contract.api.webhook_receiver import SECRET, ReceivedRequest, accept, receiving
from tests.servers import git


@pytest.mark.faults
async def test_the_event_of_a_killed_worker_is_sent_again(make_stack: MakeStack, database_url: str, tmp_path: Path) -> None:
    """An event is sent again if its worker was killed before it recorded the delivery, and never after the record."""
    (tmp_path / "server").mkdir()
    async with git.serving(tmp_path / "server") as server, receiving() as receiver:
        work_tree = server.create_repository("team.git")
        work_tree.commit({"a.json": '{"uid": "a", "title": "A", "panels": []}'})

        async def hang(_: ReceivedRequest) -> web.StreamResponse:
            """Never send a response, so that the delivery is not recorded."""
            await asyncio.Event().wait()
            raise AssertionError("the event is never set")

        receiver.respond = hang
        stack = await make_stack(DATA_DIR=str(tmp_path / "data"), ALLOWED_HOSTS="127.0.0.0/8").start_without_queries()
        async with Client(stack.address) as client:
            spec = {
                "title": "Team",
                "workflows": [],
                "type": "githost",
                "githost": {"url": server.url("team.git"), "branch": "main"},
                "sync": {"enabled": True, "target": "folder"},
                "notifications": [{"name": "chat", "url": receiver.url, "events": ["sync"]}],
            }
            secure = {"notifications": {"chat": {"create": SECRET}}}
            body = {"metadata": {"name": "team"}, "spec": spec, "secure": secure}
            await client.call("POST", f"{PROVISIONING}/repositories", status=201, json=body)
            await client.sync_and_wait("team")
            first_request = await receiver.next()
            await stack.jobs_worker.kill()
            receiver.respond = accept
            await _end_leases(database_url)
            await stack.add_jobs_worker()
            repeated_request = await receiver.next()
            assert repeated_request.id == first_request.id
            assert repeated_request.body == first_request.body

            async def is_recorded() -> bool:
                """Return whether the status of the repository has a delivery."""
                status = (await client.call("GET", f"{PROVISIONING}/repositories/team"))["status"]
                return any(item.get("delivered") for item in status.get("notifications") or ())

            await wait_until(is_recorded)
            await stack.jobs_worker.kill()
            await _end_leases(database_url)
            await stack.add_jobs_worker()
            work_tree.commit({"a.json": '{"uid": "a", "title": "B", "panels": []}'})
            await client.sync_and_wait("team")
            # The next request is about the new commit, so the delivered event was not sent again.
            next_request = await receiver.next()
            assert next_request.event["type"] == "io.dashwright.repository.sync.success"
            assert [request.id for request in receiver.received] == [first_request.id, first_request.id, next_request.id]


async def _end_leases(database_url: str) -> None:
    """End the leases of killed workers, which would expire after a minute."""
    connection = await asyncpg.connect(database_url)
    await connection.execute("update notification set next_attempt_at = now() where next_attempt_at is not null")
    await connection.close()
