"""Webhook deliveries. The gateway verifies their signature, accepts each delivery once, and does not wait for the job."""

import asyncio
import json
from typing import Any
from urllib.parse import urlencode

import asyncpg
import pytest
from tests.acceptance.polling import wait_until
from tests.contract.api.conftest import Api, StartApi
from tests.contract.api.deliveries import PUSH, SECRET, create_hooked_repository, deliver, jobs
from tests.contract.api.repositories import REPOSITORIES
from tests.servers.git_host import signature

from dashwright.common.stores import resources

MEBIBYTE = 1024 * 1024


async def test_a_push_queues_a_sync(api: Api) -> None:
    """A push queues a sync without calling a worker, and the audit names the host as actor."""
    await create_hooked_repository(api)
    status, result = await deliver(api)
    job = {"action": "sync", "repository": "boards", "sync": {"incremental": True}}
    kind = {"kind": "WebhookResponse", "apiVersion": "provisioning.grafana.app/v0alpha1"}
    assert (status, result) == (202, {**kind, "code": 202, "message": "push received", "job": job})
    assert await jobs(api) == [job]
    async with api.database.connection() as connection:
        rows = await connection.fetch("select login, org_id, outcome, status from audit_event where action = 'job.create'")
    assert [tuple(row) for row in rows] == [("webhook:boards", 1, "ok", 202)]


async def test_a_delivery_is_accepted_once(api: Api) -> None:
    """A repeated delivery is detected, even if it is concurrent or has another id, because the id is not signed."""
    await create_hooked_repository(api)
    responses = await asyncio.gather(*(deliver(api) for _ in range(5)))
    assert {status for status, _ in responses} <= {200, 202}
    # The job ends, so that a delivery that was not detected would create another job.
    async with api.database.transaction() as connection:
        await connection.execute("update job set state = 'success', finished_at = now() where repository = 'boards'")
    assert (await deliver(api))[1]["message"] == "delivery was received before"
    assert len(await jobs(api)) == 1
    assert (await deliver(api, delivery_id="d-2"))[1]["message"] == "delivery was received before"
    assert len(await jobs(api)) == 1
    assert (await deliver(api, {**PUSH, "pushed_at": 2}, delivery_id="d-2"))[0] == 202
    assert len(await jobs(api)) == 2


async def test_a_form_is_read_as_well_as_json(api: Api) -> None:
    """A delivery may be a form. The signature covers the form as it was sent."""
    await create_hooked_repository(api)
    body = urlencode({"payload": json.dumps(PUSH)}).encode()
    status, result = await deliver(api, body, headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert (status, result["message"]) == (202, "push received")


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Hub-Signature-256": "sha256=" + "0" * 64},
        {"X-Hub-Signature-256": signature("another", json.dumps(PUSH).encode())},
        {"X-Hub-Signature-256": signature(SECRET, json.dumps(PUSH).encode()).removeprefix("sha256=")},
        {"X-Hub-Signature-256": ""},
        {"X-Hub-Signature-256": "sha256="},
    ],
    ids=["zeros", "another secret", "no algorithm", "empty", "no digits"],
)
async def test_a_wrong_signature_is_refused(api: Api, headers: dict[str, str]) -> None:
    """A delivery with a wrong or malformed signature is 401 and creates no job."""
    await create_hooked_repository(api)
    status, result = await deliver(api, headers=headers)
    assert (status, result["message"]) == (401, "invalid signature")
    assert await jobs(api) == []


