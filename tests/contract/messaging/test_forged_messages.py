"""Messages of programs without SECRET_KEY: workers do not execute them, and callers do not accept them as responses."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest
from tests.contract.messaging.calls import CallFactory, HangingHandler, echo
from tests.contract.messaging.handlers import RecordingHandler
from tests.signer import SECRET_KEY, SIGNER

from dashwright.common.clock import Clock
from dashwright.common.messaging import rpc_wire as wire
from dashwright.common.messaging.message import Header, Message
from dashwright.common.messaging.rpc import Reply, Request
from dashwright.common.messaging.signing import SIGNATURE, Purpose, Signer

FOREIGN_SIGNER = Signer("another key")


class RecordingWorker:
    """A handler that records the bodies of its requests."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def __call__(self, request: Request) -> Reply:
        self.bodies.append(request.body)
        return Reply(request.body)


def genuine_request(queue: str, clock: Clock) -> Message:
    """Return a request as the gateway signs it."""
    headers = {wire.DEADLINE: clock.milliseconds() + 60_000, wire.IDLE_TIMEOUT: 60_000, "org_id": 1}
    message = Message(body=b"genuine", headers=headers, correlation_id=uuid4().hex, reply_to="nowhere", persistent=False)
    return SIGNER.signed(message, Purpose.REQUEST, queue)


def forgeries(queue: str, clock: Clock) -> list[Message]:
    """Return messages that a program without the secret key can make, some of them from a genuine request or another message."""
    message = genuine_request(queue, clock)
    unsigned = replace(message, headers={name: value for name, value in message.headers.items() if name != SIGNATURE})

    def alter_headers(**headers: Header) -> Message:
        """Return the message with other headers."""
        return replace(message, headers={**message.headers, **headers})

    return [
        # Without a genuine request.
        Message(body=b"hello?"),
        # Without a valid signature.
        unsigned,
        alter_headers(**{SIGNATURE: "\N{SNOWMAN}"}),
        alter_headers(**{SIGNATURE: ""}),
        # Signed with another key, for another purpose, or for another queue.
        FOREIGN_SIGNER.signed(unsigned, Purpose.REQUEST, queue),
        SIGNER.signed(unsigned, Purpose.RESPONSE, queue),
        SIGNER.signed(unsigned, Purpose.REQUEST, "test.jobs.repositories"),
        # A genuine request of which one part was changed, added or removed.
        alter_headers(org_id=2),
        alter_headers(org_id=True),  # equal to 1 in Python
        alter_headers(uids="[]"),
        alter_headers(**{wire.DEADLINE: clock.milliseconds() + 90_000}),
        alter_headers(**{wire.ATTEMPT: 2}),
        replace(message, headers={name: value for name, value in message.headers.items() if name != "org_id"}),
        replace(message, body=b"other"),
        replace(message, correlation_id=uuid4().hex),
    ]


async def test_a_worker_executes_only_signed_requests(calls: CallFactory, clock: Clock) -> None:
    """A worker executes no forged request, and each of them is dropped: it neither becomes a dead letter nor stops the worker."""
    worker, dead_letters, queue = RecordingWorker(), RecordingHandler(), calls.broker.topology.query
    await calls.broker.consume(calls.broker.topology.dead, dead_letters, prefetch=1)
    await calls.server(worker, prefetch=1)
    for message in forgeries(queue, clock):
        await calls.broker.publish("", queue, message)
    client = await calls.client()
    assert (await client.call(queue, b"from the gateway", timeout=10)).complete_body == b"from the gateway"
    assert worker.bodies == [b"from the gateway"]
    assert dead_letters.is_empty


async def test_a_copy_of_a_request_is_not_executed(calls: CallFactory, clock: Clock) -> None:
    """A copy of a request is not executed, even with another reply address, which the signature does not cover."""
    worker, queue = RecordingWorker(), calls.broker.topology.query
    await calls.server(worker, prefetch=1)
    message = genuine_request(queue, clock)
    for copy in (message, message, replace(message, reply_to="elsewhere")):
        await calls.broker.publish("", queue, copy)
    await (await calls.client()).call(queue, b"last", timeout=10)
    assert worker.bodies == [b"genuine", b"last"]


@pytest.mark.parametrize("signer", [None, FOREIGN_SIGNER], ids=["unsigned", "another key"])
@pytest.mark.parametrize(
    "headers",
    [
        {wire.ATTEMPT: 1, wire.SEQUENCE: 0, wire.LAST: True},
        {wire.ATTEMPT: 1, wire.SEQUENCE: 0, wire.LAST: True, wire.ERROR_CODE: "unavailable"},
        {wire.ATTEMPT: 99},
    ],
    ids=["result", "error", "announcement of a later attempt"],
)
async def test_a_caller_ignores_forged_responses(calls: CallFactory, headers: dict[str, Header], signer: Signer | None) -> None:
    """A caller ignores the response of a program that read its request but has no key. It receives the later response of a worker."""
    client, queue = await calls.client(), calls.broker.topology.query
    attacker = RecordingHandler()
    subscription = await calls.broker.consume(queue, attacker, prefetch=1)
    call = asyncio.ensure_future(client.call(queue, b"genuine", timeout=20))
    request = (await attacker.next()).message
    await subscription.cancel(drain=1)
    assert request.reply_to is not None
    forged = Message(body=b"{}", headers=headers, correlation_id=request.correlation_id, reply_to="nowhere", persistent=False)
    await calls.broker.reply(request.reply_to, forged if signer is None else signer.signed(forged, Purpose.RESPONSE))
    # The attacker consumed the request, so the test publishes it again for a worker.
    await calls.server(echo)
    await calls.broker.publish("", queue, request)
    assert (await call).complete_body == b"genuine"


async def test_a_response_is_valid_for_its_own_call(calls: CallFactory) -> None:
    """A signed response to another call is ignored, even if its correlation id is changed to that of a pending call."""
    client, handler = await calls.client(), HangingHandler()
    await calls.server(handler)
    call = asyncio.ensure_future(client.call(calls.broker.topology.query, b"genuine", timeout=20))
    await asyncio.wait_for(handler.started.get(), 5)
    response_to_another_call = Message(
        body=b"other", headers={wire.ATTEMPT: 1, wire.SEQUENCE: 0, wire.LAST: True}, correlation_id=uuid4().hex
    )
    (pending,) = client._responses  # the id of the only pending call
    client._receive(replace(SIGNER.signed(response_to_another_call, Purpose.RESPONSE), correlation_id=pending))
    assert not client._responses[pending]._is_ended
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)


async def test_services_with_an_accepted_key_understand_one_another(calls: CallFactory) -> None:
    """A service that signs with the next key and one that signs with the former key understand each other if each accepts both keys."""
    client = await calls.client(Signer("the next key", SECRET_KEY))
    await calls.server(echo, signer=Signer(SECRET_KEY, "the next key"))
    assert (await client.call(calls.broker.topology.query, b"x", timeout=5)).complete_body == b"x"
