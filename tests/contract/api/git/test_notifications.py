"""Notifications of a repository: signed events about ends of syncs, changes of the quarantine and changes of the health."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
from tests.contract.api.conftest import StartApi
from tests.contract.api.git.sync_environment import REPOSITORIES, AheadClock, SyncEnvironment, dashboard, wait_until
from tests.contract.api.webhook_receiver import SECRET, ReceivedRequest, WebhookReceiver, receiving, respond_with
from tests.servers.git import GitServer

from dashwright.common.messaging.memory import MemoryBroker
from dashwright.jobs_worker.adapters.webhooks import WebhookClient
from dashwright.jobs_worker.notifications import sender

pytestmark = pytest.mark.usefixtures("no_delays")

TEAM = f"{REPOSITORIES}/team"
OTHER_SECRET = "whsec_b3RoZXIgc2VjcmV0IG9mIHRlc3RzIG9ubHk="
MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}


@pytest.fixture
async def environment(start_api: StartApi, broker: MemoryBroker, git_server: GitServer, tmp_path: Path) -> AsyncIterator[SyncEnvironment]:
    """Start a gateway and a worker that may notify this machine, and a git server with a repository of one dashboard."""
    api = await start_api(allowed_hosts="127.0.0.0/8")
    environment = SyncEnvironment(api, git_server, git_server.create_repository("team.git"), AheadClock(), broker, tmp_path / "data")
    environment.work_tree.commit({"a.json": dashboard("a", "A")})
    await environment.start()
    yield environment
    await environment.stop()


def receiver_spec(receiver: WebhookReceiver, name: str = "chat", *events: str) -> dict[str, Any]:
    """Return a receiver of these events, or of all events."""
    return {"name": name, "url": receiver.url, **({"events": list(events)} if events else {})}


async def create_repository(
    environment: SyncEnvironment, *receivers: dict[str, Any], secrets: dict[str, str] | None = None
) -> dict[str, Any]:
    """Create the repository ``team`` with receivers, sync it once, and return it. ``secrets`` are by name of the receiver."""
    sync = {"enabled": True, "target": "folder", "intervalSeconds": 60}
    githost = {"url": environment.server.url("team.git"), "branch": "main"}
    spec = {"title": "Team", "type": "githost", "workflows": [], "sync": sync, "githost": githost, "notifications": list(receivers)}
    created_secrets = {item["name"]: {"create": (secrets or {}).get(item["name"], SECRET)} for item in receivers}
    body = {"metadata": {"name": "team"}, "spec": spec, "secure": {"notifications": created_secrets}}
    status, created = await environment.api("POST", REPOSITORIES, body)
    assert status == 201, created
    await environment.advance(0)
    repository: dict[str, Any] = created
    return repository


async def outcome(environment: SyncEnvironment, condition: Callable[[dict[str, Any]], bool], name: str = "chat") -> dict[str, Any]:
    """Wait until the outcome of the last attempt to notify a receiver satisfies a condition, and return the outcome."""
    receiver_status: dict[str, Any] = {}

    async def is_written() -> bool:
        """Return whether the outcome in the repository's status satisfies the condition."""
        receiver_status.update({item["name"]: item for item in (await environment.status()).get("notifications") or ()})
        return name in receiver_status and condition(receiver_status[name])

    await wait_until(environment.api.database, is_written)
    status: dict[str, Any] = receiver_status[name]
    return status


async def test_the_end_of_a_sync_is_a_signed_event(environment: SyncEnvironment, receiver: WebhookReceiver) -> None:
    """A CloudEvent reports repository, branch, commit, job and counts. The status of the repository has the outcome."""
    created = await create_repository(environment, receiver_spec(receiver))
    request = await receiver.next()
    status = await outcome(environment, lambda item: "delivered" in item)
    event = request.event
    assert request.headers["content-type"] == "application/cloudevents+json"
    job = await environment.api.sql("select name from job")
    repository = await environment.status()
    # Id and time differ from run to run.
    assert {**event, "id": "", "time": ""} == {
        "specversion": "1.0",
        "id": "",
        "source": TEAM,
        "type": "io.dashwright.repository.sync.success",
        "subject": "team",
        "time": "",
        "datacontenttype": "application/json",
        "data": {
            "repository": "team",
            "namespace": "default",
            "uid": created["metadata"]["uid"],
            "ref": "main",
            "commit": repository["sync"]["lastRef"],
            "state": "success",
            "message": "completed successfully",
            "job": job,
            "counts": {"create": 1, "update": 0, "delete": 0, "noop": 0, "ignored": 0, "error": 0, "warning": 0},
        },
    }
    assert event["id"] == request.id == status["event"]
    assert status == {"name": "chat", "event": request.id, "attempted": status["delivered"], "delivered": status["delivered"]}
    # A check without a new commit sends nothing.
    await environment.advance()
    assert len(receiver.received) == 1


