"""Results of handlers, and the messages that they require to be published before the delivery is acknowledged."""

from dataclasses import dataclass, replace
from typing import ClassVar
from uuid import uuid4

from dashwright.common.messaging.message import (
    ATTEMPT,
    AUTHORIZATION,
    BODY_BYTES,
    CREDENTIALS_REMOVED,
    FAILURES,
    LETTER_ID,
    ORIGIN_EXCHANGE,
    ORIGIN_QUEUE,
    REASON,
    Delivery,
    Header,
    Message,
    count_header,
)
from dashwright.common.messaging.topology import Topology

#: Maximum number of characters of a reason. The broker closes the connection if the headers do not fit into a frame.
_MAX_REASON_LENGTH = 2000
#: Headers that only a service may set on a dead letter. Values from the sender of the message are removed.
_LETTER_HEADERS = frozenset({LETTER_ID, BODY_BYTES, CREDENTIALS_REMOVED})


@dataclass(frozen=True, slots=True)
class Ack:
    """The message has been handled, successfully or not, and is removed from the queue."""

    label: ClassVar = "done"  #: Value of the metric label ``verdict``.


@dataclass(frozen=True, slots=True)
class Retry:
    """The message is redelivered after the shortest retry delay of at least ``after`` seconds, or else the longest one."""

    label: ClassVar = "retry"  #: Value of the metric label ``verdict``.

    after: float  #: Seconds.
    reason: str
    #: True if an exception of the handler was the cause. The number of such retries is limited.
    is_failure: bool = False


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """The message is not redelivered. It is kept in the queue of dead letters, with the reason."""

    label: ClassVar = "dead"  #: Value of the metric label ``verdict``.

    reason: str


DeliveryResult = Ack | Retry | DeadLetter


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Message to publish before the delivery that caused it is acknowledged."""

    exchange: str
    routing_key: str
    message: Message


def result_of_failure(delivery: Delivery, topology: Topology, reason: str) -> DeliveryResult:
    """Return the result for an exception of the handler: a retry with the next delay, or a dead letter after the last delay."""
    failures = count_header(delivery.message.headers, FAILURES)
    if failures < len(topology.retry_delays):
        return Retry(topology.retry_delays[failures].delay, reason, is_failure=True)
    return DeadLetter(reason)


def follow_up(delivery: Delivery, queue: str, result: Retry | DeadLetter, topology: Topology, *, max_body_bytes: int) -> FollowUp | None:
    """Return the message to publish for a result, or None.

    A retry becomes a dead letter if its body exceeds ``max_body_bytes``, or if the message did not come from the jobs exchange, to
    which all retry exchanges lead. A result for a dead letter causes no further message: the delivery is only acknowledged.
    """
    match result:
        case Retry() if delivery.exchange == topology.jobs and len(delivery.message.body) <= max_body_bytes:
            return _retry_message(delivery, result, topology)
        case Retry(reason=reason) | DeadLetter(reason=reason) if delivery.exchange != topology.dead:
            return _dead_letter(delivery, queue, reason, topology.dead, max_body_bytes)
        case _:
            return None


def _retry_message(delivery: Delivery, result: Retry, topology: Topology) -> FollowUp:
    """Return the message for the queue of the retry delay, from which it returns to the jobs exchange under the same routing key."""
    retry_delay = next((candidate for candidate in topology.retry_delays if candidate.delay >= result.after), topology.retry_delays[-1])
    headers: dict[str, Header] = {ATTEMPT: delivery.attempt}
    if result.is_failure:
        headers[FAILURES] = count_header(delivery.message.headers, FAILURES) + 1
    # An expiration of the message could end the retry delay early.
    message = replace(delivery.message, headers={**delivery.message.headers, **headers}, expiration=None)
    return FollowUp(retry_delay.exchange, delivery.routing_key, message)


def _dead_letter(delivery: Delivery, queue: str, reason: str, exchange: str, max_body_bytes: int) -> FollowUp:
    """Return the dead letter of a message, without credentials, since operators can read it.

    Only the beginning of a body that is too large is kept.
    """
    # A lone surrogate in the text of an exception cannot be encoded as UTF-8.
    reason = reason[:_MAX_REASON_LENGTH].encode(errors="backslashreplace").decode()
    body = delivery.message.body
    if len(body) > max_body_bytes:
        reason += f"; of its body, {len(body):,} bytes, the first {max_body_bytes:,} are kept"
    sent_headers = {name: value for name, value in delivery.message.headers.items() if name not in _LETTER_HEADERS}
    headers: dict[str, Header] = {name: value for name, value in sent_headers.items() if name.lower() != AUTHORIZATION}
    if len(headers) < len(sent_headers):
        headers[CREDENTIALS_REMOVED] = True
    if len(body) > max_body_bytes:
        headers[BODY_BYTES] = len(body)
    headers |= {REASON: reason, ORIGIN_QUEUE: queue, ORIGIN_EXCHANGE: delivery.exchange, LETTER_ID: uuid4().hex}
    message = replace(delivery.message, body=body[:max_body_bytes], headers=headers, expiration=None)
    return FollowUp(exchange, delivery.routing_key, message)
