"""What a handler says about a delivery, and what follows from it before the delivery is taken off its queue."""

from dataclasses import dataclass, replace

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
class Done:
    """Finished with, well or not: the message is not needed any more."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Deliver again after about ``after`` seconds: the first rung of the ladder that is not shorter, at most the last."""

    after: float
    reason: str
    failed: bool = False
    """Whether an exception asked for it; the ladder counts these and gives up at its end, a handler decides for itself."""


@dataclass(frozen=True, slots=True)
class Dead:
    """Never to be delivered again: kept in the dead letters with the reason."""

    reason: str


Verdict = Done | Retry | Dead


@dataclass(frozen=True, slots=True)
class Onward:
    """A message to publish before the delivery it follows from is acknowledged."""

    exchange: str
    routing_key: str
    message: Message


def after_failure(delivery: Delivery, topology: Topology, reason: str) -> Verdict:
    """What an exception of the handler means: one rung further each time, and dead at the ladder's end."""
    failures = count(delivery.message.headers, FAILURES)
    if failures < len(topology.ladder):
        return Retry(topology.ladder[failures].delay, reason, failed=True)
    return Dead(reason)


def onward(delivery: Delivery, queue: str, verdict: Verdict, topology: Topology, *, largest: int) -> Onward | None:
    """Where the message goes from here, if anywhere; ``largest`` is how many bytes a body may have to be published again.

    The ladder leads back to the jobs exchange only: another message is dead instead, and so is one that is too large for it. What is
    dead already does not die again.
    """
    match verdict:
        case Retry() if delivery.exchange == topology.jobs and len(delivery.message.body) <= largest:
            return _retried(delivery, verdict, topology)
        case Retry(reason=reason) | Dead(reason=reason) if delivery.exchange != topology.dead:
            return _buried(delivery, queue, reason, topology.dead, largest)
        case _:
            return None


def _retried(delivery: Delivery, verdict: Retry, topology: Topology) -> Onward:
    rung = next((rung for rung in topology.ladder if rung.delay >= verdict.after), topology.ladder[-1])
    headers: dict[str, Header] = {ATTEMPT: delivery.attempt}
    if verdict.failed:
        headers[FAILURES] = count(delivery.message.headers, FAILURES) + 1
    message = replace(delivery.message, headers={**delivery.message.headers, **headers}, expiration=None)
    return Onward(rung.exchange, delivery.routing_key, message)


def _buried(delivery: Delivery, queue: str, reason: str, exchange: str, largest: int) -> Onward:
    """A dead letter lies until somebody looks at it: it carries no credentials, and a body that is too large only in part."""
    reason = reason[:_LONGEST_REASON].encode(errors="backslashreplace").decode()
    body = delivery.message.body
    if len(body) > largest:
        reason += f"; of its body, {len(body):,} bytes, the first {largest:,} are kept"
    kept = {name: value for name, value in delivery.message.headers.items() if name.lower() != AUTHORIZATION}
    headers: dict[str, Header] = {**kept, REASON: reason, ORIGIN_QUEUE: queue, ORIGIN_EXCHANGE: delivery.exchange}
    message = replace(delivery.message, body=body[:largest], headers=headers, expiration=None)
    return Onward(exchange, delivery.routing_key, message)
