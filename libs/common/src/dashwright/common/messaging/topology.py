"""Exchanges, queues and bindings as data. Each process declares all of them at its start, so any process can start first.

    batch submitters ─ submit.{namespace} ─┐
                                           ▼
                                   dashwright.jobs ── submit.# ──► dashwright.jobs.submit
                                    ▲      ├───────── work.#   ──► dashwright.jobs.work
                                    │      └───────── evaluate ──► dashwright.expressions.evaluate
          after the delay, same key │                                  │ Retry
                                    └── dashwright.retry.{delay} ◄─────┤
                                                                       │ DeadLetter, or delivered too often
                          dashwright.dead.work ◄── work.#, evaluate ───┤
                          dashwright.dead ◄─────── all others ─────────┘

    dashwright.events: events about repositories and batches, for queues that operators declare and bind

    dashwright.expressions.query, dashwright.expressions.pictures, dashwright.jobs.probe, dashwright.jobs.repositories: requests of the
    gateway, through the default exchange

A dead wake-up ends its job. The gateway stores other dead letters in the database for operators. While it cannot, they wait in the
queue, and the oldest are discarded when the queue is full.

Jobs are in quorum queues. Requests are transient messages in durable classic queues: a query need not survive a restart, and a
quorum queue would pay an fsync for each. RabbitMQ 4.3 refuses queues that are neither durable nor exclusive.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dashwright.common.jobs.routing import EVALUATE

#: Retry delays in seconds.
RETRY_DELAYS = (1.0, 5.0, 30.0, 300.0)

#: Binding keys of submissions and of wake-ups of jobs workers.
_SUBMIT, _WORK = "submit.#", "work.#"
#: Values of ``Queue.consumer_timeout`` and ``Queue.delivery_limit`` for queues of jobs.
_MAX_JOB_SECONDS = 24 * 3600.0
_MAX_REDELIVERIES = 20


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
    max_length: int = 100_000  #: Maximum number of messages. ``overflow`` determines what happens to more.
    overflow: Literal["reject-publish", "drop-head"] = "reject-publish"
    ttl: float | None = None  #: Seconds after which a message dies.
    dead_letter_exchange: str | None = None
    delivery_limit: int | None = None  #: Maximum number of redeliveries of a message before it dies.
    #: Seconds in which a consumer must acknowledge a message. RabbitMQ before 3.12 has only a global limit of 30 minutes.
    consumer_timeout: float | None = None

    @property
    def arguments(self) -> dict[str, str | int]:
        """Arguments of the queue's declaration, with the names of RabbitMQ."""
        arguments: dict[str, str | int | None] = {
            "x-queue-type": self.kind,
            "x-max-length": self.max_length,
            "x-overflow": self.overflow,
            "x-message-ttl": None if self.ttl is None else int(self.ttl * 1000),
            "x-dead-letter-exchange": self.dead_letter_exchange,
            # "at-least-once" requires reject-publish. Without it, a broker that dies between two queues loses the message.
            "x-dead-letter-strategy": "at-least-once" if self.dead_letter_exchange else None,
            "x-delivery-limit": self.delivery_limit,
            "x-consumer-timeout": None if self.consumer_timeout is None else int(self.consumer_timeout * 1000),
        }
        return {name: value for name, value in arguments.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """Binding of a queue to an exchange. Messages whose routing key matches ``key`` go to ``queue``.

    In ``key``, ``*`` matches one word, and ``#`` any number of words.
    """

    exchange: str
    queue: str
    key: str


@dataclass(frozen=True, slots=True)
class RetryTier:
    """Retry delay. A message published to ``exchange`` returns to the jobs exchange after ``delay`` seconds."""

    delay: float
    exchange: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """All exchanges, queues and bindings, and the names of those that other code uses. A name without a comment is that of a queue."""

    jobs: str  #: Name of the exchange of submissions and wake-ups.
    events: str  #: Name of the exchange of events about repositories and batches.
    submit: str
    work: str
    probe: str
    repositories: str
    query: str
    pictures: str
    evaluate: str
    dead: str  #: Name of the exchange of dead letters, and of the queue from which the gateway stores them.
    dead_work: str  #: Name of the queue of dead wake-ups.
    retry_delays: tuple[RetryTier, ...]
    exchanges: tuple[Exchange, ...]
    queues: tuple[Queue, ...]
    bindings: tuple[Binding, ...]


def topology(prefix: str = "dashwright", delays: Sequence[float] = RETRY_DELAYS) -> Topology:
    """Return the topology whose names begin with ``prefix``. Each test uses a prefix of its own."""
    events = f"{prefix}.events"
    jobs, dead, query = f"{prefix}.jobs", f"{prefix}.dead", f"{prefix}.expressions.query"
    evaluate = f"{prefix}.expressions.evaluate"
    pictures = f"{prefix}.expressions.pictures"
    submit, work, probe, repositories = f"{jobs}.submit", f"{jobs}.work", f"{jobs}.probe", f"{jobs}.repositories"
    dead_work = f"{dead}.work"
    retry_delays = tuple(RetryTier(delay, f"{prefix}.retry.{delay:g}s") for delay in sorted(delays))
    return Topology(
        jobs=jobs,
        events=events,
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
        exchanges=(
            *(Exchange(name=name) for name in (jobs, events, dead)),
            *(Exchange(name=tier.exchange, type="fanout") for tier in retry_delays),
        ),
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
            # A fanout exchange ignores the key.
            *(Binding(exchange=tier.exchange, queue=tier.exchange, key="") for tier in retry_delays),
            *(Binding(exchange=dead, queue=dead_work, key=key) for key in (_WORK, EVALUATE)),
            # A dead message keeps its routing key. That of a message sent through the default exchange is the name of its queue.
            *(Binding(exchange=dead, queue=dead, key=key) for key in (_SUBMIT, f"{prefix}.#")),
        ),
    )


def _job_queue(name: str, dead: str) -> Queue:
    """Return a queue of jobs.

    Its delivery limit is high, since a job that kills its worker also causes redeliveries of the worker's other messages. The job
    itself is ended earlier, by the number of attempts in its row.
    """
    return Queue(name=name, dead_letter_exchange=dead, delivery_limit=_MAX_REDELIVERIES, consumer_timeout=_MAX_JOB_SECONDS)


#: Topology of the product.
TOPOLOGY = topology()