@pytest.mark.parametrize(
    "headers",
    [{}, {"X-Hub-Signature-256": "sha256=" + "0" * 63}, {"X-Hub-Signature-256": "sha256=" + "G" * 64}, {"X-Hub-Signature-256": "sha1=00"}],
    ids=["no header", "too short", "not hexadecimal", "another algorithm"],
)
async def test_the_body_of_a_delivery_that_cannot_be_verified_is_not_read(api: Api, headers: dict[str, str]) -> None:
    """A delivery that cannot be verified gets a response before its body is read, even if the body is endless."""
    await create_hooked_repository(api)
    sent_bytes = 0

    async def send_endlessly() -> Any:
        """Yield 40 MiB, which no server would read into its buffers."""
        nonlocal sent_bytes
        while sent_bytes < 40 * MEBIBYTE:
            sent_bytes += 65_536
            yield b"x" * 65_536

    async with api.session.post(f"{REPOSITORIES}/boards/webhook", data=send_endlessly(), headers=headers) as response:
        assert response.status == 401


async def test_a_compressed_delivery_is_refused_before_it_is_verified(api: Api) -> None:
    """A compressed delivery is 415, because a small body may be large when it is unpacked."""
    await create_hooked_repository(api)
    assert (await deliver(api, headers={"Content-Encoding": "gzip"}))[0] == 415


async def test_unverified_deliveries_share_a_bounded_budget(api: Api) -> None:
    """While a large delivery is received, a second large delivery from its network is refused, and a small one is accepted."""
    await create_hooked_repository(api)
    large_body = json.dumps({**PUSH, "filler": "x" * (24 * MEBIBYTE)}).encode()
    is_almost_sent, may_end = asyncio.Event(), asyncio.Event()

    async def chunks() -> Any:
        """Yield the large body in chunks of 1 MiB, but hold its last byte back until the test permits it."""
        body_without_end = large_body[:-1]
        for offset in range(0, len(body_without_end), MEBIBYTE):
            yield body_without_end[offset : offset + MEBIBYTE]
        is_almost_sent.set()
        await may_end.wait()
        yield large_body[-1:]

    headers = {"X-GitHub-Event": "push", "X-GitHub-Delivery": "slow", "X-Hub-Signature-256": signature(SECRET, large_body)}

    async def send_slowly() -> int:
        """Send the large body and return the status."""
        async with api.session.post(f"{REPOSITORIES}/boards/webhook", data=chunks(), headers=headers) as response:
            return response.status

    sending = asyncio.create_task(send_slowly())
    await is_almost_sent.wait()
    second_large_body = large_body.replace(b"x", b"y")
    assert (await deliver(api, second_large_body, delivery_id="refused"))[0] == 429
    assert (await deliver(api, delivery_id="small"))[0] == 202
    may_end.set()
    assert await sending == 202
    assert (await deliver(api, second_large_body, delivery_id="refused"))[0] == 202


async def test_the_size_of_deliveries_is_limited(api: Api) -> None:
    """Deliveries of up to 25 MiB, the maximum that hosts send, are accepted."""
    await create_hooked_repository(api)
    assert (await deliver(api, {**PUSH, "filler": "x" * (24 * MEBIBYTE)}))[0] == 202
    # With the other fields, the body is larger than 25 MiB.
    assert (await deliver(api, {**PUSH, "filler": "x" * (25 * MEBIBYTE)}, delivery_id="d-2"))[0] == 413


@pytest.mark.parametrize("media_type", ["application/json", "application/x-www-form-urlencoded"])
async def test_the_number_of_values_is_limited(api: Api, media_type: str) -> None:
    """A signed payload of more than a million values is refused, because parsed values take a hundred times as much memory."""
    await create_hooked_repository(api)
    for count, status in ((900_000, 202), (1_000_000, 400)):
        body = json.dumps({**PUSH, "filler": [0] * count})
        encoded = body if media_type == "application/json" else urlencode({"payload": body})
        assert (await deliver(api, encoded.encode(), headers={"Content-Type": media_type}))[0] == status


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b"not JSON", "application/json"),
        (b"", "application/json"),
        (b"other=1", "application/x-www-form-urlencoded"),
        (b"payload=not JSON", "application/x-www-form-urlencoded"),
        (b"\xff\xfe", "application/x-www-form-urlencoded"),
        (b"[" * 100_000, "application/json"),
    ],
)
async def test_a_signed_body_that_cannot_be_parsed_is_a_bad_request(api: Api, body: bytes, media_type: str) -> None:
    """A signed body that is not JSON, not a form with a payload, or nested too deeply is 400."""
    await create_hooked_repository(api)
    assert (await deliver(api, body, headers={"Content-Type": media_type}))[0] == 400


