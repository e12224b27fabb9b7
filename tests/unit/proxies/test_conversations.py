"""Decoders of the proxies of the fault suite: they forward every byte, and recognize the steps at which a process is killed."""

from collections.abc import Callable, Iterator

import pytest
from tests.proxies.amqp_conversation import AmqpConversation
from tests.proxies.conversation import Conversation, Moment, Unit
from tests.proxies.postgres_conversation import PostgresConversation, step_names

#: The SQL of the statement that claims jobs.
CLAIM = next(text for text, step in step_names().items() if step == "jobs.claim")


def postgres_message(kind: bytes, payload: bytes) -> bytes:
    """Return a message of PostgreSQL's protocol."""
    return kind + (len(payload) + 4).to_bytes(4) + payload


#: Messages of a client that executes a prepared statement in a transaction, and the response of the server to each step.
STARTUP = (8).to_bytes(4) + bytes(4)
BEGIN, COMMIT = (postgres_message(b"Q", text + b"\0") for text in (b"BEGIN;", b"COMMIT;"))
PARSE = postgres_message(b"P", b"s1\0" + CLAIM.encode() + b"\0\0\0")
BIND, EXECUTE, SYNC = (postgres_message(kind, payload) for kind, payload in ((b"B", b"\0s1\0"), (b"E", b"\0" * 5), (b"S", b"")))
READY = postgres_message(b"Z", b"T")


def amqp_frame(frame_type: int, payload: bytes, channel: int = 1) -> bytes:
    """Return a frame of AMQP."""
    return bytes([frame_type]) + channel.to_bytes(2) + len(payload).to_bytes(4) + payload + b"\xce"


def amqp_method(class_id: int, method_id: int, arguments: bytes) -> bytes:
    """Return the frame of a method of AMQP."""
    return amqp_frame(1, class_id.to_bytes(2) + method_id.to_bytes(2) + arguments)


def short(text: str) -> bytes:
    """Return a text of at most 255 bytes as an argument of AMQP."""
    return bytes([len(text)]) + text.encode()


#: A wake-up with its content, and a delivered submission with its acknowledgement.
PUBLISH = amqp_method(60, 40, bytes(2) + short("dashwright.jobs") + short("work.sync") + b"\1")
CONTENT = amqp_frame(2, bytes(4) + (2).to_bytes(8) + bytes(2)) + amqp_frame(3, b"{}")
DELIVER = amqp_method(60, 60, short("tag") + (7).to_bytes(8) + b"\0" + short("dashwright.jobs") + short("submit.default"))
ACKNOWLEDGE, CONFIRM = (amqp_method(60, 80, number.to_bytes(8) + b"\0") for number in (7, 1))


def moments(units: Iterator[Unit]) -> list[str]:
    """Return the moments before and after steps in forwarded units."""
    return [str(moment) for unit in units for moment in (*unit.before, *unit.after)]


@pytest.mark.parametrize("size", [1, 3, 10_000])
@pytest.mark.parametrize(
    ("new_conversation", "data"),
    [
        (lambda: PostgresConversation({}), STARTUP + BEGIN + PARSE + BIND + EXECUTE + SYNC + COMMIT),
        (AmqpConversation, b"AMQP\0\0\x09\1" + PUBLISH + CONTENT + ACKNOWLEDGE),
    ],
    ids=["postgres", "amqp"],
)
def test_every_byte_is_forwarded(new_conversation: Callable[[], Conversation], data: bytes, size: int) -> None:
    """Bytes are forwarded unchanged, for all sizes of the pieces in which they arrive."""
    conversation = new_conversation()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert b"".join(unit.data for piece in pieces for unit in conversation.from_client(piece)) == data


def test_statements_and_commits_are_steps() -> None:
    """A statement is named by its text, also when it is executed again, and a commit by the statements of its transaction."""
    conversation = PostgresConversation({})
    list(conversation.from_client(STARTUP + BEGIN))
    list(conversation.from_server(READY))
    assert moments(conversation.from_client(PARSE + BIND + EXECUTE + SYNC)) == ["before jobs.claim"]
    assert moments(conversation.from_server(READY)) == ["after jobs.claim"]
    assert moments(conversation.from_client(COMMIT)) == ["before commit of jobs.claim"]
    assert moments(conversation.from_server(READY)) == ["after commit of jobs.claim"]
    assert moments(conversation.from_client(BIND + EXECUTE + SYNC)) == ["before jobs.claim"]


def test_a_refused_statement_is_replaced() -> None:
    """A statement with an injected error is replaced by one query that raises it; later statements are forwarded again."""
    conversation = PostgresConversation({"jobs.claim": "53100"})
    list(conversation.from_client(STARTUP))
    (parse, replacement, commit) = conversation.from_client(PARSE + BIND + EXECUTE + SYNC + COMMIT)
    assert (parse.data, commit.data) == (PARSE, COMMIT)
    assert replacement.data[:1] == b"Q"
    assert b"errcode = '53100'" in replacement.data


def test_messages_are_steps() -> None:
    """A message without confirms is published when it was sent, and an acknowledgement is named after its delivery."""
    conversation = AmqpConversation()
    list(conversation.from_client(b"AMQP\0\0\x09\1"))
    assert moments(conversation.from_client(PUBLISH + CONTENT)) == ["before publish wake-up", "after publish wake-up"]
    assert moments(conversation.from_server(DELIVER)) == []
    assert moments(conversation.from_client(ACKNOWLEDGE)) == ["before acknowledge submission", "after acknowledge submission"]


def test_a_confirmed_message_is_published_at_its_confirmation() -> None:
    """With publisher confirms, the step ends when the broker responds."""
    conversation = AmqpConversation()
    list(conversation.from_client(b"AMQP\0\0\x09\1" + amqp_method(85, 10, b"\0")))
    assert moments(conversation.from_client(PUBLISH + CONTENT)) == ["before publish wake-up"]
    (unit,) = conversation.from_server(CONFIRM)
    assert unit.before == [Moment("after", "publish wake-up")]
