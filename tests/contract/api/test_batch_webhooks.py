"""Notifications of batches to webhooks. Each end of a batch is one signed event, which is sent until the receiver accepts it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.contract.api.batch_client import BATCHES, BatchClient, evaluation
from tests.contract.api.conftest import Api, StartApi
from tests.contract.api.test_batches import INVALID
from tests.contract.api.webhook_receiver import SECRET, ReceivedRequest, WebhookReceiver, receiving, respond_with

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker
from dashwright.jobs_worker.adapters.webhooks import WebhookClient
from dashwright.jobs_worker.main import JobsWorker
from dashwright.jobs_worker.notifications import sender

pytestmark = pytest.mark.usefixtures("no_delays")

#: The members of a body that set the secret of a webhook.
SECURE = {"webhookSecret": {"create": SECRET}}
LOOPBACK = "127.0.0.0/8"

StartWorker = Callable[..., Awaitable[JobsWorker]]


@pytest.fixture
async def start_worker(database: Database, broker: MemoryBroker, tmp_path: Path) -> AsyncIterator[StartWorker]:
    """Return a function that starts a jobs worker with the given settings."""
    async with AsyncExitStack() as stack:

        async def start(**settings: Any) -> JobsWorker:
            options = {"secret_key": "of tests only", "scheduling": False, "allowed_hosts": LOOPBACK, "shutdown_seconds": 0.1}
            loaded = load(data_dir=tmp_path, permitted_paths=str(tmp_path), **{**options, **settings})
            worker = JobsWorker(loaded, database, broker, Clock())
            await worker.start()
            stack.push_async_callback(worker.stop)
            return worker

        yield start


@pytest.fixture
async def api(start_api: StartApi, database: Database, broker: MemoryBroker, tmp_path: Path) -> AsyncIterator[Api]:
    """Start a gateway and an expressions worker."""
    settings = load(data_dir=tmp_path, permitted_paths=str(tmp_path), secret_key="of tests only")
    worker = ExpressionsWorker(settings, database, broker, Clock())
    await worker.start()
    yield await start_api(allowed_hosts=LOOPBACK)
    await worker.stop()


@pytest.fixture
async def client(api: Api) -> BatchClient:
    """Return a client of batches."""
    return BatchClient(api)


def spec_with_receiver(receiver: WebhookReceiver, **spec: Any) -> dict[str, Any]:
    """Return the spec of a batch that notifies a receiver."""
    return {"items": [evaluation(1)], "notify": {"webhook": {"url": receiver.url}}, **spec}


async def create_batch(client: BatchClient, name: str, spec: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Create a batch whose webhook has the secret of the receiver, and return it."""
    status, created = await client.api("POST", BATCHES, {"metadata": {"name": name}, "spec": spec, "secure": SECURE, **members})
    assert status == 201, created
    batch: dict[str, Any] = created
    return batch


async def wait_for_delivery(client: BatchClient, name: str) -> dict[str, Any]:
    """Return the status of a batch whose receivers have accepted the notification."""
    return await client.wait_until(name, lambda status: "notified" in status)


async def test_the_end_of_a_batch_is_a_signed_event(client: BatchClient, start_worker: StartWorker, receiver: WebhookReceiver) -> None:
    """Two workers together send one signed request with the final status as a CloudEvent. Then the status has the time of delivery."""
    await start_worker()
    await start_worker()
    created = await create_batch(client, "b", spec_with_receiver(receiver))
    request = await receiver.next()
    status = await wait_for_delivery(client, "b")
    event = request.event
    assert request.headers["content-type"] == "application/cloudevents+json"
    assert (event["specversion"], event["type"], event["subject"]) == ("1.0", "io.dashwright.batch.finished", "b")
    assert (event["source"], event["id"]) == (f"{BATCHES}/b", request.id)
    assert event["data"] == {
        "name": "b",
        "namespace": "default",
        "uid": created["metadata"]["uid"],
        "status": {key: value for key, value in status.items() if key != "notified"},
    }
    assert status["finished"] <= status["notified"]
    assert len(receiver.received) == 1


