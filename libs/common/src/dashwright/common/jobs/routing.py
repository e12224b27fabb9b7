"""Routing keys of messages about jobs. The exchange is public: batch submitters publish to it."""

import uuid
from dataclasses import dataclass

#: Durable topic exchange. ``submit.{namespace}`` submits jobs; ``work.{action}`` and ``evaluate`` wake a worker for a
#: recorded job.
EXCHANGE = "dashwright.jobs"

#: Key that wakes an expressions worker for an evaluation, and the pool of these workers.
EVALUATE = "evaluate"

#: Pool of jobs workers, and the first word of the keys that wake them.
WORK = "work"


def work_key(action: str) -> str:
    """Return the key that wakes a jobs worker for an action."""
    return f"{WORK}.{action}"


def pool_of(wake_key: str) -> str:
    """Return the pool of workers that consume wake-ups with a key: the first word of the key."""
    return wake_key.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Wakeup:
    """Message that wakes a worker, because a job is ready."""

    key: str  #: Routing key.
    uid: uuid.UUID  #: Uid of one of the jobs, for workers of the previous version.
    passes: int = 0  #: Number of workers without a free slot that passed it on.