async def next_two_events(receiver: WebhookReceiver) -> dict[str, Any]:
    """Return the next two events by the end of their types, such as ``sync.error``."""
    events = [(await receiver.next()).event, (await receiver.next()).event]
    return {event["type"].removeprefix("io.dashwright.repository."): event for event in events}


async def test_files_enter_and_leave_the_quarantine(environment: SyncEnvironment, receiver: WebhookReceiver) -> None:
    """An event has the files that entered the quarantine in a sync, with their faults, and another event the files that left it."""
    await create_repository(environment, receiver_spec(receiver))
    await receiver.next()
    environment.work_tree.commit({"b.json": "{", "c.json": "{"})
    await environment.advance()
    events = await next_two_events(receiver)
    assert set(events) == {"sync.error", "quarantine.entered"}
    entered = events["quarantine.entered"]["data"]
    assert entered["state"] == "entered"
    assert entered["fileCount"] == 2
    assert [file["path"] for file in entered["files"]] == ["b.json", "c.json"]
    assert all(file["message"] for file in entered["files"])
    assert events["sync.error"]["data"]["counts"]["error"] == 2
    assert len(events["sync.error"]["data"]["errors"]) == 2
    # The file c.json remains invalid, so the sync ends with an error, but no file enters the quarantine.
    environment.work_tree.commit({"b.json": dashboard("b", "B"), "a.json": dashboard("a", "A2")})
    await environment.advance()
    events = await next_two_events(receiver)
    assert set(events) == {"sync.error", "quarantine.left"}
    assert [file["path"] for file in events["quarantine.left"]["data"]["files"]] == ["b.json"]


async def test_a_sync_with_warnings_is_an_event_of_its_own(environment: SyncEnvironment, receiver: WebhookReceiver) -> None:
    """The end of a sync with a warning, here about a copy of a dashboard, is an event that names the file."""
    environment.work_tree.commit({"copy.json": dashboard("a", "A")})
    await create_repository(environment, receiver_spec(receiver))
    event = (await receiver.next()).event
    assert event["type"] == "io.dashwright.repository.sync.warning"
    assert event["data"]["counts"]["warning"] == 1
    assert "copy.json" in event["data"]["warnings"][0]


async def test_each_change_of_the_health_is_one_event(environment: SyncEnvironment, receiver: WebhookReceiver) -> None:
    """An event reports that a repository can no longer be read, and another one that it can be read again.

    Repeated failures send nothing.
    """
    await create_repository(environment, receiver_spec(receiver, "chat", "health"))

    async def fail(_: web.Request) -> web.StreamResponse:
        """Respond to each request at the git host with status 500."""
        return web.Response(status=500)

    environment.server.fault = fail
    await environment.advance()
    unhealthy = (await receiver.next()).event
    # The second failure in sequence sends no event.
    await environment.advance()
    environment.server.fault = None
    await environment.advance()
    healthy = (await receiver.next()).event
    assert [event["type"].rpartition(".")[2] for event in (unhealthy, healthy)] == ["unhealthy", "healthy"]
    assert "500" in unhealthy["data"]["message"]
    assert "message" not in healthy["data"]


async def test_a_receiver_gets_only_its_events_with_its_own_secret(environment: SyncEnvironment, receiver: WebhookReceiver) -> None:
    """A receiver gets only the events that its spec selects by name or group, signed with its own secret."""
    async with receiving() as pager:
        receivers = (receiver_spec(receiver, "chat", "quarantine", "health.unhealthy"), receiver_spec(pager, "pager", "sync"))
        await create_repository(environment, *receivers, secrets={"pager": OTHER_SECRET})
        environment.work_tree.commit({"b.json": "{"})
        await environment.advance()
        assert (await receiver.next()).event["type"] == "io.dashwright.repository.quarantine.entered"
        for request in (await pager.next(), await pager.next()):
            event = Webhook(OTHER_SECRET).verify(request.body.decode(), request.headers)
            assert event["type"].startswith("io.dashwright.repository.sync.")
            with pytest.raises(WebhookVerificationError):
                Webhook(SECRET).verify(request.body.decode(), request.headers)
        await outcome(environment, lambda item: "delivered" in item)
        assert len(receiver.received) == 1
        assert len(pager.received) == 2


