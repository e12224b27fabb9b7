"""Routing keys of messages about jobs. The exchange is public: batch submitters publish to it."""

#: Durable topic exchange. ``submit.{namespace}`` submits jobs; ``work.{action}`` and ``evaluate`` wake a worker for a
#: recorded one.
EXCHANGE = "dashwright.jobs"

#: Key that wakes an expressions worker for an evaluation.
EVALUATE = "evaluate"


def work_key(action: str) -> str:
    """Return the key that wakes a jobs worker for an action."""
    return f"work.{action}"
