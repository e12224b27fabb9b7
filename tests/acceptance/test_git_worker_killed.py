"""A worker that is killed during a git command: another worker with the same data directory completes the job."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import web
from tests.acceptance.client import PROVISIONING, Client
from tests.acceptance.conftest import MakeStack
from tests.servers import git

from dashwright.common.json_documents import write_json

#: Number of dashboards in the repository.
FILES = 50


@pytest.mark.faults
async def test_the_job_of_a_worker_killed_during_a_fetch_succeeds(make_stack: MakeStack, tmp_path: Path) -> None:
    """A job whose worker is killed twice during a fetch succeeds, and the leftovers of git in the mirror are removed."""
    (tmp_path / "server").mkdir()
    async with git.serving(tmp_path / "server") as server:
        work_tree = server.create_repository("team.git")
        names = [f"n{index}" for index in range(FILES)]
        work_tree.commit({f"{name}.json": write_json({"uid": name, "title": name, "panels": []}) for name in names})
        stack = await make_stack(
            JOB_LEASE_SECONDS="1.5", DATA_DIR=str(tmp_path / "data"), ALLOWED_HOSTS="127.0.0.0/8"
        ).start_without_queries()
        fetch_requested, may_finish = asyncio.Event(), asyncio.Event()

        async def wait(request: web.Request) -> web.StreamResponse | None:
            """Hold a fetch until it may finish. Other requests are handled immediately."""
            if b"command=fetch" in await request.read():
                fetch_requested.set()
                await may_finish.wait()
            return None

        server.fault = wait
        async with Client(stack.address) as client:
            sync = {"enabled": True, "target": "folder"}
            spec = {"title": "Team", "workflows": [], "type": "githost", "githost": {"url": server.url("team.git")}, "sync": sync}
            await client.call("POST", f"{PROVISIONING}/repositories", status=201, json={"metadata": {"name": "team"}, "spec": spec})
            job = await client.sync("team")
            for _ in range(2):
                await asyncio.wait_for(fetch_requested.wait(), 30)
                fetch_requested.clear()
                await stack.jobs_worker.kill()
                (mirror,) = [folder for folder in (tmp_path / "data" / "git").iterdir() if folder.is_dir()]
                # Git leaves such files if it is killed while it writes.
                (mirror / "packed-refs.lock").touch()
                (mirror / "objects" / "pack" / "tmp_pack_left").write_bytes(b"x" * 1000)
                await stack.add_jobs_worker()
            await asyncio.wait_for(fetch_requested.wait(), 30)
            server.fault = None
            may_finish.set()
            ended_job = await client.wait_for_job(job)
            assert ended_job["status"]["state"] == "success", ended_job
            assert sorted(await client.dashboards()) == sorted(names)
        assert not [*(tmp_path / "data" / "git").rglob("tmp_pack_*")]