async def test_each_end_has_an_event_of_its_own(client: BatchClient, start_worker: StartWorker, receiver: WebhookReceiver) -> None:
    """A batch that ends again after a retry is notified again, with another id and the new status."""
    await start_worker()
    await create_batch(client, "b", spec_with_receiver(receiver, items=[evaluation(1, expression=INVALID)]))
    first = await receiver.next()
    await wait_for_delivery(client, "b")
    assert (await client.post("b", "retry"))[0] == 200
    second = await receiver.next()
    first_end = first.event["data"]["status"]["finished"]
    await client.wait_until("b", lambda status: status.get("notified", 0) > 0 and status.get("finished", 0) > first_end)
    assert first.id != second.id
    assert first_end < second.event["data"]["status"]["finished"]
    assert len(receiver.received) == 2


async def test_a_failing_receiver_gets_the_same_event_again(
    client: BatchClient, start_worker: StartWorker, receiver: WebhookReceiver
) -> None:
    """Until a receiver accepts an event, the event is sent again with the same id and body, and the status has the last error."""
    failed = asyncio.Event()
    respond = respond_with(500, 404)

    async def fail_at_first(request: ReceivedRequest) -> web.StreamResponse:
        """Fail twice, and hold the third request until the test has read the status."""
        if len(receiver.received) == 3:
            await failed.wait()
        return await respond(request)

    receiver.respond = fail_at_first
    await start_worker()
    await create_batch(client, "b", spec_with_receiver(receiver))
    await client.wait_until("b", lambda status: status.get("notifyError") == "the webhook responded with status 404")
    failed.set()
    status = await wait_for_delivery(client, "b")
    assert "notifyError" not in status
    assert len({(request.id, request.body) for request in receiver.received}) == 1
    assert [request.event["subject"] for request in receiver.received] == ["b"] * 3


@pytest.mark.parametrize(
    ("response_status", "seconds", "error"),
    [
        pytest.param(410, 3600, "410", id="gone before the time limit"),
        pytest.param(307, 0.001, "redirect 307", id="redirect at the time limit"),
    ],
)
async def test_attempts_end_at_410_and_at_their_time_limit(
    client: BatchClient, start_worker: StartWorker, receiver: WebhookReceiver, response_status: int, seconds: float, error: str
) -> None:
    """A response 410 Gone ends the attempts, and so does the time limit of a notification. A redirect is not followed."""
    receiver.respond = respond_with(response_status)
    await start_worker(notification_seconds=seconds)
    await create_batch(client, "b", spec_with_receiver(receiver))
    assert "notified" not in await client.wait_until("b", lambda status: error in status.get("notifyError", ""))
    assert await client.api.sql("select count(*) from notification where next_attempt_at is not null") == 0
    assert [request.path for request in receiver.received] == ["/hooks/secret-path"]


