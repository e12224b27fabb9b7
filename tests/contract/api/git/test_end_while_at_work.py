"""The end of a repository while a sync works on it: it does not wait for the sync, and nothing of that stays."""

import asyncio
from typing import Any

import pytest
from tests.contract.api.git.trial import DASHBOARDS, REPOSITORIES, Trial, dashboard, until

from dashwright.jobs_worker.adapters.store import StoredResources

MANY = 200


async def test_a_delete_does_not_wait_for_the_sync_whose_write_is_refused(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was stored goes at once, with its folders; what the sync has read meanwhile is never written."""
    trial.work.commit({f"d{number % 7}/{number}.json": dashboard(f"n{number}", "old") for number in range(MANY)})
    await trial.make()
    assert len(await trial.titles()) > 0
    trial.work.commit({f"d{number % 7}/{number}.json": dashboard(f"n{number}", "new") for number in range(MANY)})
    about_to_write, go = asyncio.Event(), asyncio.Event()
    apply = StoredResources.apply

    async def held(*arguments: Any, **options: Any) -> None:
        about_to_write.set()
        await go.wait()
        await apply(*arguments, **options)

    monkeypatch.setattr(StoredResources, "apply", held)
    trial.clock.ahead += 120
    await trial.begin()
    async with asyncio.timeout(30):
        await about_to_write.wait()
        status, _ = await trial.api("DELETE", f"{REPOSITORIES}/team")
    assert status == 200
    assert (await trial.api("GET", f"{REPOSITORIES}/team"))[0] == 404
    go.set()
    await until(trial.api.database, trial.is_at_rest)
    assert trial.worker is not None
    await trial.worker.stop()
    trial.worker = None
    _, found = await trial.api("GET", DASHBOARDS)
    assert found["items"] == []
    assert await trial.api.sql("select count(*) from resource") == 0
    assert await trial.api.sql("select count(*) from repository_commit") == 0
