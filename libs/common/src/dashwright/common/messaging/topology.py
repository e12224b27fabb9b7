"""Exchanges, queues and bindings as data. Every process declares all of them when it starts, so any may start first.

    batch submitters ─ submit.{namespace} ─┐
                                           ▼
                                   dashwright.jobs ── submit.# ──► dashwright.jobs.submit
                                    ▲      ├───────── work.#   ──► dashwright.jobs.work
                                    │      └───────── evaluate ──► dashwright.expressions.evaluate
          after its time, same key  │                                  │ Retry
                                    └── dashwright.retry.{delay} ◄─────┤
                                                                       │ Dead, or delivered too often
                          dashwright.dead.work ◄── work.#, evaluate ───┤
                          dashwright.dead ◄─────── all others ─────────┘

    dashwright.expressions.query, dashwright.expressions.pictures, dashwright.jobs.probe, dashwright.jobs.repositories: requests of the
    gateway, by the default exchange

Dead wake-ups end their jobs. Other dead letters have no consumer: they are kept for operators, and the oldest are dropped when
the queue is full.

Jobs are in quorum queues. Requests are transient messages in durable classic queues: a query need not survive a restart, and a
quorum queue would pay an fsync for each. RabbitMQ 4.3 refuses queues that are neither durable nor exclusive.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dashwright.common.jobs.routing import EVALUATE

#: Seconds of the retry tiers.
DELAYS = (1.0, 5.0, 30.0, 300.0)

_SUBMIT, _WORK = "submit.#", "work.#"
_LONGEST_JOB = 24 * 3600.0
_DELIVERIES_AGAIN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Durable exchange."""

    name: str
    type: Literal["topic", "fanout"] = "topic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Durable queue."""

    name: str
    kind: Literal["quorum", "classic"] = "quorum"
    max_length: int = 100_000  #: Number of messages at which the queue overflows.
    overflow: Literal["reject-publish", "drop-head"] = "reject-publish"
    ttl: float | None = None  #: Seconds after which a message dies.
    dead_letter_exchange: str | None = None
    delivery_limit: int | None = None  #: Redeliveries of an unacknowledged message before it is dead.
    #: Seconds a consumer may hold a message. Brokers before 3.12 only have a global setting, 30 minutes.
    consumer_timeout: float | None = None

    @property
    def arguments(self) -> dict[str, str | int]:
        """Arguments of the declaration, under RabbitMQ's names."""
        given: dict[str, str | int | None] = {
            "x-queue-type": self.kind,
            "x-max-length": self.max_length,
            "x-overflow": self.overflow,
            "x-message-ttl": None if self.ttl is None else int(self.ttl * 1000),
            "x-dead-letter-exchange": self.dead_letter_exchange,
            # At least once needs reject-publish; without it a broker that dies between two queues loses the message.
            "x-dead-letter-strategy": "at-least-once" if self.dead_letter_exchange else None,
            "x-delivery-limit": self.delivery_limit,
            "x-consumer-timeout": None if self.consumer_timeout is None else int(self.consumer_timeout * 1000),
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """Binding of a queue to an exchange: messages whose routing key matches ``key`` go to ``queue``.

    In ``key``, ``*`` matches one word and ``#`` any number.
    """

    exchange: str
    queue: str
    key: str


@dataclass(frozen=True, slots=True)
class RetryTier:
    """Retry delay: a message published to ``exchange`` is back at the jobs exchange after ``delay`` seconds."""

    delay: float
    exchange: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Everything that is declared, with the names by which other code finds it."""

    jobs: str
    submit: str
    work: str
    probe: str
    repositories: str
    query: str
    pictures: str
    evaluate: str
    dead: str  #: Exchange of dead letters, and queue of those that are kept.
    dead_work: str
    retry_delays: tuple[RetryTier, ...]
    exchanges: tuple[Exchange, ...]
    queues: tuple[Queue, ...]
    bindings: tuple[Binding, ...]


def topology(prefix: str = "dashwright", delays: Sequence[float] = DELAYS) -> Topology:
    """Return the topology under a prefix. The product has one; each test has its own."""
    jobs, dead, query = f"{prefix}.jobs", f"{prefix}.dead", f"{prefix}.expressions.query"
    evaluate = f"{prefix}.expressions.evaluate"
    pictures = f"{prefix}.expressions.pictures"
    submit, work, probe, repositories = f"{jobs}.submit", f"{jobs}.work", f"{jobs}.probe", f"{jobs}.repositories"
    dead_work = f"{dead}.work"
    retry_delays = tuple(RetryTier(delay, f"{prefix}.retry.{delay:g}s") for delay in sorted(delays))
    return Topology(
        jobs=jobs,
        submit=submit,
        work=work,
        probe=probe,
        repositories=repositories,
        query=query,
        pictures=pictures,
        evaluate=evaluate,
        dead=dead,
        dead_work=dead_work,
        retry_delays=retry_delays,
        exchanges=(Exchange(name=jobs), Exchange(name=dead), *(Exchange(name=tier.exchange, type="fanout") for tier in retry_delays)),
        queues=(
            _job_queue(submit, dead),
            _job_queue(work, dead),
            _job_queue(evaluate, dead),
            *(Queue(name=tier.exchange, ttl=tier.delay, dead_letter_exchange=jobs) for tier in retry_delays),
            Queue(name=dead, overflow="drop-head"),
            Queue(name=dead_work, overflow="drop-head"),
            Queue(name=query, kind="classic", max_length=10_000),
            Queue(name=pictures, kind="classic", max_length=100),
            Queue(name=probe, kind="classic", max_length=10_000),
            Queue(name=repositories, kind="classic", max_length=10_000),
        ),
        bindings=(
            Binding(exchange=jobs, queue=submit, key=_SUBMIT),
            Binding(exchange=jobs, queue=work, key=_WORK),
            Binding(exchange=jobs, queue=evaluate, key=EVALUATE),
            *(Binding(exchange=tier.exchange, queue=tier.exchange, key="") for tier in retry_delays),
            *(Binding(exchange=dead, queue=dead_work, key=key) for key in (_WORK, EVALUATE)),
            # A message sent through the default exchange has the name of its queue as its key.
            *(Binding(exchange=dead, queue=dead, key=key) for key in (_SUBMIT, f"{prefix}.#")),
        ),
    )


def _job_queue(name: str, dead: str) -> Queue:
    """Return a queue of jobs.

    Its delivery limit is only a back-stop, since messages held next to a poisonous one are counted as well. A poisonous
    job is ended by the attempts in its row.
    """
    return Queue(name=name, dead_letter_exchange=dead, delivery_limit=_DELIVERIES_AGAIN, consumer_timeout=_LONGEST_JOB)


#: Topology of the product.
TOPOLOGY = topology()