async def test_a_slow_receiver_delays_no_other_receiver(
    client: BatchClient, start_worker: StartWorker, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one receiver does not respond, another receiver gets its event. An attempt ends at its time limit, and is repeated."""
    monkeypatch.setattr("dashwright.jobs_worker.main.WebhookClient", partial(WebhookClient, seconds=0.5))
    release = asyncio.Event()

    async def hang(_: ReceivedRequest) -> web.StreamResponse:
        """Send no response before the release."""
        await release.wait()
        return web.Response(status=204)

    await start_worker()
    async with receiving() as hanging:
        hanging.respond = hang
        for index in range(3):
            await create_batch(client, f"slow{index}", spec_with_receiver(hanging))
        await hanging.next()
        await create_batch(client, "b", spec_with_receiver(receiver))
        await receiver.next()
        await client.wait_until("slow0", lambda status: "did not respond within 0.5 s" in status.get("notifyError", ""))
        release.set()
        for index in range(3):
            await wait_for_delivery(client, f"slow{index}")


async def test_a_worker_that_dies_during_a_request_loses_no_event(
    client: BatchClient, start_worker: StartWorker, receiver: WebhookReceiver
) -> None:
    """If a worker dies between a request and the record of its success, another worker sends the event again with the same id."""
    release = asyncio.Event()

    async def hang(_: ReceivedRequest) -> web.StreamResponse:
        """Send no response before the release."""
        await release.wait()
        return web.Response(status=204)

    receiver.respond = hang
    first_worker = await start_worker()
    await create_batch(client, "b", spec_with_receiver(receiver))
    first = await receiver.next()
    await first_worker.stop()
    await client.api.sql("update notification set next_attempt_at = now()")  # Let the lease expire.
    release.set()
    await start_worker()
    second = await receiver.next()
    await wait_for_delivery(client, "b")
    assert (first.id, first.body) == (second.id, second.body)


async def test_a_worker_that_dies_before_the_request_loses_no_event(
    client: BatchClient, start_worker: StartWorker, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event is recorded when its batch ends, so that a later worker sends the event even if the batch is deleted."""
    with monkeypatch.context() as context:
        # The first worker sends no notifications.
        context.setattr(sender.NotificationSender, "start", lambda _: None)
        worker = await start_worker()
        await create_batch(client, "b", spec_with_receiver(receiver, keep=0))
        async with client.watch("b") as statuses:
            async for _ in statuses:  # The batch is read after each event of the watch.
                if (await client.api("GET", f"{BATCHES}/b"))[0] == 404:
                    break
        await worker.stop()
    assert receiver.received == []
    await start_worker()
    assert (await receiver.next()).event["data"]["status"]["state"] == "success"


async def test_a_corrected_receiver_gets_the_event(client: BatchClient, start_worker: StartWorker, receiver: WebhookReceiver) -> None:
    """After a change of the address, a notification that was not accepted is sent to the new address immediately."""
    await start_worker()
    async with receiving() as wrong_receiver:
        more_failures_than_attempts = [500] * 1000
        wrong_receiver.respond = respond_with(*more_failures_than_attempts)
        await create_batch(client, "b", spec_with_receiver(wrong_receiver))
        first = await wrong_receiver.next()
        patch = {"spec": {"notify": {"webhook": {"url": receiver.url}}}, "secure": SECURE}
        headers = {"Content-Type": "application/merge-patch+json"}
        assert (await client.api("PATCH", f"{BATCHES}/b", patch, headers=headers))[0] == 200
        assert (await receiver.next()).id == first.id
        await wait_for_delivery(client, "b")


async def test_a_host_with_a_private_address_gets_no_request(api: Api, start_worker: StartWorker, receiver: WebhookReceiver) -> None:
    """The address of a host name is checked when an event is sent. If the address is refused, the status has the reason."""
    client = BatchClient(api)
    await start_worker(allowed_hosts="192.0.2.1")
    await create_batch(
        client, "b", spec_with_receiver(receiver, notify={"webhook": {"url": receiver.url.replace("127.0.0.1", "localhost")}})
    )
    status = await client.wait_until("b", lambda status: "notifyError" in status)
    assert "not public" in status["notifyError"]
    assert receiver.received == []


@pytest.mark.parametrize(
    ("notify", "secure", "field"),
    [
        ({"webhook": {"url": "https://10.0.0.1/"}}, SECURE, "spec.notify.webhook.url"),
        ({"webhook": {"url": "https://[::ffff:10.0.0.1]/"}}, SECURE, "spec.notify.webhook.url"),
        ({"webhook": {"url": "http://192.0.2.1/"}}, SECURE, "spec.notify.webhook.url"),
        ({"webhook": {"url": "ftp://example.com/"}}, SECURE, "spec.notify.webhook.url"),
        ({"webhook": {"url": "https://user:secret@example.com/"}}, SECURE, "spec.notify.webhook.url"),
        ({"webhook": {"url": "https://example.com/"}}, {}, "secure.webhookSecret.create"),
        ({"webhook": {"url": "https://example.com/"}}, {"webhookSecret": {"create": "secret"}}, "secure.webhookSecret.create"),
        ({"webhook": {"url": "https://example.com/", "encryptedSecret": "AAAA"}}, SECURE, "spec.notify.webhook.encryptedSecret"),
        ({}, SECURE, "secure.webhookSecret"),
        ({"queue": "dashwright.jobs.work"}, {}, "spec.notify.queue"),
        ({"queue": "notify.org-2.reports"}, {}, "spec.notify.queue"),
        ({"queue": "notify.default."}, {}, "spec.notify.queue"),
        ({"queue": "notify.default.a b"}, {}, "spec.notify.queue"),
    ],
    ids=[
        "private address",
        "private address as IPv6",
        "http",
        "ftp",
        "password in the address",
        "no secret",
        "malformed secret",
        "sealed secret",
        "secret without a webhook",
        "own queue of Dashwright",
        "queue of another organization",
        "queue without a name",
        "blank in the name of a queue",
    ],
)
async def test_an_invalid_receiver_is_refused(api: Api, notify: dict[str, Any], secure: dict[str, Any], field: str) -> None:
    """An invalid receiver is refused. The response names the faulty field and shows no secret."""
    status, error = await api("POST", BATCHES, {"metadata": {"name": "b"}, "spec": {"notify": notify}, "secure": secure})
    assert status == 422, error
    assert [cause["field"] for cause in error["details"]["causes"]] == [field]
    assert SECRET not in str(error)
    assert "secret@" not in str(error)


async def test_a_secret_is_kept_and_never_shown(
    client: BatchClient, start_worker: StartWorker, receiver: WebhookReceiver, capfd: pytest.CaptureFixture[str]
) -> None:
    """No response, log line or audit event has the secret, in plain or sealed form.

    A write without the secret keeps the stored one, unless the host changes.
    """
    await start_worker()
    annotations = {
        "kubectl.kubernetes.io/last-applied-configuration": f'{{"spec":{{}},"secure":{{"webhookSecret":{{"create":"{SECRET}"}}}}}}'
    }
    created = await create_batch(client, "b", spec_with_receiver(receiver), metadata={"name": "b", "annotations": annotations})
    await receiver.next()
    await wait_for_delivery(client, "b")
    sealed = await client.api.sql("select secret from notification")
    updated = {**created, "spec": {**created["spec"], "keep": 5000}, "metadata": {"name": "b"}}
    _, put_response = await client.api("PUT", f"{BATCHES}/b", updated)
    public_texts = [
        created,
        put_response,
        *[await client.api("GET", path) for path in (f"{BATCHES}/b", BATCHES)],
        await client.api("GET", BATCHES, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}),
        await client.post("b", "cancel"),
        await client.api.sql("select jsonb_agg(a)::text from audit_event a"),
        await client.api.sql("select metadata::text from resource where name = 'b'"),
    ]
    logged = str(capfd.readouterr())
    assert put_response["spec"]["keep"] == 5000, put_response
    assert put_response["secure"] == created["secure"] == {"webhookSecret": {"name": created["secure"]["webhookSecret"]["name"]}}
    assert sealed
    for text in (*map(str, public_texts), logged):
        assert SECRET not in text
        assert sealed not in text
    assert "notification_delivered" in logged
    assert "secret-path" not in logged
    moved = {**updated, "spec": {**updated["spec"], "notify": {"webhook": {"url": "https://example.com/"}}}}
    status, error = await client.api("PUT", f"{BATCHES}/b", moved)
    assert (status, error["details"]["causes"][0]["field"]) == (422, "secure.webhookSecret.create")


