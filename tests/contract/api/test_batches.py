"""Batches over a gateway, a jobs worker and an expressions worker with a real database and the in-memory broker."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.contract.api.batch_client import BATCHES, ENDED_STATES, BatchClient, batch_workers, evaluation
from tests.contract.api.conftest import StartApi, case_id

from dashwright.common.database.pool import Database
from dashwright.common.identity import Role
from dashwright.common.messaging.memory import MemoryBroker

#: An expression with a syntax error.
INVALID = "$A +"


@pytest.fixture
async def client(start_api: StartApi, database: Database, broker: MemoryBroker, tmp_path: Path) -> AsyncIterator[BatchClient]:
    """Start a gateway and workers, and yield a client of batches."""
    async with batch_workers(database, broker, data_dir=tmp_path, permitted_paths=str(tmp_path)):
        yield BatchClient(await start_api())


def slow_evaluation() -> dict[str, Any]:
    """Return an item whose data source responds after 30 seconds."""
    item = evaluation(1)
    item["spec"]["queries"][0] |= {"scenarioId": "slow_query", "stringInput": "30s"}
    return item


def later(**time: int) -> str:
    """Return a time in the future, as the API accepts it."""
    return (datetime.now(UTC) + timedelta(**time)).isoformat()


async def test_a_batch_with_items_runs_them_and_ends(client: BatchClient) -> None:
    """The items of the spec run, the counts add up, and the batch ends. The status has a rate of 0 and an empty list of errors."""
    await client.create("b", items=[evaluation(value, item_id=f"item {value}") for value in range(20)])
    status = await client.wait_for_end("b")
    assert status["state"] == "success"
    assert status["progress"] == 100
    assert status["rate"] == 0
    assert status["errors"] == []
    assert status["counts"] == {"total": 20, "pending": 0, "working": 0, "success": 20, "error": 0, "cancelled": 0}
    assert 0 < status["started"] <= status["finished"]
    items = await client.items("b")
    assert [(item["index"], item["id"], item["state"], item["attempts"]) for item in items] == [
        (index, f"item {index}", "success", 1) for index in range(20)
    ]


async def test_failed_items_are_named_and_retried(client: BatchClient) -> None:
    """A batch with a failed item ends with an error that names the item. A retry runs only the failed item again."""
    items = [evaluation(value, expression=INVALID if value == 1 else "$A") for value in range(3)]
    await client.create("b", items=items)
    status = await client.wait_for_end("b")
    assert (status["state"], status["counts"]["success"], status["counts"]["error"]) == ("error", 2, 1)
    assert len(status["errors"]) == 1
    assert status["errors"][0].startswith("item 1 (#1): ")
    assert [item["index"] for item in await client.items("b", state="error")] == [1]
    assert await client.post("b", "retry") == (200, {"kind": "BatchRetry", "apiVersion": "jobs.dashwright.io/v0alpha1", "retried": 1})
    running = await client.status("b")
    assert running["state"] == "running"
    assert running["counts"]["success"] == 2
    assert running["counts"]["error"] == 0
    assert running["progress"] == 66.7
    second = await client.wait_until("b", lambda newest: newest["state"] == "error" and newest["finished"] > status["finished"])
    assert second["counts"] == status["counts"]


async def test_a_retry_refuses_unknown_members(client: BatchClient) -> None:
    """A retry with a misspelt member is refused, rather than applied to all items."""
    await client.create("b", items=[evaluation(1, expression=INVALID)])
    await client.wait_for_end("b")
    status, refusal = await client.post("b", "retry", {"id": ["#7"]})
    assert (status, refusal["details"]["causes"][0]["field"]) == (422, "id")
    assert (await client.status("b"))["state"] == "error"


async def test_a_closed_batch_is_running(client: BatchClient) -> None:
    """The response to a close has the new state, even if the batch is closed already. A dry run changes nothing."""
    await client.create("open", notBefore=later(hours=1))
    await client.upload("open", [evaluation(1)], close=False)
    await client.create("closed", notBefore=later(hours=1))
    await client.upload("closed", [evaluation(1)], close=True)
    assert (await client.post("open", "close?dryRun=All"))[1]["status"]["state"] == "running"
    assert (await client.status("open"))["state"] == "open"
    assert (await client.post("open", "close"))[1]["status"]["state"] == "running"
    assert (await client.post("closed", "close"))[1]["status"]["state"] == "running"
    # The close is repeated.
    assert (await client.post("open", "close"))[1]["status"]["state"] == "running"
    assert (await client.status("open"))["state"] == "running"


@pytest.mark.parametrize("query", ["items?limit=many", "items?limit=-1", "items?continue=end", "results?first=-1"])
async def test_invalid_pages_are_refused(client: BatchClient, query: str) -> None:
    """A request with an invalid index is refused, so that no client reads the first page twice."""
    await client.create("b")
    status, refusal = await client.api("GET", f"{BATCHES}/b/{query}")
    assert status == 400
    assert "is not a non-negative integer" in refusal["message"]


async def test_an_item_is_attempted_as_often_as_the_policy_allows(client: BatchClient) -> None:
    """An item that fails runs again until its attempts are used up."""
    await client.create("b", items=[evaluation(1, expression=INVALID)], retry={"attempts": 3, "backoff": 0})
    assert (await client.wait_for_end("b"))["counts"]["error"] == 1
    assert (await client.items("b"))[0]["attempts"] == 3


async def test_a_failure_stops_the_rest_of_a_batch(client: BatchClient) -> None:
    """With ``onFailure: stop``, the items that have not begun are cancelled after the first failure."""
    items = [evaluation(value, expression=INVALID if value == 0 else "$A") for value in range(30)]
    await client.create("b", items=items, onFailure="stop", parallelism=1)
    status = await client.wait_for_end("b")
    assert (status["state"], status["counts"]["error"]) == ("error", 1)
    assert status["counts"]["cancelled"] > 0
    assert "onFailure" in status["message"]


async def test_a_batch_waits_for_its_start_and_can_be_cancelled(client: BatchClient) -> None:
    """No item runs before notBefore. Cancelling a batch cancels its items, and a repeated cancel succeeds."""
    await client.create("b", items=[evaluation(1)], notBefore=later(hours=1))
    await client.wait_until("b", lambda status: status["counts"]["total"] == 1)
    assert (await client.post("b", "cancel"))[0] == 200
    status = await client.wait_for_end("b")
    assert status["state"] == "cancelled"
    assert status["counts"]["cancelled"] == 1
    assert status.get("started") is None
    assert (await client.post("b", "cancel"))[0] == 200
    assert (await client.items("b"))[0]["error"] == "job was cancelled"


async def test_the_running_items_of_a_cancelled_batch_end(client: BatchClient) -> None:
    """An evaluation that waits for its data source ends as cancelled, before the source responds."""
    await client.create("b", items=[slow_evaluation()])
    await client.wait_until("b", lambda status: status["counts"]["working"] == 1)
    assert (await client.post("b", "cancel"))[0] == 200
    status = await client.wait_for_end("b")
    assert (status["state"], status["counts"]["cancelled"], status["counts"]["success"]) == ("cancelled", 1, 0)


async def test_the_status_is_written_at_most_twice_a_second(client: BatchClient) -> None:
    """A watch receives at most one status in half a second, in addition to the first and the last status."""
    await client.create("b", items=[evaluation(value) for value in range(300)])
    status: dict[str, Any] = {"state": "open"}
    received = 0
    async with client.watch("b") as statuses:
        while status["state"] not in ENDED_STATES:
            status = await anext(statuses)
            received += 1
    duration = status["finished"] - status["started"]  # in milliseconds
    # Both the first and the last half second may have begun, so that one is added.
    half_seconds = duration / 500 + 1
    assert received <= 2 + half_seconds


async def test_items_that_did_not_end_by_the_deadline_are_cancelled(client: BatchClient) -> None:
    """At the deadline the remaining items are cancelled, and the batch ends with an error."""
    await client.create("b", items=[slow_evaluation()], deadline=later(seconds=1))
    status = await client.wait_for_end("b")
    assert (status["state"], status["message"], status["counts"]["cancelled"]) == ("error", "the deadline has passed", 1)


async def test_an_open_batch_ends_after_it_is_closed(client: BatchClient) -> None:
    """A batch without items in its spec is open. An open batch that is closed without items succeeds."""
    await client.create("b")
    assert (await client.status("b"))["state"] == "open"
    assert (await client.post("b", "close"))[0] == 200
    assert (await client.wait_for_end("b"))["state"] == "success"


async def test_a_deleted_batch_leaves_nothing(client: BatchClient) -> None:
    """Deleting a batch cancels its jobs and deletes its items, so that its name can be used again."""
    await client.create("b", items=[evaluation(value) for value in range(5)], parallelism=1)
    assert (await client.api("DELETE", f"{BATCHES}/b"))[0] == 200
    await client.create("b", items=[evaluation(1)])
    assert (await client.wait_for_end("b"))["counts"]["total"] == 1


async def test_a_finished_batch_is_deleted_after_its_time(client: BatchClient) -> None:
    """A batch with ``keep: 0`` is deleted as soon as it has ended."""
    await client.create("b", items=[evaluation(1)], keep=0)
    async with asyncio.timeout(60), client.watch("b") as statuses:
        async for _ in statuses:  # The batch is read after each event of the watch.
            if (await client.api("GET", f"{BATCHES}/b"))[0] == 404:
                break
    assert (await client.api("GET", f"{BATCHES}/b"))[0] == 404


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"priority": 6}, "spec.priority"),
        ({"deadline": "2001-01-01T00:00:00Z"}, "spec.deadline"),
        ({"notBefore": "tomorrow"}, "spec.notBefore"),
        ({"items": [{"kind": "Dashboard", "spec": {}}]}, "spec.items[0].kind"),
        ({"items": [{"kind": "Evaluation", "spec": {}}]}, "spec.items[0].spec.panel"),
        ({"items": [{"id": "a", "spec": {"action": "sync", "repository": "r"}}] * 2}, "spec.items[1].id"),
        ({"retry": {"attempts": 0}}, "spec.retry.attempts"),
    ],
    ids=case_id,
)
async def test_an_invalid_batch_is_refused(client: BatchClient, spec: dict[str, Any], field: str) -> None:
    """An invalid batch is refused and not stored. The response names the faulty field."""
    status, error = await client.api("POST", BATCHES, {"metadata": {"name": "b"}, "spec": spec})
    assert status == 422, error
    assert field in [cause["field"] for cause in error["details"]["causes"]]
    assert (await client.api("GET", f"{BATCHES}/b"))[0] == 404


async def test_items_need_the_permissions_of_their_kinds(client: BatchClient) -> None:
    """A Viewer who may create batches cannot submit jobs."""
    auth = await client.api.person("viewer", Role.VIEWER, ("batches:create", "*"))
    body = {"metadata": {"name": "b"}, "spec": {"items": [{"spec": {"action": "sync", "repository": "r"}}]}}
    assert (await client.api("POST", BATCHES, body, auth=auth))[0] == 403


async def test_an_item_that_cannot_be_submitted_fails_alone(client: BatchClient) -> None:
    """An item for an unknown repository ends with an error, and the other item succeeds."""
    items = [{"spec": {"action": "sync", "repository": "absent"}}, evaluation(1)]
    await client.create("b", items=items)
    status = await client.wait_for_end("b")
    assert (status["counts"]["success"], status["counts"]["error"]) == (1, 1)
    assert "absent" in status["errors"][0]
