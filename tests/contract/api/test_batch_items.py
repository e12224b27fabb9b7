"""Submission of items to a batch, over a gateway with a real database and without workers."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any, Final

import pytest
from tests.contract.api import repositories
from tests.contract.api.batch_client import BATCHES, evaluation
from tests.contract.api.conftest import ADMIN, Api, StartApi

from dashwright.common.identity import Role

ITEMS: Final = f"{BATCHES}/b/items"
SYNC: Final = {"action": "sync", "repository": "team", "sync": {}}
LINES: Final = {"Content-Type": "application/x-ndjson"}


def lines(items: Iterable[Any]) -> bytes:
    """Return items as lines of JSON."""
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


async def submit_items(
    api: Api, body: bytes | Iterable[Any] | AsyncIterator[bytes], query: str = "", *, auth: str = ADMIN
) -> tuple[int, Any]:
    """Return status and verdicts, or status and error. Items are sent as lines."""
    data = body if isinstance(body, AsyncIterator) else io.BytesIO(body if isinstance(body, bytes) else lines(body))
    async with api.session.post(f"{ITEMS}{query}", data=data, headers={**LINES, "Authorization": auth}) as response:
        if response.status != 200:
            return response.status, await response.json()
        assert response.content_type == "application/x-ndjson"
        return response.status, [json.loads(line) async for line in response.content]


async def create_batch(api: Api, **spec: Any) -> None:
    """Create the batch ``b``."""
    status, created = await api("POST", BATCHES, {"metadata": {"name": "b"}, "spec": spec})
    assert status == 201, created


def statuses(verdicts: Iterable[dict[str, Any]]) -> list[str]:
    """Return the statuses of verdicts."""
    return [verdict["status"] for verdict in verdicts]


async def stored_ids(api: Api) -> list[str]:
    """Return the ids of the stored items, in the order of their indexes."""
    async with api.database.connection() as connection:
        return [row["id"] for row in await connection.fetch("select id from batch_item order by index")]


async def test_items_are_accepted_in_order_and_recognized_again(api: Api) -> None:
    """More items than one transaction takes are accepted in order. Items that are sent again are duplicates with their first index."""
    await create_batch(api)
    # One transaction takes 500 items.
    items = [evaluation(value, item_id=f"item {value}") for value in range(1203)]
    assert await submit_items(api, items) == (
        200,
        [{"index": index, "id": f"item {index}", "status": "accepted"} for index in range(1203)],
    )
    new_item = evaluation(0, item_id="new")
    status, verdicts = await submit_items(api, [*items[1:], new_item])
    assert (status, set(statuses(verdicts[:-1]))) == (200, {"duplicate"})
    assert [verdict["index"] for verdict in verdicts] == list(range(1, 1204))
    assert verdicts[-1] == {"index": 1203, "id": "new", "status": "accepted"}
    assert await api.sql("select total from batch") == 1204
    assert (await stored_ids(api))[-1] == "new"


async def test_each_refused_line_has_its_reason(api: Api) -> None:
    """Faulty lines are refused with their line number and the position of the fault, and valid lines are accepted.

    Blank lines have no verdict.
    """
    await repositories.make_local_repository(api, "team", api.data / "team", "write")
    await create_batch(api)
    body = b"\n".join(
        [
            b'{"id": "good", "spec": {"repository": "team", "sync": {}}}',
            b"",
            b'{"id": "cut',
            b'{"id": "kind", "kind": "Dashboard", "spec": {}}',
            b'{"id": "invalid", "kind": "Evaluation", "spec": {}}',
            b'{"id": "unknown", "spec": {"repository": "other", "sync": {}}}',
            b'{"id": "action", "spec": {"repository": "team", "pr": {"pr": 1}}}',
            b'{"id": "large", "spec": "' + b"x" * 2_000_000 + b'"}',
            b'{"id": "good", "spec": {"repository": "team", "sync": {}}}',
            b'{"id": "good", "spec": {"repository": "team", "export": {}}}',
            b'{"spec": {"repository": "team", "sync": {}}}',
        ]
    )
    status, verdicts = await submit_items(api, body)
    assert status == 200
    assert [(verdict["index"], verdict["id"], verdict["status"]) for verdict in verdicts[:-1]] == [
        (0, "good", "accepted"),
        (1, "", "refused"),
        (2, "kind", "refused"),
        (3, "invalid", "refused"),
        (4, "unknown", "refused"),
        (5, "action", "refused"),
        (6, "", "refused"),
        (0, "good", "duplicate"),
        (8, "good", "refused"),
    ]
    for verdict, message in zip(
        [verdict for verdict in verdicts if verdict["status"] == "refused"],
        [
            "line 3: the item is not JSON",
            "line 4: kind: Input should be 'Job' or 'Evaluation'",
            "line 5: spec.panel: Field required",
            'line 6: repositories.provisioning.grafana.app "other" not found',
            "line 7: spec.action: ",
            "line 8: the item has more than 1,048,576 bytes",
            "the batch has another item with this id, at index 0",
        ],
        strict=True,
    ):
        assert verdict["message"].startswith(message)
    assert (verdicts[-1]["index"], verdicts[-1]["status"], len(verdicts[-1]["id"])) == (1, "accepted", 32)


async def test_a_batch_is_closed_after_its_items(api: Api) -> None:
    """After a request with close=true, items for the batch are refused with 409."""
    await create_batch(api)
    assert (await submit_items(api, [evaluation(1)], "?close=true"))[0] == 200
    assert await api.sql("select is_closed from batch")
    status, refusal = await submit_items(api, [evaluation(2)])
    assert status == 409
    assert refusal["reason"] == "Conflict"
    assert "is closed" in refusal["message"]


@pytest.mark.parametrize(
    ("spec", "statement", "reason"),
    [
        ({"items": [evaluation(1)]}, None, "has its items in its spec"),
        ({}, "update batch set stop_reason = 'cancelled', is_closed = true", "was stopped"),
        ({}, "update batch set finished_at = now(), is_closed = true", "has ended"),
    ],
    ids=["items in the spec", "stopped", "ended"],
)
async def test_a_batch_that_accepts_no_items_is_a_conflict(api: Api, spec: dict[str, Any], statement: str | None, reason: str) -> None:
    """A batch that has items in its spec, was stopped, or has ended accepts no items: they get 409 with the reason, and are not stored."""
    await create_batch(api, **spec)
    if statement is not None:
        await api.sql(statement)
    status, refusal = await submit_items(api, [evaluation(2)])
    assert status == 409
    assert reason in refusal["message"]
    assert await stored_ids(api) == []


async def test_a_request_that_closed_its_batch_can_be_repeated(api: Api) -> None:
    """A request with close=true can be repeated, and accepted items are duplicates then. A request with new or without items gets 409."""
    await create_batch(api)
    items = [evaluation(value, item_id=f"item {value}") for value in range(600)]
    await submit_items(api, [*items, {"id": "wrong"}], "?close=true")
    status, verdicts = await submit_items(api, [*items, {"id": "wrong"}], "?close=true")
    assert (status, statuses(verdicts)) == (200, ["duplicate"] * 600 + ["refused"])
    assert (await submit_items(api, [*items, evaluation(0, item_id="new")]))[0] == 409
    assert (await submit_items(api, b""))[0] == 409
    assert await api.sql("select total from batch") == 600


async def test_closing_does_not_discard_the_items_of_the_spec(api: Api) -> None:
    """A batch with items in its spec can be closed before the controller has stored them."""
    await create_batch(api, items=[evaluation(1)])
    assert (await api("POST", f"{BATCHES}/b/close"))[0] == 200
    assert not await api.sql("select has_spec_items from batch")


async def test_an_unknown_batch_and_another_media_type_are_refused(api: Api) -> None:
    """An unknown batch gets 404, and another media type gets 415."""
    assert (await submit_items(api, [evaluation(1)]))[0] == 404
    await create_batch(api)
    async with api.session.post(ITEMS, json=evaluation(1), headers={"Authorization": ADMIN}) as response:
        assert response.status == 415
        assert "application/x-ndjson" in (await response.json())["message"]


async def test_a_dry_run_has_the_same_verdicts_and_stores_nothing(api: Api) -> None:
    """The verdicts of a dry run are equal to those of a request that stores the items."""
    await create_batch(api)
    items = [evaluation(value, item_id=f"item {value}") for value in range(1001)]
    dry_run = await submit_items(api, [*items, {"spec": {}}], "?dryRun=All&close=true")
    assert await stored_ids(api) == []
    assert not await api.sql("select is_closed from batch")
    assert await submit_items(api, [*items, {"spec": {}}]) == dry_run


async def test_a_full_batch_refuses_further_items(start_api: StartApi) -> None:
    """New items beyond the limit are refused. Items that the batch has already are duplicates."""
    api = await start_api(batch_items=3)
    await create_batch(api)
    items = [evaluation(value, item_id=f"item {value}") for value in range(5)]
    _, verdicts = await submit_items(api, items)
    assert statuses(verdicts) == ["accepted"] * 3 + ["refused"] * 2
    assert "a batch may have 3 items (DASHWRIGHT_BATCH_ITEMS)" in verdicts[3]["message"]
    _, verdicts = await submit_items(api, items)
    assert statuses(verdicts) == ["duplicate"] * 3 + ["refused"] * 2
    assert [verdict["index"] for verdict in verdicts] == [0, 1, 2, 3, 4]


async def test_an_organization_with_too_many_waiting_items_is_refused(start_api: StartApi) -> None:
    """Items beyond the limit are refused. Once the limit is reached, the next request is refused with 429 and Retry-After."""
    api = await start_api(waiting_jobs=3)
    await create_batch(api)
    _, verdicts = await submit_items(api, [evaluation(value) for value in range(5)])
    assert statuses(verdicts) == ["accepted"] * 3 + ["refused"] * 2
    assert "would have 4 waiting jobs, more than 3 (DASHWRIGHT_WAITING_JOBS)" in verdicts[3]["message"]
    async with api.session.post(ITEMS, data=lines([evaluation(9)]), headers={**LINES, "Authorization": ADMIN}) as response:
        assert (response.status, response.headers["Retry-After"]) == (429, "5")


async def test_items_need_the_permissions_of_their_kinds(api: Api) -> None:
    """A caller without the permission to create jobs may still submit evaluations. Without batches:write, nothing is accepted."""
    await repositories.make_local_repository(api, "team", api.data / "team", "write")
    await create_batch(api)
    viewer = await api.person("viewer", Role.VIEWER)
    assert (await submit_items(api, [evaluation(1)], auth=viewer))[0] == 403
    writer = await api.person("writer", Role.VIEWER, ("batches:write", "*"), ("evaluations:create", "*"))
    _, verdicts = await submit_items(api, [evaluation(1), {"spec": SYNC}], auth=writer)
    assert statuses(verdicts) == ["accepted", "refused"]
    assert "writer may not submit jobs; needed: jobs:create" in verdicts[1]["message"]


async def test_exports_need_the_permissions_of_single_exports(api: Api) -> None:
    """A caller who may submit jobs, but may not read all dashboards, cannot submit an export."""
    await repositories.make_local_repository(api, "team", api.data / "team", "write")
    await create_batch(api)
    auth = await api.person("exporter", Role.NONE, ("batches:write", "*"), ("jobs:create", "*"))
    items = [{"spec": SYNC}, {"spec": {"repository": "team", "export": {}}}]
    _, verdicts = await submit_items(api, items, auth=auth)
    assert statuses(verdicts) == ["accepted", "refused"]
    assert "line 2: export is forbidden: exporter needs" in verdicts[1]["message"]


async def test_items_after_a_close_by_another_client_are_refused(api: Api) -> None:
    """A batch that is closed during an upload accepts the items before the close, and refuses later items with the reason."""
    await create_batch(api)
    is_closed = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        """Yield items, close the batch once they are stored, and yield one more item."""
        # 500 items are one transaction, which is committed before the next item arrives.
        yield lines(evaluation(value) for value in range(500))
        async with asyncio.timeout(30):
            while not await api.sql("select total from batch"):
                pass
        assert (await api("POST", f"{BATCHES}/b/close"))[0] == 200
        is_closed.set()
        yield lines([evaluation(501)])

    _, verdicts = await submit_items(api, body())
    assert is_closed.is_set()
    assert statuses(verdicts) == ["accepted"] * 500 + ["refused"]
    assert verdicts[-1]["index"] == 500
    assert "is closed" in verdicts[-1]["message"]


async def test_a_request_is_audited_once(api: Api) -> None:
    """A request writes one audit event, regardless of the number of its items."""
    await create_batch(api)
    await submit_items(api, [evaluation(value) for value in range(1001)])
    assert await api.sql("select count(*) from audit_event where action = 'batch.submit' and object = 'batch:b'") == 1