async def test_a_worker_that_dies_before_the_request_loses_no_event(
    environment: SyncEnvironment, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event is stored with the end of its sync. If the worker stops before it sends the event, another worker sends it."""
    with monkeypatch.context() as context:
        # This worker syncs, but never sends events.
        context.setattr(sender.NotificationSender, "start", lambda _: None)
        await environment.start()
        await create_repository(environment, receiver_spec(receiver))
        await environment.stop()
    assert receiver.received == []
    await environment.start()
    assert (await receiver.next()).event["data"]["state"] == "success"


async def test_a_worker_that_dies_during_the_request_repeats_it(environment: SyncEnvironment, receiver: WebhookReceiver) -> None:
    """If a worker stops during an attempt to send an event, another worker sends it again with equal id and body after the lease."""
    release = asyncio.Event()

    async def hang(_: ReceivedRequest) -> web.StreamResponse:
        """Hold the response until the worker has ended."""
        await release.wait()
        return web.Response(status=204)

    receiver.respond = hang
    await environment.start(shutdown_seconds=0.1)
    await create_repository(environment, receiver_spec(receiver))
    first = await receiver.next()
    await environment.stop()
    # The lease of the attempt expires.
    await environment.api.sql("update notification set next_attempt_at = now()")
    release.set()
    await environment.start()
    second = await receiver.next()
    assert first.id == second.id
    assert first.body == second.body


async def test_a_slow_receiver_delays_neither_syncs_nor_other_receivers(
    environment: SyncEnvironment, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a receiver does not respond, syncs end, another receiver gets each event, and the status has an error of the slow receiver."""
    monkeypatch.setattr("dashwright.jobs_worker.main.WebhookClient", partial(WebhookClient, seconds=0.5))
    release = asyncio.Event()

    async def hang(_: ReceivedRequest) -> web.StreamResponse:
        """Send no response before the release."""
        await release.wait()
        return web.Response(status=204)

    async with receiving() as hanging:
        hanging.respond = hang
        await environment.start()
        await create_repository(environment, receiver_spec(hanging, "slow"), receiver_spec(receiver))
        for title in ("B", "C"):
            environment.work_tree.commit({"a.json": dashboard("a", title)})
            await environment.advance()
        commits = {(await receiver.next()).event["data"]["commit"] for _ in range(3)}
        assert len(commits) == 3
        await outcome(environment, lambda item: "did not respond within 0.5 s" in item.get("error", ""), "slow")
        release.set()
        await outcome(environment, lambda item: "delivered" in item and "error" not in item, "slow")


@pytest.mark.parametrize(("status", "seconds", "error"), [(410, 3600, "410"), (307, 0.001, "redirect 307")])
async def test_attempts_end_at_410_and_at_their_time_limit(
    environment: SyncEnvironment, receiver: WebhookReceiver, status: int, seconds: float, error: str
) -> None:
    """After a response 410 Gone, and after the time limit of attempts, an event is deleted. A redirect is an error and is not followed."""
    receiver.respond = respond_with(status)
    await environment.start(notification_seconds=seconds)
    await create_repository(environment, receiver_spec(receiver))
    assert "delivered" not in await outcome(environment, lambda item: error in item.get("error", ""))
    assert await environment.api.sql("select count(*) from notification where receiver = 'webhook'") == 0
    assert [request.path for request in receiver.received] == ["/hooks/secret-path"]


async def test_a_corrected_receiver_gets_the_waiting_event(
    environment: SyncEnvironment, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the address of a receiver is changed in the spec, the waiting events are sent to the new address immediately."""
    # Without the change, the next attempt would be after an hour.
    monkeypatch.setattr(sender, "_FIRST_DELAY", timedelta(hours=1))
    async with receiving() as wrong_receiver:
        wrong_receiver.respond = respond_with(*[500] * 1000)
        await create_repository(environment, receiver_spec(wrong_receiver))
        first = await wrong_receiver.next()
        await outcome(environment, lambda item: "error" in item)
        patch = {"spec": {"notifications": [receiver_spec(receiver)]}, "secure": {"notifications": {"chat": {"create": SECRET}}}}
        assert (await environment.api("PATCH", TEAM, patch, headers=MERGE_PATCH))[0] == 200
        assert (await receiver.next()).id == first.id


async def test_a_removed_receiver_gets_no_event(
    environment: SyncEnvironment, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a receiver is removed from the spec, its waiting events are deleted, and the status no longer has its outcome."""
    monkeypatch.setattr(sender, "_FIRST_DELAY", timedelta(hours=1))
    receiver.respond = respond_with(*[500] * 1000)
    await create_repository(environment, receiver_spec(receiver))
    await outcome(environment, lambda item: "error" in item)
    assert (await environment.api("PATCH", TEAM, {"spec": {"notifications": None}}, headers=MERGE_PATCH))[0] == 200

    async def is_forgotten() -> bool:
        """Return whether the status has no outcome of any receiver."""
        return "notifications" not in await environment.status()

    await wait_until(environment.api.database, is_forgotten)
    assert await environment.api.sql("select count(*) from notification where receiver = 'webhook'") == 0
    assert len(receiver.received) == 1


async def test_a_secret_is_kept_and_never_shown(
    environment: SyncEnvironment, receiver: WebhookReceiver, capfd: pytest.CaptureFixture[str]
) -> None:
    """No response, log line, event or audit event contains the secret, in plain or sealed form.

    A write without the secret keeps the stored secret. If the write changes the host of the receiver, it is refused.
    """
    created = await create_repository(environment, receiver_spec(receiver))
    await receiver.next()
    await outcome(environment, lambda item: "delivered" in item)
    sealed = await environment.api.sql(
        "select spec::jsonb #>> '{notifications,0,encryptedSecret}' from resource_history where spec like '%chat%'"
    )
    updated = {**created, "spec": {**created["spec"], "title": "Renamed"}, "metadata": {"name": "team"}}
    _, put_response = await environment.api("PUT", TEAM, updated)
    public_texts = [
        created,
        put_response,
        *[await environment.api("GET", path) for path in (TEAM, REPOSITORIES)],
        await environment.api.sql("select jsonb_agg(a)::text from audit_event a"),
        *[request.body for request in receiver.received],
    ]
    logged = str(capfd.readouterr())
    assert put_response["spec"]["title"] == "Renamed", put_response
    assert put_response["secure"] == created["secure"]
    # A response has only the name of the stored secret.
    secret_name = created["secure"]["notifications"]["chat"]["name"]
    assert created["secure"] == {"notifications": {"chat": {"name": secret_name}}}
    assert sealed
    for text in (*map(str, public_texts), logged):
        assert SECRET not in text
        assert sealed not in text
    assert "notification_delivered" in logged
    assert "secret-path" not in logged
    moved = {**updated, "spec": {**updated["spec"], "notifications": [{"name": "chat", "url": "https://example.com/"}]}}
    status, error = await environment.api("PUT", TEAM, moved)
    assert status == 422
    assert error["details"]["causes"][0]["field"] == "secure.notifications.chat.create"


#: A valid receiver, and its secret.
RECEIVER = {"name": "chat", "url": "https://example.com/"}
CHAT = {"chat": {"create": SECRET}}


@pytest.mark.parametrize(
    ("receivers", "secrets", "field"),
    [
        ([{**RECEIVER, "url": "https://10.0.0.1/"}], CHAT, "spec.notifications[0].url"),
        ([{**RECEIVER, "url": "http://192.0.2.1/"}], CHAT, "spec.notifications[0].url"),
        ([{**RECEIVER, "url": "ftp://example.com/"}], CHAT, "spec.notifications[0].url"),
        ([{**RECEIVER, "url": "https://user:secret@example.com/"}], CHAT, "spec.notifications[0].url"),
        ([{**RECEIVER, "name": "A b"}], {}, "spec.notifications[0].name"),
        ([{**RECEIVER, "events": ["sync.done"]}], CHAT, "spec.notifications[0].events[0]"),
        ([{**RECEIVER, "events": []}], CHAT, "spec.notifications[0].events"),
        ([RECEIVER, RECEIVER], CHAT, "spec.notifications[1].name"),
        ([{"name": f"r{index}", "url": "https://example.com/"} for index in range(11)], {}, "spec.notifications"),
        ([RECEIVER], {}, "secure.notifications.chat.create"),
        ([RECEIVER], {"chat": {"create": "secret"}}, "secure.notifications.chat.create"),
        ([RECEIVER], {"chat": {"name": "inline-1"}}, "secure.notifications.chat.name"),
        ([{**RECEIVER, "encryptedSecret": "AAAA"}], CHAT, "spec.notifications[0].encryptedSecret"),
        ([], CHAT, "secure.notifications.chat"),
        ([RECEIVER], "secret", "secure.notifications"),
    ],
    ids=[
        "private address",
        "http",
        "ftp",
        "password in the address",
        "blank in the name",
        "unknown event",
        "no events",
        "two with one name",
        "eleven",
        "no secret",
        "malformed secret",
        "unknown secret",
        "sealed secret",
        "secret without a receiver",
        "secrets are a text",
    ],
)
async def test_an_invalid_receiver_is_refused(environment: SyncEnvironment, receivers: Any, secrets: Any, field: str) -> None:
    """An invalid receiver is refused; the response names the faulty field and shows no secret."""
    spec = {"title": "T", "type": "githost", "workflows": [], "sync": {"enabled": False, "target": "folder"}}
    spec |= {"githost": {"url": environment.server.url("team.git")}, "notifications": receivers}
    body = {"metadata": {"name": "team"}, "spec": spec, "secure": {"notifications": secrets}}
    status, error = await environment.api("POST", REPOSITORIES, body)
    assert status == 422, error
    assert [cause["field"] for cause in error["details"]["causes"]] == [field]
    assert SECRET not in json.dumps(error)
    assert "secret@" not in json.dumps(error)