async def test_a_sealed_secret_has_no_field_owner(api: Api) -> None:
    """Only fields that the API shows have owners, and an apply without the secret keeps the secret."""
    notify = {"webhook": {"url": "https://example.com/"}}
    status, created = await api("POST", BATCHES, {"metadata": {"name": "b"}, "spec": {"notify": notify}, "secure": SECURE})
    assert status == 201, created
    headers = {"Content-Type": "application/apply-patch+yaml"}
    applied = {"apiVersion": "jobs.dashwright.io/v0alpha1", "kind": "Batch", "spec": {"keep": 5000, "notify": notify}}
    status, patched = await api("PATCH", f"{BATCHES}/b?fieldManager=test&force=true", applied, headers=headers)
    assert (status, patched["spec"]["keep"], patched["secure"]) == (200, 5000, created["secure"]), patched
    owned_webhooks = [
        entry["fieldsV1"]["f:spec"]["f:notify"]["f:webhook"]
        for item in (created, patched)
        for entry in item["metadata"]["managedFields"]
        if "f:notify" in entry["fieldsV1"]["f:spec"]
    ]
    # The created batch has one manager with the webhook, and the patched batch has two.
    assert owned_webhooks == [{"f:url": {}}, {"f:url": {}}, {"f:url": {}}]


async def test_a_receiver_without_tls_has_advice(client: BatchClient, start_worker: StartWorker, receiver: WebhookReceiver) -> None:
    """If the https address of a webhook is that of a plain HTTP server, the status says to use http://."""
    await start_worker()
    notify = {"webhook": {"url": receiver.url.replace("http://", "https://")}}
    await create_batch(client, "b", spec_with_receiver(receiver, notify=notify))
    status = await client.wait_until("b", lambda status: "notifyError" in status)
    assert "probably serves plain HTTP: use http://" in status["notifyError"]
