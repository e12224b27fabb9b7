"""Where messages about jobs go. The exchange is public: batch submitters publish to it."""

EXCHANGE = "dashwright.jobs"
"""Durable topic exchange. ``submit.{namespace}`` asks for jobs; ``work.{action}`` and ``evaluate`` wake a worker for a recorded one."""

EVALUATE = "evaluate"
"""The key that wakes an expressions worker for an evaluation."""


def work_key(action: str) -> str:
    """The key that wakes a jobs worker for a job on a repository."""
    return f"work.{action}"
