"""The results of batches, from the database while they run and from object storage after they ended."""

import asyncio
import gzip
import io
import json
from collections.abc import AsyncIterator, Awaitable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pyarrow as pa
import pytest
from tests.contract.api.batch_client import BATCHES, BatchClient, batch_workers, evaluation
from tests.contract.api.conftest import ADMIN, StartApi
from tests.contract.api.test_batch_items import submit_items
from tests.servers.s3 import ACCESS_KEY, BUCKET, SECRET_KEY, s3_server

from dashwright.common.clock import Clock
from dashwright.common.database.notifier import CHANNEL
from dashwright.common.database.pool import Database
from dashwright.common.errors import Unavailable
from dashwright.common.media import ARROW
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.object_storage import ObjectStorage
from dashwright.common.settings import load
from dashwright.common.stores import batch_results
from dashwright.jobs_worker.batches.archiver import BatchArchiver
from dashwright.jobs_worker.stores import batch_segments

#: An expression that cannot be parsed.
INVALID = "$A +"
#: Runs a test once before and once after the results were moved to storage.
in_database_and_storage = pytest.mark.parametrize("is_archived", [False, True], ids=["in the database", "in storage"])
EVALUATIONS = "/apis/expressions.dashwright.io/v0alpha1/namespaces/default/evaluations"


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make segments of ten items, so that small batches have several."""
    for module in ("stores.batch_results", "stores.batches", "batch_results.reader"):
        monkeypatch.setattr(f"dashwright.common.{module}.SEGMENT_ITEMS", 10)
    for module in ("stores.batch_segments", "batches.archiver"):
        monkeypatch.setattr(f"dashwright.jobs_worker.{module}.SEGMENT_ITEMS", 10)


@pytest.fixture
def storage_settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Return the settings of the storage for results: a bucket if a test has this parameter, or else a directory."""
    if getattr(request, "param", None) != "bucket":
        yield {"data_dir": tmp_path}
        return
    with s3_server() as endpoint:
        keys = {"results_access_key": ACCESS_KEY, "results_secret_key": SECRET_KEY}
        yield {"data_dir": tmp_path, "results_url": f"s3://{BUCKET}/batches", "results_endpoint": endpoint, **keys}


@pytest.fixture
def storage(storage_settings: dict[str, Any]) -> ObjectStorage:
    """Return the storage to which the archiver moves results."""
    return ObjectStorage.at(load(**storage_settings).results_location)


@pytest.fixture
def archiver(database: Database, storage: ObjectStorage) -> BatchArchiver:
    """Return an archiver, which does nothing until a test calls it."""
    return BatchArchiver(database, storage, Clock())