@pytest.mark.parametrize("delivery_id", ["", "x" * 101])
async def test_a_delivery_needs_an_id(api: Api, delivery_id: str) -> None:
    """A delivery without an id is rejected, as its repetition could not be detected."""
    await create_hooked_repository(api)
    assert (await deliver(api, delivery_id=delivery_id))[0] == 400


@pytest.mark.parametrize("has_secret", [False, True], ids=["no webhook", "webhook"])
@pytest.mark.parametrize("options", [{"secret": "another"}, {"headers": {"X-Hub-Signature-256": ""}}], ids=["wrong", "missing"])
async def test_a_wrong_or_missing_signature_reveals_no_repository(api: Api, has_secret: bool, options: dict[str, Any]) -> None:
    """An unverified delivery receives the same response for a missing repository and for one with or without a webhook."""
    status, error = await deliver(api, **options)
    assert status == 401
    await create_hooked_repository(api, has_secret=has_secret)
    assert await deliver(api, **options) == (status, error)


async def test_a_signed_delivery_learns_that_the_repository_is_unhealthy(api: Api) -> None:
    """A delivery for a repository that was last unhealthy is 424, and a ping is 200."""
    await create_hooked_repository(api, healthy=False)
    status, result = await deliver(api)
    assert (status, result["message"]) == (424, "The repository configuration is not healthy")
    assert (await deliver(api, {}, event="ping"))[1]["message"] == "ping received"
    assert (await deliver(api, secret="another"))[0] == 401


async def test_a_delivery_does_not_wait_for_writers_of_objects(api: Api) -> None:
    """A delivery does not wait for a sync that writes objects, because a host waits only for seconds."""
    await create_hooked_repository(api)
    async with api.database.transaction() as connection:
        await resources.lock(connection, "default")
        async with asyncio.timeout(5):
            assert (await deliver(api))[0] == 202


async def test_many_deliveries_leave_connections_to_requests(api: Api, database_url: str) -> None:
    """While more deliveries than the gateway has connections wait for the database, another request is completed."""
    await create_hooked_repository(api)
    connection = await asyncpg.connect(database_url)
    waiting_locks = "select count(*) from pg_locks where relation = 'job'::regclass and not granted"
    async with connection.transaction():
        # Each delivery creates a job, so that the lock stops all deliveries.
        await connection.execute("lock table job in access exclusive mode")
        pushes = [asyncio.create_task(deliver(api, {**PUSH, "after": f"{number:040x}"})) for number in range(1, 11)]
        await wait_until(lambda: connection.fetchval(f"{waiting_locks} having count(*) >= 2"))
        status, _ = await api("GET", "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards")
        waiting_count = await connection.fetchval(waiting_locks)
    await connection.close()
    # The gateway has five connections: one is reserved for probes and logins, and half of the others for other callers.
    assert (status, waiting_count) == (200, 2)
    assert {code for code, _ in await asyncio.gather(*pushes)} == {202}


async def test_the_status_has_the_time_of_the_last_delivery(start_api: StartApi) -> None:
    """The status has the time of the last delivery with a delay, because times are written in batches."""
    api = await start_api(last_used_seconds=0.05)
    await create_hooked_repository(api)
    notified = asyncio.Event()
    async with asyncio.timeout(10), api.database.listen("change", lambda _: notified.set(), notified.set):
        await deliver(api, {}, event="ping")
        while True:
            _, body = await api("GET", f"{REPOSITORIES}/boards")
            if "lastEvent" in body["status"]["webhook"]:
                break
            await notified.wait()
            notified.clear()
