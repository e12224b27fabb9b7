"""A repository is deleted while a sync runs: the delete does not wait, and the sync stores nothing afterwards."""

import asyncio
from typing import Any

import pytest
from tests.contract.api.git.sync_environment import DASHBOARDS, REPOSITORIES, SyncEnvironment, dashboard, wait_until

from dashwright.jobs_worker.adapters.store import DatabaseObjectStore

DASHBOARD_COUNT = 200


async def test_a_delete_does_not_wait_for_a_running_sync(environment: SyncEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    """A delete of a repository succeeds while a sync of it is about to write, removes all objects, and the sync then stores nothing."""
    environment.work_tree.commit({f"d{index % 7}/{index}.json": dashboard(f"n{index}", "old") for index in range(DASHBOARD_COUNT)})
    await environment.create_repository()
    assert len(await environment.titles()) > 0
    environment.work_tree.commit({f"d{index % 7}/{index}.json": dashboard(f"n{index}", "new") for index in range(DASHBOARD_COUNT)})
    about_to_write, may_write = asyncio.Event(), asyncio.Event()
    apply = DatabaseObjectStore.apply

    async def wait_and_apply(*arguments: Any, **options: Any) -> None:
        """Hold the write of a sync until the test permits it."""
        about_to_write.set()
        await may_write.wait()
        await apply(*arguments, **options)

    monkeypatch.setattr(DatabaseObjectStore, "apply", wait_and_apply)
    # The next sync, which is due after a minute, stops before its write.
    environment.clock.ahead += 120
    await environment.plan_round()
    async with asyncio.timeout(30):
        await about_to_write.wait()
        status, _ = await environment.api("DELETE", f"{REPOSITORIES}/team")
    assert status == 200
    assert (await environment.api("GET", f"{REPOSITORIES}/team"))[0] == 404
    may_write.set()
    await wait_until(environment.api.database, environment.is_at_rest)
    # The end of the worker is the end of the sync.
    assert environment.worker is not None
    await environment.worker.stop()
    environment.worker = None
    _, body = await environment.api("GET", DASHBOARDS)
    assert body["items"] == []
    assert await environment.api.sql("select count(*) from resource") == 0
    assert await environment.api.sql("select count(*) from repository_commit") == 0
