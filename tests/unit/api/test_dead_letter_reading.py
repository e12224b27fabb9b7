"""Conversion of deliveries from the queue of dead letters: every delivery becomes a letter that can be stored, without credentials."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.dead_letters.reading import read_letter
from dashwright.api.domain.submissions import MAX_BODY_BYTES
from dashwright.api.stores.dead_letters import NewDeadLetter
from dashwright.common.messaging.message import (
    ATTEMPT,
    BODY_BYTES,
    CREDENTIALS_REMOVED,
    DEATH_TIME,
    FAILURES,
    LETTER_ID,
    ORIGIN_EXCHANGE,
    ORIGIN_QUEUE,
    REASON,
    Delivery,
    Headers,
    Message,
)
from dashwright.common.messaging.topology import TOPOLOGY
from dashwright.common.observability import tracing

NOW = datetime(2026, 11, 23, 16, 40, 5, 7, tzinfo=UTC)
# The headers that a service adds when it moves a submission to the dead letters.
DEATH_HEADERS: Headers = {REASON: "no", ORIGIN_QUEUE: TOPOLOGY.submit, ORIGIN_EXCHANGE: TOPOLOGY.jobs, LETTER_ID: "1"}
CREDENTIAL_NAMES = (
    "authorization",
    "Proxy-Authorisation",
    "x-auth",
    "OAuth",
    "Set-Cookie",
    "credentials",
    "Password",
    "passphrase",
    "db-pwd",
    "client_secret",
    "sessionid",
    "X-Hub-Signature-256",
    "access-token",
    "api key",
    "X-API-Key",
    "private_key",
    "jwt",
    "bearer",
)

# Any characters, including surrogates and NUL, which PostgreSQL cannot store.
_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
_SPECIAL_NAMES = st.sampled_from(
    [ATTEMPT, BODY_BYTES, CREDENTIALS_REMOVED, DEATH_TIME, FAILURES, LETTER_ID, ORIGIN_EXCHANGE, ORIGIN_QUEUE, REASON, tracing.HEADER]
)
_VALUES = _TEXT | st.integers() | st.booleans() | st.sampled_from([TOPOLOGY.jobs, TOPOLOGY.submit, 2**63, -(2**63), -(2**64)])
_DELIVERIES = st.builds(
    Delivery,
    message=st.builds(
        Message,
        body=st.binary(max_size=50),
        headers=st.dictionaries(_TEXT | _SPECIAL_NAMES | st.sampled_from(CREDENTIAL_NAMES), _VALUES, max_size=8),
        message_id=st.none() | _TEXT,
        correlation_id=st.none() | _TEXT,
        content_type=_TEXT,
    ),
    exchange=_TEXT,
    routing_key=_TEXT | _TEXT.map("submit.{}".format) | st.sampled_from(["submit.default", "submit.org-2", "submit", "work.sync"]),
    redelivered=st.booleans(),
    attempt=st.integers(1, 30),
)


def delivery_with(
    *, body: bytes = b"{}", key: str = "submit.default", message_id: str | None = "m", headers: Headers = DEATH_HEADERS
) -> Delivery:
    """Return a delivery from the queue of dead letters, by default of a submission that can be replayed."""
    message = Message(body=body, headers=headers, message_id=message_id)
    return Delivery(message=message, exchange=TOPOLOGY.dead, routing_key=key, redelivered=False, attempt=1)


def read_delivery(delivery: Delivery) -> NewDeadLetter:
    """Return the letter of a delivery."""
    return read_letter(delivery, TOPOLOGY, NOW)


@given(_DELIVERIES)
def test_every_delivery_becomes_a_letter_that_postgresql_can_store(delivery: Delivery) -> None:
    """Every delivery becomes a letter that PostgreSQL can store, without credentials and without headers of the product.

    A delivery that cannot be stored would never be acknowledged.
    """
    letter = read_delivery(delivery)
    texts = [letter.name, letter.namespace, letter.routing_key, letter.exchange, letter.queue, letter.reason, letter.content_type]
    texts += [letter.message_id or "", letter.correlation_id or "", *letter.removed_headers, *letter.headers]
    texts += [value for value in letter.headers.values() if isinstance(value, str)]
    for text in texts:
        assert "\0" not in text
        # Encoding fails for surrogates.
        assert text.encode().decode() == text
    assert all(abs(value) < 2**63 for value in letter.headers.values() if not isinstance(value, str))
    assert len(letter.body) <= letter.body_bytes < 2**63
    assert not {*letter.headers} & {*CREDENTIAL_NAMES, *DEATH_HEADERS, ATTEMPT, FAILURES, BODY_BYTES, CREDENTIALS_REMOVED, DEATH_TIME}


@given(_DELIVERIES, _DELIVERIES)
def test_letters_are_the_same_only_for_redeliveries(first: Delivery, second: Delivery) -> None:
    """The delivery hash covers the message but not the count of deliveries, so only redeliveries have equal hashes."""
    redelivery = replace(first, redelivered=not first.redelivered, attempt=first.attempt + 1, exchange="another")
    assert read_delivery(redelivery).delivery_hash == read_delivery(first).delivery_hash

    def hashed_parts(delivery: Delivery) -> tuple[object, ...]:
        """Return all that a redelivery repeats."""
        message = delivery.message
        return delivery.routing_key, message.message_id, message.correlation_id, message.headers, message.body

    if hashed_parts(first) != hashed_parts(second):
        assert read_delivery(first).delivery_hash != read_delivery(second).delivery_hash


def test_each_death_of_a_message_is_a_letter_with_the_same_message_hash() -> None:
    """Two deaths of a message have different delivery hashes, by their letter ids, and the same message hash.

    The message hash depends on body and routing key. Without a message id, it is None.
    """
    first = read_delivery(delivery_with(headers={**DEATH_HEADERS, LETTER_ID: "1"}))
    second = read_delivery(delivery_with(headers={**DEATH_HEADERS, LETTER_ID: "2"}))
    assert first.delivery_hash != second.delivery_hash
    assert first.message_hash == second.message_hash
    assert read_delivery(delivery_with(body=b"[]")).message_hash != first.message_hash
    assert read_delivery(delivery_with(key="submit.org-2")).message_hash != first.message_hash
    assert read_delivery(delivery_with(message_id=None)).message_hash is None


@pytest.mark.parametrize(
    ("key", "namespace"),
    [
        ("submit.default", "default"),
        ("submit.org-2", "org-2"),
        ("submit.org-1", ""),
        ("submit.org-02", ""),
        ("submit.default.more", ""),
        ("submit.", ""),
        ("submit", ""),
        ("default", ""),
        (TOPOLOGY.query, ""),
    ],
)
def test_the_namespace_is_that_of_the_routing_key_of_a_submission(key: str, namespace: str) -> None:
    """A letter has the namespace of a submission's routing key. A letter without a namespace cannot be replayed."""
    letter = read_delivery(delivery_with(key=key))
    assert letter.namespace == namespace
    if namespace:
        assert letter.obstacle == ""
    else:
        assert letter.obstacle != ""


