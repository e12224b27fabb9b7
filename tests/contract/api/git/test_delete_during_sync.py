"""A repository is deleted while a sync runs: the delete does not wait, and the sync stores nothing afterwards."""

import asyncio
from typing import Any

import pytest
from tests.contract.api.git.trial import DASHBOARDS, REPOSITORIES, Trial, dashboard, until

from dashwright.jobs_worker.adapters.store import DatabaseObjectStore

MANY = 200


async def test_a_delete_does_not_wait_for_a_running_sync(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """The delete removes all stored objects immediately, and the write of the running sync is rejected."""
    trial.work.commit({f"d{index % 7}/{index}.json": dashboard(f"n{index}", "old") for index in range(MANY)})
    await trial.make()
    assert len(await trial.titles()) > 0
    trial.work.commit({f"d{index % 7}/{index}.json": dashboard(f"n{index}", "new") for index in range(MANY)})
    about_to_write, may_write = asyncio.Event(), asyncio.Event()
    apply = DatabaseObjectStore.apply

    async def wait_and_apply(*arguments: Any, **options: Any) -> None:
        about_to_write.set()
        await may_write.wait()
        await apply(*arguments, **options)

    monkeypatch.setattr(DatabaseObjectStore, "apply", wait_and_apply)
    trial.clock.ahead += 120
    await trial.plan_round()
    async with asyncio.timeout(30):
        await about_to_write.wait()
        status, _ = await trial.api("DELETE", f"{REPOSITORIES}/team")
    assert status == 200
    assert (await trial.api("GET", f"{REPOSITORIES}/team"))[0] == 404
    may_write.set()
    await until(trial.api.database, trial.is_at_rest)
    assert trial.worker is not None
    await trial.worker.stop()
    trial.worker = None
    _, found = await trial.api("GET", DASHBOARDS)
    assert found["items"] == []
    assert await trial.api.sql("select count(*) from resource") == 0
    assert await trial.api.sql("select count(*) from repository_commit") == 0