@pytest.fixture
async def client(
    start_api: StartApi,
    database: Database,
    broker: MemoryBroker,
    storage_settings: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[BatchClient]:
    """Start a gateway and workers. The archiver runs only when a test calls it."""
    monkeypatch.setattr("dashwright.jobs_worker.main._ARCHIVE_INTERVAL_SECONDS", 1e9)
    async with batch_workers(database, broker, **storage_settings, permitted_paths=str(tmp_path)):
        yield BatchClient(await start_api(**storage_settings))


async def read_results(client: BatchClient, name: str = "b", **query: Any) -> list[dict[str, Any]]:
    """Return the lines of the results."""
    url = f"{BATCHES}/{name}/results"
    async with client.api.session.get(url, params=query, headers={"Authorization": ADMIN}) as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "application/x-ndjson"
        return [json.loads(line) for line in (await response.read()).splitlines()]


def values_of_results(lines: list[dict[str, Any]]) -> list[float]:
    """Return the value of the only point of each result."""
    return [line["result"]["results"]["B"]["frames"][0]["data"]["values"][1][0] for line in lines]


async def run_batch(client: BatchClient, count: int = 25, *, failed: int | None = None, **spec: Any) -> dict[str, Any]:
    """Run a batch of ``count`` items, of which the item with the index ``failed`` fails. Return the status of the batch."""
    await client.create(
        "b", items=[evaluation(value, expression=INVALID if value == failed else "$A * 2") for value in range(count)], **spec
    )
    return await client.wait_for_end("b")


def objects(tmp_path: Path) -> list[Path]:
    """Return the paths of the stored objects: one per segment."""
    return sorted(path for path in (tmp_path / "batches").rglob("*") if path.is_file())


async def count_rows(database: Database, table: str) -> int:
    """Return the number of rows of a table, or of what follows ``from`` in a query."""
    async with database.connection() as connection:
        count: int = await connection.fetchval(f"select count(*) from {table}")
        return count


@in_database_and_storage
async def test_results_are_in_the_order_of_items(client: BatchClient, archiver: BatchArchiver, is_archived: bool) -> None:
    """Each item has one line with its state and the result of its evaluation. The line of a failed item has an error, too."""
    await run_batch(client, failed=13)
    expected = await read_results(client)
    if is_archived:
        await archiver.run_once()
    lines = await read_results(client)
    assert lines == expected
    assert [(line["index"], line["id"]) for line in lines] == [(index, f"#{index}") for index in range(25)]
    assert [line["index"] for line in lines if line["state"] == "error"] == [13]
    assert "error" in lines[13]
    assert lines[13]["result"]["results"]["B"]["error"]
    assert values_of_results(lines[:13] + lines[14:]) == [2 * value for value in range(25) if value != 13]


async def test_the_result_of_an_evaluation_is_that_of_its_subresource(client: BatchClient) -> None:
    """A line contains the same JSON as the subresource of the evaluation."""
    await run_batch(client, 2)
    for line, item in zip(await read_results(client), await client.items("b"), strict=True):
        assert await client.api("GET", f"{EVALUATIONS}/{item['job']}/result") == (200, line["result"])


async def test_the_result_of_a_job_is_its_status(client: BatchClient, archiver: BatchArchiver) -> None:
    """The result of a job is its status, even if the job could not be submitted."""
    await client.create("b", items=[{"spec": {"action": "sync", "repository": "absent"}}])
    await client.wait_for_end("b")
    expected = await read_results(client)
    (line,) = expected
    assert (line["state"], line["result"]["state"], line["error"]) == ("error", "error", line["result"]["message"])
    await archiver.run_once()
    assert await read_results(client) == expected


async def test_items_that_have_not_ended_have_no_result(client: BatchClient) -> None:
    """While a batch runs, its results contain all accepted items with their states."""
    items = [evaluation(0), {"id": "late", **evaluation(1)}]
    await client.create("b", items=items, notBefore="2199-01-01T00:00:00Z")
    await client.wait_until("b", lambda status: status["counts"]["total"] == 2)
    assert await read_results(client) == [{"index": 0, "id": "#0", "state": "pending"}, {"index": 1, "id": "late", "state": "pending"}]


@in_database_and_storage
async def test_results_are_filtered_and_resumed(client: BatchClient, archiver: BatchArchiver, is_archived: bool) -> None:
    """The parameter ``state`` selects items, and ``first`` continues an interrupted stream."""
    await run_batch(client, failed=13)
    if is_archived:
        await archiver.run_once()
    assert [line["index"] for line in await read_results(client, state="error")] == [13]
    assert [line["index"] for line in await read_results(client, state="success", first=12)] == [12, *range(14, 25)]
    assert [line["index"] for line in await read_results(client, first=24)] == [24]
    assert await read_results(client, first=25) == await read_results(client, state="pending") == []
    assert (await client.api("GET", f"{BATCHES}/b/results", params={"state": "done"}))[0] == 400
    assert (await client.api("GET", f"{BATCHES}/absent/results"))[0] == 404


@in_database_and_storage
async def test_arrow_has_the_same_results(client: BatchClient, archiver: BatchArchiver, is_archived: bool) -> None:
    """If Accept names Arrow, the results are one Arrow stream with a row for each item."""
    await run_batch(client, failed=3)
    if is_archived:
        await archiver.run_once()
    async with client.api.session.get(f"{BATCHES}/b/results", headers={"Authorization": ADMIN, "Accept": ARROW}) as response:
        assert (response.status, response.content_type) == (200, ARROW)
        table = pa.ipc.open_stream(io.BytesIO(await response.read())).read_all()
    table.validate(full=True)
    rows = table.to_pylist()
    expected = [{"error": None, "result": None, **line} for line in await read_results(client)]
    assert [{**row, "result": json.loads(row["result"])} for row in rows] == expected
    assert table.column_names == ["index", "id", "state", "error", "result"]


async def test_arrow_of_an_empty_batch_has_a_schema(client: BatchClient) -> None:
    """The Arrow stream of a batch without items is complete, with its schema."""
    await client.create("b")
    async with client.api.session.get(f"{BATCHES}/b/results", headers={"Authorization": ADMIN, "Accept": ARROW}) as response:
        table = pa.ipc.open_stream(io.BytesIO(await response.read())).read_all()
    assert (table.num_rows, table.num_columns) == (0, 5)
    assert await read_results(client) == []


async def test_archived_results_leave_the_database(
    client: BatchClient, archiver: BatchArchiver, database: Database, tmp_path: Path
) -> None:
    """The evaluations of a stored segment are deleted with their results, and nothing is stored twice."""
    await run_batch(client, failed=4, retry={"attempts": 2, "backoff": 0})
    await archiver.run_once()
    assert [await count_rows(database, table) for table in ("job", "evaluation", "evaluation_piece")] == [0, 0, 0]
    paths = objects(tmp_path)
    lines = [line for path in paths for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert [json.loads(line)["index"] for line in lines] == [*range(25)]
    await archiver.run_once()
    assert objects(tmp_path) == paths
    # 25 items have three segments.
    assert len(paths) == 3
    # Only the owner of the directories has access to them.
    assert all(path.parent.parent.stat().st_mode & 0o077 == 0 for path in paths)
    assert "job" not in (await client.items("b"))[0]


async def test_a_running_batch_stores_its_complete_segments(client: BatchClient, archiver: BatchArchiver, tmp_path: Path) -> None:
    """A segment is stored once all its items have ended, even if items of other segments wait for their next attempt."""
    await client.create(
        "b",
        items=[evaluation(value, expression=INVALID if value == 20 else "$A * 2") for value in range(25)],
        retry={"attempts": 2, "backoff": 3600},
    )
    await client.wait_until("b", lambda status: status["counts"]["success"] == 24)
    await archiver.run_once()
    assert len(objects(tmp_path)) == 2
    lines = await read_results(client)
    assert [line["state"] for line in lines] == [*["success"] * 20, "pending", *["success"] * 4]
    assert values_of_results(lines[:20] + lines[21:]) == [2 * value for value in range(25) if value != 20]


async def test_a_retry_of_stored_items_replaces_their_segment(
    client: BatchClient, archiver: BatchArchiver, database: Database, tmp_path: Path
) -> None:
    """After a retry of two items all results are complete, and only the object of the segment with these items is replaced."""
    first = await run_batch(client, failed=13)
    await archiver.run_once()
    before, old_objects = await read_results(client), objects(tmp_path)
    assert (await client.post("b", "retry", {"states": ["success", "error"], "ids": ["#12", "#13"]}))[0] == 200
    await client.wait_until("b", lambda status: status["state"] == "error" and status["finished"] > first["finished"])
    assert await read_results(client) == before
    await archiver.run_once()
    assert await read_results(client) == before
    new_objects = objects(tmp_path)
    # The retried items are in the second of three segments.
    assert [path in old_objects for path in new_objects] == [True, False, True]
    assert await count_rows(database, "job") == 0


async def test_retried_items_are_pending_in_the_results(client: BatchClient, archiver: BatchArchiver, database: Database) -> None:
    """The stored line of an item is not returned after the item was retried, and an incomplete segment is not stored."""
    await run_batch(client, failed=13)
    await archiver.run_once()
    before = await read_results(client)
    change = {"spec": {"notBefore": "2199-01-01T00:00:00Z"}}
    assert (await client.api("PATCH", f"{BATCHES}/b", change, headers={"Content-Type": "application/merge-patch+json"}))[0] == 200
    assert (await client.post("b", "retry"))[1]["retried"] == 1
    await archiver.run_once()
    after = await read_results(client)
    assert after[13] == {"index": 13, "id": "#13", "state": "pending"}
    assert after[:13] + after[14:] == before[:13] + before[14:]
    assert [line["index"] for line in await read_results(client, state="pending")] == [13]


async def test_a_crash_before_the_commit_loses_nothing(
    client: BatchClient, archiver: BatchArchiver, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object that was written but not recorded is written again after the claim has lapsed, and deleted with the batch."""
    await run_batch(client)
    before = await read_results(client)

    async def crash(*_: object, **__: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(batch_segments, "complete", crash)
        patched.setattr(batch_segments, "release", crash)
        with pytest.raises(KeyboardInterrupt):
            await archiver.run_once()
    orphans = objects(tmp_path)
    assert len(orphans) == 1
    assert await read_results(client) == before
    # The claim of the crashed round still excludes its segment, so that only the other two segments are stored.
    await archiver.run_once()
    assert len(objects(tmp_path)) == len(orphans) + 2
    async with database.transaction() as connection:
        await connection.execute("update batch_segment set claimed_until = now() - interval '1 second' where claim is not null")
    await archiver.run_once()
    assert await count_rows(database, "job") == 0
    assert await read_results(client) == before
    await delete(client, database)
    await archiver.run_once()
    assert objects(tmp_path) == []
    assert [await count_rows(database, table) for table in ("batch", "batch_segment", "batch_item")] == [0, 0, 0]


async def send_and_wait(database: Database, condition: str, request: Awaitable[tuple[int, Any]]) -> None:
    """Send a request, and return once an SQL condition is true. Each notification of changed jobs causes a check."""
    changed = asyncio.Event()
    listening = asyncio.Event()
    async with asyncio.timeout(30), database.listen(CHANNEL, lambda _: changed.set(), listening.set):
        await listening.wait()
        status, response = await request
        assert status in (200, 201), response
        while not await count_rows(database, f"(select where {condition}) rows"):
            await changed.wait()
            changed.clear()


async def delete(client: BatchClient, database: Database, path: str = f"{BATCHES}/b") -> None:
    """Delete the batch, or the object at ``path`` that contains it, and return once the controller has deleted all items."""
    await send_and_wait(database, "not exists (select from batch_item)", client.api("DELETE", path))


async def test_a_crash_after_the_commit_leaves_no_evaluations(
    client: BatchClient, archiver: BatchArchiver, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a worker is killed before it has deleted the evaluations of a stored segment, the next round deletes them."""
    await run_batch(client, 10)
    before = await read_results(client)

    async def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(batch_segments, "list_trimmable", crash)
        with pytest.raises(KeyboardInterrupt):
            await archiver.run_once()
    assert (await count_rows(database, "batch_segment where is_complete"), await count_rows(database, "job")) == (1, 10)
    assert await read_results(client) == before
    await archiver.run_once()
    assert (await count_rows(database, "batch where is_stored"), await count_rows(database, "job")) == (1, 0)
    assert await read_results(client) == before


async def test_a_deleted_organization_leaves_no_objects(
    client: BatchClient, archiver: BatchArchiver, database: Database, tmp_path: Path
) -> None:
    """When an organization is deleted, the stored results of its batches are deleted, too."""
    org_id = (await client.api("POST", "/api/orgs", {"name": "other"}))[1]["orgId"]
    body = {"metadata": {"name": "b"}, "spec": {"items": [evaluation(1)]}}
    request = client.api("POST", BATCHES.replace("default", f"org-{org_id}"), body)
    await send_and_wait(database, "exists (select from batch where finished_at is not null)", request)
    await archiver.run_once()
    assert len(objects(tmp_path)) == 1
    await delete(client, database, f"/api/orgs/{org_id}")
    await archiver.run_once()
    assert objects(tmp_path) == []
    assert [await count_rows(database, table) for table in ("batch", "batch_segment")] == [0, 0]


async def test_a_segment_is_not_stored_if_its_items_were_retried(
    client: BatchClient, archiver: BatchArchiver, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that were read before a retry are not recorded as results."""
    first = await run_batch(client, 5, failed=3)
    complete = batch_segments.complete

    async def retry_first(*arguments: Any, **options: Any) -> bool:
        """Retry the failed item before the segment is recorded as complete."""
        monkeypatch.setattr(batch_segments, "complete", complete)
        assert (await client.post("b", "retry"))[1]["retried"] == 1
        return await complete(*arguments, **options)

    monkeypatch.setattr(batch_segments, "complete", retry_first)
    await archiver.run_once()
    assert await count_rows(database, "batch_segment where object is not null") == 0
    await client.wait_until("b", lambda status: status["state"] == "error" and status["finished"] > first["finished"])
    before = await read_results(client)
    await archiver.run_once()
    assert await count_rows(database, "batch_segment where is_complete") == 1
    assert await read_results(client) == before


async def test_results_are_read_while_they_are_moved(client: BatchClient, archiver: BatchArchiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader finds a result that was moved to storage, or replaced by a new object, after the reader had looked it up."""
    await run_batch(client)
    before = await read_results(client)
    list_page = batch_results.list_page

    async def move_after(*arguments: Any, **options: Any) -> Any:
        """Move the results to storage after the reader has read where they are."""
        page = await list_page(*arguments, **options)
        monkeypatch.setattr(batch_results, "list_page", list_page)
        await archiver.run_once()
        return page

    monkeypatch.setattr(batch_results, "list_page", move_after)
    assert await read_results(client) == before


async def test_a_missing_object_is_an_error(
    client: BatchClient, archiver: BatchArchiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If an object is lost, the response is an error. A response that has begun breaks off."""
    await run_batch(client)
    await archiver.run_once()
    objects(tmp_path)[-1].unlink()
    status, error = await client.api("GET", f"{BATCHES}/b/results")
    assert status == 410
    assert "are missing" in error["message"]
    # With small chunks, the response has begun when the last segment is read.
    monkeypatch.setattr("dashwright.api.batches.results._CHUNK_BYTES", 1)
    with pytest.raises(aiohttp.ClientPayloadError):
        await read_results(client)


@pytest.mark.parametrize("storage_settings", ["bucket"], indirect=True)
async def test_results_are_stored_in_a_bucket(
    client: BatchClient, archiver: BatchArchiver, storage: ObjectStorage, database: Database
) -> None:
    """Results in a bucket are read, replaced by a retry, and deleted with their batch."""
    first = await run_batch(client, failed=13)
    before = await read_results(client)
    await archiver.run_once()
    uid = (await client.api("GET", f"{BATCHES}/b"))[1]["metadata"]["uid"]
    paths = await storage.list_paths(f"{uid}/")
    assert len(paths) == 3
    assert await read_results(client) == before
    await client.post("b", "retry")
    await client.wait_until("b", lambda status: status["state"] == "error" and status["finished"] > first["finished"])
    await archiver.run_once()
    assert await read_results(client) == before
    unchanged_paths = set(paths) & set(await storage.list_paths(f"{uid}/"))
    # Only the segment with the retried item has a new object.
    assert len(unchanged_paths) == 2
    await delete(client, database)
    await archiver.run_once()
    assert await storage.list_paths(f"{uid}/") == []


async def test_large_results_are_stored_in_chunks(client: BatchClient, archiver: BatchArchiver) -> None:
    """A result of several chunks, which is between two small results, is equal before and after the move to storage."""
    points = list(range(40_000))
    columns = [[1_700_000_000_000 + 1000 * point for point in points], points]
    schema = {"fields": [{"name": "time", "type": "time"}, {"name": "value", "type": "number"}]}
    large_evaluation = evaluation(0)
    large_evaluation["spec"]["queries"][0]["rawFrameContent"] = json.dumps([{"schema": schema, "data": {"values": columns}}])
    large_evaluation["spec"]["panel"]["targets"].append({"refId": "C", "type": "math", "expression": "$A * 3"})
    await client.create("b")
    await submit_items(client.api, [evaluation(7), large_evaluation, evaluation(8)], "?close=true")
    assert (await client.wait_for_end("b"))["state"] == "success"
    before = await read_results(client)
    chunk_bytes = 1024 * 1024
    assert len(json.dumps(before[1])) > chunk_bytes
    assert before[1]["result"]["results"]["B"]["frames"][0]["data"]["values"][1] == [2 * point for point in points]
    await archiver.run_once()
    assert await read_results(client) == before
    assert await read_results(client, first=2) == before[2:]


async def test_a_failed_storage_keeps_results_in_the_database(
    client: BatchClient, archiver: BatchArchiver, database: Database, tmp_path: Path
) -> None:
    """If the storage does not respond, nothing is lost, and the next round of the archiver repeats the work."""
    await run_batch(client)
    before = await read_results(client)
    # A file instead of the directory makes each write fail.
    (tmp_path / "batches").touch()
    with pytest.raises(Unavailable):
        await archiver.run_once()
    assert await read_results(client) == before
    (tmp_path / "batches").unlink()
    await archiver.run_once()
    assert await count_rows(database, "batch_segment where is_complete") == 3
    assert await read_results(client) == before