@pytest.mark.parametrize(
    ("delivery", "text"),
    [
        pytest.param(delivery_with(), "", id="submission"),
        pytest.param(delivery_with(headers={**DEATH_HEADERS, ORIGIN_EXCHANGE: "amq.topic"}), "only submissions", id="other exchange"),
        pytest.param(delivery_with(headers={}), "only submissions", id="no origin"),
        pytest.param(delivery_with(key="work.sync"), "only submissions", id="other routing key"),
        pytest.param(delivery_with(key="submit.nowhere"), "names no organization", id="no organization"),
        pytest.param(delivery_with(headers={**DEATH_HEADERS, BODY_BYTES: 3}), "not complete", id="shortened body"),
        pytest.param(delivery_with(body=b"x" * (MAX_BODY_BYTES + 1)), "not complete", id="too large"),
        pytest.param(delivery_with(body=b"x" * MAX_BODY_BYTES), "", id="largest body"),
    ],
)
def test_the_obstacle_of_a_replay_is_named(delivery: Delivery, text: str) -> None:
    """Only complete submissions to a namespace can be replayed. The obstacle says what another letter lacks."""
    obstacle = read_delivery(delivery).obstacle
    if text:
        assert text in obstacle
    else:
        assert obstacle == ""


def test_a_large_body_is_stored_in_part_with_its_complete_size() -> None:
    """A letter has the size of the complete body: the one that a service noted when it shortened the body, or the received one.

    The largest size is that of a ``bigint``.
    """
    letter = read_delivery(delivery_with(body=b"x" * (MAX_BODY_BYTES + 1)))
    assert len(letter.body) == MAX_BODY_BYTES
    assert letter.body_bytes == MAX_BODY_BYTES + 1
    assert read_delivery(delivery_with(headers={**DEATH_HEADERS, BODY_BYTES: 2**70})).body_bytes == 2**63 - 1


@pytest.mark.parametrize("name", CREDENTIAL_NAMES)
def test_a_header_with_credentials_is_only_named(name: str) -> None:
    """The letter has the name of the header, but no part of its value."""
    letter = read_delivery(delivery_with(headers={**DEATH_HEADERS, name: "t0p-secret", "team": "a"}))
    assert letter.headers == {"team": "a"}
    assert letter.removed_headers == [name]
    assert "t0p-secret" not in repr(letter)


@pytest.mark.parametrize("name", ["author", "team", "authority", "monkey", "dashwright-batch", "Content-Language"])
def test_an_ordinary_header_is_kept(name: str) -> None:
    """An ordinary header is kept, so that a replay sends it again."""
    assert read_delivery(delivery_with(headers={**DEATH_HEADERS, name: "v"})).headers == {name: "v"}


def test_credentials_that_a_service_removed_are_named() -> None:
    """If a service notes that it removed credentials from the message, the header ``authorization`` is named as removed."""
    assert read_delivery(delivery_with(headers={**DEATH_HEADERS, CREDENTIALS_REMOVED: True})).removed_headers == ["authorization"]


def test_a_message_without_a_reason_was_moved_by_the_broker() -> None:
    """A letter without a reason was moved by the broker, which does so after too many deliveries.

    The name of a letter starts with the time, and a long reason is shortened.
    """
    letter = read_delivery(delivery_with(headers={}))
    assert letter.reason == "delivered too often"
    assert letter.queue == ""
    assert letter.exchange == ""
    assert letter.name.startswith("20261123-164005-000007-")
    assert len(read_delivery(delivery_with(headers={**DEATH_HEADERS, REASON: "x" * 9000})).reason) == 4000
