"""Dead letters over HTTP: how clients with the right read, replay and discard messages that the gateway could not process."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import orjson
import pytest
from tests.contract.api import dead_letters, repositories
from tests.contract.api.conftest import Api, StartApi
from tests.contract.api.dead_letters import GROUP, LETTERS, STATE, SYNC, HandledDeliveries, letters
from tests.contract.api.watching import JOBS, watching

from dashwright.api.dead_letters.consumer import DeadLetterConsumer
from dashwright.common.clock import Clock
from dashwright.common.errors import Unavailable
from dashwright.common.identity import Role
from dashwright.common.messaging.delivery_result import Ack
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.message import Delivery, Message
from dashwright.common.messaging.topology import TOPOLOGY

Submit = Callable[..., Awaitable[None]]
WaitForLetters = Callable[..., Awaitable[list[Any]]]


@pytest.fixture(autouse=True)
def handled_deliveries(monkeypatch: pytest.MonkeyPatch) -> HandledDeliveries:
    """Count the dead letters that gateways have stored in this test."""
    return HandledDeliveries(monkeypatch, DeadLetterConsumer)


@pytest.fixture
def wait_for_letters(api: Api, handled_deliveries: HandledDeliveries) -> WaitForLetters:
    """Return a function that returns the letters of the default namespace once ``count`` letters in all were stored."""

    async def read(count: int = 1) -> list[Any]:
        """Return the letters once a number of deliveries has been handled."""
        await handled_deliveries.reach(count)
        return await letters(api)

    return read


@pytest.fixture
def publish(broker: MemoryBroker) -> Submit:
    """Return a function that publishes a message without reply_to."""
    return partial(dead_letters.submit, broker)


async def test_a_refused_submission_is_listed_with_its_reason(api: Api, publish: Submit, wait_for_letters: WaitForLetters) -> None:
    """A refused submission becomes a letter with the reason, the message, its queue and exchange, and without credentials."""
    headers = {"authorization": "Basic d3Jvbmc6d3Jvbmc=", "X-Api-Key": "k3y", "team": "a", "number": 7}
    await publish(headers=headers, message_id="m-1", correlation_id="c-1")
    (letter,) = await wait_for_letters()
    assert (letter["kind"], letter["apiVersion"]) == ("DeadLetter", f"{GROUP}/v0alpha1")
    spec, status = letter["spec"], letter["status"]
    expected = {
        "routingKey": "submit.default",
        "exchange": TOPOLOGY.jobs,
        "queue": TOPOLOGY.submit,
        "messageId": "m-1",
        "correlationId": "c-1",
        "contentType": "application/json",
        "headers": {"team": "a", "number": 7},
        "removedHeaders": ["X-Api-Key", "authorization"],
        "body": SYNC.decode(),
        "bodyEncoding": "utf-8",
        "bodyBytes": len(SYNC),
        "truncated": False,
    }
    assert spec == expected
    assert (status["state"], status["reason"]) == ("dead", "Invalid username or password")
    labels = {STATE: "dead", f"{GROUP}/queue": TOPOLOGY.submit, f"{GROUP}/replayable": "true"}
    assert letter["metadata"]["labels"] == labels
    name = letter["metadata"]["name"]
    assert (await api("GET", f"{LETTERS}/{name}")) == (200, letter)
    assert (await api("GET", f"{LETTERS}/other"))[0] == 404
    text = await api.sql("select row_to_json(dead_letter)::text from dead_letter")
    assert "d3Jvbmc6d3Jvbmc" not in text
    assert "k3y" not in text


async def test_replaying_twice_publishes_once(api: Api, publish: Submit, wait_for_letters: WaitForLetters) -> None:
    """The first replay creates the job with the same message id. Repeated and concurrent replays change nothing."""
    await publish(message_id="m-1")
    name = (await wait_for_letters())[0]["metadata"]["name"]
    await repositories.make_local_repository(api, "team", api.data / "team", "write")
    async with watching(api, JOBS) as jobs:
        results = await asyncio.gather(*(api("POST", f"{LETTERS}/{name}/replay") for _ in range(5)))
        results.append(await api("POST", f"{LETTERS}/{name}/replay"))
        assert (await jobs.next_type_and_name())[0] == "ADDED"
    assert [status for status, _ in results] == [200] * 6
    assert len({orjson.dumps(letter["status"]) for _, letter in results}) == 1
    assert (results[0][1]["status"]["state"], results[0][1]["metadata"]["labels"][STATE]) == ("replayed", "replayed")
    assert await api.sql("select count(*) from job") == 1
    assert await api.sql("select count(*) from submission where message_id = 'm-1'") == 1
    assert await api.sql("select count(*) from audit_event where action = 'deadletter.replay'") == 1
    assert await letters(api, f"?labelSelector={STATE}=dead") == []


async def test_a_letter_that_is_delivered_again_is_stored_once(api: Api, broker: MemoryBroker) -> None:
    """A letter is stored once, even if the broker delivers it again because its acknowledgement was lost."""
    consumer = DeadLetterConsumer(broker, api.database, Clock())
    message = Message(body=SYNC, message_id="m-1")
    async with asyncio.timeout(20):
        for attempt in (1, 2):
            delivery = Delivery(
                message=message, exchange=TOPOLOGY.dead, routing_key="submit.default", redelivered=attempt > 1, attempt=attempt
            )
            assert await consumer.handle(delivery) == Ack()
    assert await api.sql("select count(*) from dead_letter") == 1


async def test_a_replay_that_the_broker_refuses_keeps_the_letter(
    api: Api, publish: Submit, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch, wait_for_letters: WaitForLetters
) -> None:
    """If the broker refuses a replay, the letter remains dead, no success is audited, and a later replay succeeds."""
    await publish()
    name = (await wait_for_letters())[0]["metadata"]["name"]

    async def refuse(*_: Any, **__: Any) -> None:
        raise Unavailable("no broker")

    with monkeypatch.context() as patch:
        patch.setattr(broker, "publish", refuse)
        assert (await api("POST", f"{LETTERS}/{name}/replay"))[0] == 503
        assert (await api("POST", f"{LETTERS}/replay"))[0] == 503
    (letter,) = await letters(api)
    assert letter["status"]["state"] == "dead"
    assert await api.sql("select count(*) from audit_event where action = 'deadletter.replay' and outcome = 'ok'") == 0
    assert (await api("POST", f"{LETTERS}/{name}/replay"))[1]["status"]["state"] == "replayed"


async def test_a_replayed_message_that_is_refused_again_is_another_letter(
    api: Api, publish: Submit, wait_for_letters: WaitForLetters
) -> None:
    """A replayed message that is refused again is stored as a second letter. The first letter is kept as replayed."""
    await publish(message_id="m-1")
    name = (await wait_for_letters())[0]["metadata"]["name"]
    await api("POST", f"{LETTERS}/{name}/replay")
    states = [letter["status"]["state"] for letter in await wait_for_letters(2)]
    assert sorted(states) == ["dead", "replayed"]


async def test_selected_letters_are_replayed_and_discarded(api: Api, publish: Submit, wait_for_letters: WaitForLetters) -> None:
    """A selector chooses the letters of a replay. Letters that cannot be replayed are counted as skipped and remain dead."""
    for number in range(3):
        await publish(message_id=f"m-{number}")
    kept_bytes = 2 * 1024 * 1024
    await publish(b"x" * (kept_bytes + 1), message_id="large")
    await wait_for_letters(4)
    large_letters = [letter for letter in await letters(api) if letter["spec"]["truncated"]]
    assert [(letter["spec"]["bodyBytes"], len(letter["spec"]["body"])) for letter in large_letters] == [(kept_bytes + 1, kept_bytes)]
    assert "complete" in large_letters[0]["status"]["obstacle"]
    status, conflict = await api("POST", f"{LETTERS}/{large_letters[0]['metadata']['name']}/replay")
    assert (status, conflict["reason"]) == (409, "Conflict")
    await repositories.make_local_repository(api, "team", api.data / "team", "write")
    assert (await api("POST", f"{LETTERS}/replay?labelSelector={STATE}=replayed"))[1]["replayed"] == 0
    _, dry_run = await api("POST", f"{LETTERS}/replay?dryRun=All")
    assert (dry_run["replayed"], dry_run["remaining"]) == (0, 3)
    status, result = await api("POST", f"{LETTERS}/replay")
    assert status == 200
    assert result["replayed"] == 3
    assert result["skipped"] == 1
    assert result["remaining"] == 0
    assert (await api("POST", f"{LETTERS}/replay"))[1]["replayed"] == 0
    assert (await api("DELETE", f"{LETTERS}?labelSelector={STATE}=replayed"))[0] == 200
    assert [letter["metadata"]["name"] for letter in await letters(api)] == [large_letters[0]["metadata"]["name"]]
    assert await api.sql("select count(*) from audit_event where action = 'deadletter.replay' and object <> ''") >= 3
    assert await api.sql("select count(*) from audit_event where action = 'deadletter.delete'") == 3


async def test_a_letter_is_discarded_once(api: Api, publish: Submit, wait_for_letters: WaitForLetters) -> None:
    """A discard checks preconditions, supports dry runs, is audited, and deletes the letter."""
    await publish()
    (letter,) = await wait_for_letters()
    path = f"{LETTERS}/{letter['metadata']['name']}"
    assert (await api("DELETE", path, {"preconditions": {"uid": "other"}}))[0] == 409
    assert (await api("DELETE", f"{path}?dryRun=All"))[0] == 200
    assert await letters(api) == [letter]
    assert (await api("DELETE", path))[0] == 200
    assert (await api("DELETE", path))[0] == 404
    assert (await api("POST", f"{path}/replay"))[0] == 404
    assert await api.sql("select count(*) from audit_event where action = 'deadletter.delete' and outcome = 'ok'") == 1


async def test_letters_belong_to_the_organization_of_their_routing_key(api: Api, publish: Submit, wait_for_letters: WaitForLetters) -> None:
    """A letter is visible in its organization only. Letters of an unknown organization are visible to server admins only."""
    org_id = await api.organization("Other")
    await api.person("boss", Role.ADMIN, org_id=org_id)
    admin_of_first, admin_of_second = await api.person("first", Role.ADMIN), await api.person("second", Role.ADMIN, org_id=org_id)
    for key in ("submit.default", f"submit.org-{org_id}", "submit.org-999999", "submit.elsewhere", "submit"):
        await publish(key=key)
    await wait_for_letters(5)
    letters_of_first = await letters(api, auth=admin_of_first)
    assert [letter["spec"]["routingKey"] for letter in letters_of_first] == ["submit.default"]
    other_path = LETTERS.replace("default", f"org-{org_id}")
    status, listed = await api("GET", other_path, auth=admin_of_second)
    assert (status, [letter["spec"]["routingKey"] for letter in listed["items"]]) == (200, [f"submit.org-{org_id}"])
    all_letters = await letters(api)
    hidden = [letter for letter in all_letters if letter["metadata"]["labels"].get(f"{GROUP}/server-only") == "true"]
    assert {letter["spec"]["routingKey"] for letter in hidden} == {"submit.org-999999", "submit.elsewhere", "submit"}
    for letter in hidden:
        path = f"{LETTERS}/{letter['metadata']['name']}"
        for method, target in (("GET", path), ("DELETE", path), ("POST", f"{path}/replay")):
            assert (await api(method, target, auth=admin_of_first))[0] == 404
    assert (await api("DELETE", LETTERS, auth=admin_of_first))[0] == 200
    assert len(await letters(api)) == 3
    assert (await api("POST", f"{LETTERS}/replay", auth=admin_of_first))[1]["replayed"] == 0


async def test_only_admins_read_and_only_writers_replay(api: Api, publish: Submit, wait_for_letters: WaitForLetters) -> None:
    """A read requires deadletters:read, which can be granted. A replay and a discard require a further action."""
    await publish()
    (letter,) = await wait_for_letters()
    path = f"{LETTERS}/{letter['metadata']['name']}"
    editor = await api.person("editor", Role.EDITOR)
    reader = await api.person("reader", Role.VIEWER, ("deadletters:read", "*"))
    for method, target in (("GET", LETTERS), ("GET", path), ("POST", f"{path}/replay"), ("POST", f"{LETTERS}/replay"), ("DELETE", path)):
        assert (await api(method, target, auth=editor))[0] == 403
        assert (await api(method, target, auth=reader))[0] == (200 if method == "GET" else 403)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(b"\xff\x00\xfe", "base64"), (b"not json \x00", "utf-8"), (b"", "utf-8"), (b"[" * 5000, "utf-8")],
    ids=["not text", "not JSON", "empty", "too nested"],
)
async def test_any_body_is_stored_unchanged(
    api: Api, publish: Submit, body: bytes, encoding: str, wait_for_letters: WaitForLetters
) -> None:
    """A body is stored unchanged. A body that is not JSON is shown as text, and a body that is not text in base64."""
    await publish(body, headers={"odd\0": "\0\ud800", "large": 2**70, "flag": True})
    spec = (await wait_for_letters())[0]["spec"]
    assert spec["bodyEncoding"] == encoding
    shown_bytes = base64.b64decode(spec["body"]) if encoding == "base64" else spec["body"].encode()
    assert shown_bytes == body
    assert spec["headers"] == {"odd\N{REPLACEMENT CHARACTER}": "\N{REPLACEMENT CHARACTER}?", "large": str(2**70), "flag": True}


async def test_only_submissions_are_replayed(api: Api, broker: MemoryBroker, wait_for_letters: WaitForLetters) -> None:
    """A letter that is not a submission, such as a request of a gateway, is shown to server admins and cannot be replayed."""
    await broker.publish(TOPOLOGY.dead, TOPOLOGY.probe, Message(body=b"{}"))
    (letter,) = await wait_for_letters()
    assert "only submissions" in letter["status"]["obstacle"]
    assert (await api("POST", f"{LETTERS}/{letter['metadata']['name']}/replay"))[0] == 409


async def test_without_queue_identity_nothing_is_replayed(
    start_api: StartApi, publish: Submit, handled_deliveries: HandledDeliveries
) -> None:
    """Without the queue identity, replays are refused, because replayed messages have no credentials."""
    api = await start_api(queue_identity=False)
    await publish()
    await handled_deliveries.reach(1)
    (letter,) = await letters(api)
    for path in (f"{LETTERS}/{letter['metadata']['name']}/replay", f"{LETTERS}/replay"):
        status, conflict = await api("POST", path)
        assert status == 409
        assert "DASHWRIGHT_QUEUE_IDENTITY" in conflict["message"]


async def test_letters_cannot_be_watched_or_created(api: Api) -> None:
    """The kind has the verbs that discovery lists: letters can neither be watched nor created."""
    assert (await api("GET", f"{LETTERS}?watch=true"))[0] == 405
    assert (await api("POST", LETTERS, {}))[0] == 405
    _, resources = await api("GET", f"/apis/{GROUP}/v0alpha1")
    listed = {resource["name"]: resource["verbs"] for resource in resources["resources"]}
    assert listed["deadletters"] == ["delete", "deletecollection", "get", "list"]
    assert listed["deadletters/replay"] == ["create"]


async def test_ten_thousand_letters_are_listed_in_pages_and_discarded(api: Api) -> None:
    """Tables, pages and complete lists have all letters, and one request discards them."""
    await api.sql(
        """
        insert into dead_letter (name, namespace, server_only, delivery_hash, routing_key, exchange, queue, reason, headers,
            removed_headers, content_type, body, body_bytes, obstacle, received_at)
        select 'letter-' || lpad(n::text, 5, '0'), 'default', false, int4send(n), 'submit.default', 'e', 'q', 'r', '{}',
            '{}', '', convert_to(repeat('x', 1000), 'utf8'), 1000, '', now()
        from generate_series(1, 10000) n
        """
    )
    assert len(await letters(api)) == 10_000
    status, page = await api("GET", f"{LETTERS}?limit=10")
    assert (status, len(page["items"])) == (200, 10)
    _, next_page = await api("GET", f"{LETTERS}?limit=10&continue={page['metadata']['continue']}")
    assert next_page["items"][0]["metadata"]["name"] == "letter-00011"
    table = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    assert len((await api("GET", LETTERS, headers=table))[1]["rows"]) == 10_000
    assert (await api("DELETE", LETTERS))[0] == 200
    assert await api.sql("select count(*) from dead_letter") == 0
    assert await api.sql("select count(*) from audit_event where action = 'deadletter.delete'") == 10_000
