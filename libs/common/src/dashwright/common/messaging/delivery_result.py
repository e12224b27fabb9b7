"""What a handler says about a delivery, and what follows from it before the delivery is taken off its queue."""

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

# All headers must fit a frame, or the broker closes the connection.
_LONGEST_REASON = 2000


@dataclass(frozen=True, slots=True)
class Ack:
    """The message is handled, successfully or not, and is not needed any more."""

    label: ClassVar = "done"  #: Value of the metric label ``verdict``.


@dataclass(frozen=True, slots=True)
class Retry:
    """The message is to be delivered again: the first retry tier that is at least ``after`` seconds, or the last."""

    label: ClassVar = "retry"  #: Value of the metric label ``verdict``.

    after: float
    reason: str
    failed: bool = False
    """Whether an exception asked for it; the ladder counts these and gives up at its end, a handler decides for itself."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """The message is never delivered again: it is kept in the dead letters with the reason."""

    label: ClassVar = "dead"  #: Value of the metric label ``verdict``.

    reason: str


DeliveryResult = Ack | Retry | DeadLetter


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A message to publish before the delivery it follows from is acknowledged."""

    exchange: str
    routing_key: str
    message: Message


def after_failure(delivery: Delivery, topology: Topology, reason: str) -> DeliveryResult:
    """What an exception of the handler means: one rung further each time, and dead at the ladder's end."""
    failures = count(delivery.message.headers, FAILURES)
    if failures < len(topology.retry_delays):
        return Retry(topology.retry_delays[failures].delay, reason, failed=True)
    return DeadLetter(reason)


def follow_up(delivery: Delivery, queue: str, result: DeliveryResult, topology: Topology, *, largest: int) -> FollowUp | None:
    """Where the message goes from here, if anywhere; ``largest`` is how many bytes a body may have to be published again.

    The ladder leads back to the jobs exchange only: another message is dead instead, and so is one that is too large for it. What is
    dead already does not die again.
    """
    match result:
        case Retry() if delivery.exchange == topology.jobs and len(delivery.message.body) <= largest:
            return _retried(delivery, result, topology)
        case Retry(reason=reason) | DeadLetter(reason=reason) if delivery.exchange != topology.dead:
            return _buried(delivery, queue, reason, topology.dead, largest)
        case _:
            return None


def _retried(delivery: Delivery, result: Retry, topology: Topology) -> FollowUp:
    tier = next((tier for tier in topology.retry_delays if tier.delay >= result.after), topology.retry_delays[-1])
    headers: dict[str, Header] = {ATTEMPT: delivery.attempt}
    if result.failed:
        headers[FAILURES] = count(delivery.message.headers, FAILURES) + 1
    message = replace(delivery.message, headers={**delivery.message.headers, **headers}, expiration=None)
    return FollowUp(tier.exchange, delivery.routing_key, message)


def _buried(delivery: Delivery, queue: str, reason: str, exchange: str, largest: int) -> FollowUp:
    """A dead letter lies until somebody looks at it: it carries no credentials, and a body that is too large only in part."""
    reason = reason[:_LONGEST_REASON].encode(errors="backslashreplace").decode()
    body = delivery.message.body
    if len(body) > largest:
        reason += f"; of its body, {len(body):,} bytes, the first {largest:,} are kept"
    kept = {name: value for name, value in delivery.message.headers.items() if name.lower() != AUTHORIZATION}
    headers: dict[str, Header] = {**kept, REASON: reason, ORIGIN_QUEUE: queue, ORIGIN_EXCHANGE: delivery.exchange}
    message = replace(delivery.message, body=body[:largest], headers=headers, expiration=None)
    return FollowUp(exchange, delivery.routing_key, message)
