"""Results of handling a delivery, and the message that follows from them before the delivery is acknowledged."""

from dataclasses import dataclass, replace
from typing import ClassVar

from dashwright.common.messaging.message import (
    ATTEMPT,
    AUTHORIZATION,
    FAILURES,
    ORIGIN_EXCHANGE,
    ORIGIN_QUEUE,
    REASON,
    Delivery,
    Header,
    Message,
    count,
)
from dashwright.common.messaging.topology import Topology

# Characters. All headers must fit into a frame, or the broker closes the connection.
_LONGEST_REASON = 2000


@dataclass(frozen=True, slots=True)
class Ack:
    """The message is handled, successfully or not, and is not needed any more."""

    label: ClassVar = "done"  #: Value of the metric label ``verdict``.


@dataclass(frozen=True, slots=True)
class Retry:
    """The message is to be delivered again: the first retry tier that is at least ``after`` seconds, or the last."""

    label: ClassVar = "retry"  #: Value of the metric label ``verdict``.

    after: float  #: Seconds.
    reason: str
    #: Whether an exception caused it. Only these count against the retry delays; a handler decides for itself.
    failed: bool = False


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """The message is never delivered again: it is kept in the dead letters with the reason."""

    label: ClassVar = "dead"  #: Value of the metric label ``verdict``.

    reason: str


DeliveryResult = Ack | Retry | DeadLetter


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Message to publish before the delivery that caused it is acknowledged."""

    exchange: str
    routing_key: str
    message: Message


def after_failure(delivery: Delivery, topology: Topology, reason: str) -> DeliveryResult:
    """Return the result for an exception of the handler: the next retry delay, or a dead letter after the last one."""
    failures = count(delivery.message.headers, FAILURES)
    if failures < len(topology.retry_delays):
        return Retry(topology.retry_delays[failures].delay, reason, failed=True)
    return DeadLetter(reason)


def follow_up(delivery: Delivery, queue: str, result: DeliveryResult, topology: Topology, *, largest: int) -> FollowUp | None:
    """Return the message to publish for a result, or None. ``largest``: bytes that a body may have to be published again.

    Retry exchanges lead back to the jobs exchange only, so any other message becomes a dead letter instead, and so does
    one that is too large. A dead letter does not die a second time.
    """
    match result:
        case Retry() if delivery.exchange == topology.jobs and len(delivery.message.body) <= largest:
            return _retry_message(delivery, result, topology)
        case Retry(reason=reason) | DeadLetter(reason=reason) if delivery.exchange != topology.dead:
            return _dead_letter(delivery, queue, reason, topology.dead, largest)
        case _:
            return None


def _retry_message(delivery: Delivery, result: Retry, topology: Topology) -> FollowUp:
    tier = next((tier for tier in topology.retry_delays if tier.delay >= result.after), topology.retry_delays[-1])
    headers: dict[str, Header] = {ATTEMPT: delivery.attempt}
    if result.failed:
        headers[FAILURES] = count(delivery.message.headers, FAILURES) + 1
    message = replace(delivery.message, headers={**delivery.message.headers, **headers}, expiration=None)
    return FollowUp(tier.exchange, delivery.routing_key, message)


def _dead_letter(delivery: Delivery, queue: str, reason: str, exchange: str, largest: int) -> FollowUp:
    """Return the dead letter of a message.

    It is kept until an operator looks at it, so it has no credentials, and only the beginning of a body that is too
    large.
    """
    reason = reason[:_LONGEST_REASON].encode(errors="backslashreplace").decode()
    body = delivery.message.body
    if len(body) > largest:
        reason += f"; of its body, {len(body):,} bytes, the first {largest:,} are kept"
    kept = {name: value for name, value in delivery.message.headers.items() if name.lower() != AUTHORIZATION}
    headers: dict[str, Header] = {**kept, REASON: reason, ORIGIN_QUEUE: queue, ORIGIN_EXCHANGE: delivery.exchange}
    message = replace(delivery.message, body=body[:largest], headers=headers, expiration=None)
    return FollowUp(exchange, delivery.routing_key, message)
