"""Kill points: the named moments of each service at which its process is killed."""

from dataclasses import dataclass

from tests.faults.system import EXPRESSIONS, GATEWAY, JOBS_WORKER
from tests.proxies.conversation import Moment, Side


@dataclass(frozen=True, slots=True)
class KillPoint:
    """Moment at which a service is killed, and the name of the load during which it reaches that moment."""

    program: str
    moment: Moment
    load: str

    def __str__(self) -> str:
        return f"{self.program}: {self.moment} ({self.load})"


# The names of the loads.
_JOBS_HTTP, _JOBS_QUEUE = "jobs over HTTP", "jobs by queue"
_EVALUATIONS_HTTP, _EVALUATIONS_QUEUE = "evaluations over HTTP", "evaluations by queue"
_BATCHES, _BATCHES_QUEUE, _DEAD_LETTERS = "batches", "batches by queue", "dead letters"
_DASHBOARDS, _QUERIES, _FILE_READS = "dashboard writes", "queries", "reads of files"

#: Steps by service and load. The process is killed before and after each.
_STEPS: dict[tuple[str, str], tuple[str, ...]] = {
    (GATEWAY, _JOBS_HTTP): ("jobs.submit", "commit of jobs.submit", "publish wake-up", "respond"),
    (GATEWAY, _EVALUATIONS_HTTP): ("jobs.submit", "commit of jobs.submit", "publish wake-up", "respond"),
    (GATEWAY, _JOBS_QUEUE): (
        "jobs.submit",
        "accepted_messages.record",
        "commit of jobs.submit",
        "publish wake-up",
        "publish reply",
        "acknowledge submission",
    ),
    (GATEWAY, _EVALUATIONS_QUEUE): (
        "jobs.submit",
        "accepted_messages.record_all",
        "commit of jobs.submit",
        "publish wake-up",
        "publish reply",
        "acknowledge submission",
    ),
    (GATEWAY, _BATCHES): ("batches.add", "commit of batches.add"),
    (GATEWAY, _BATCHES_QUEUE): ("batches.add", "commit of batches.add", "publish reply", "acknowledge submission"),
    (GATEWAY, _DEAD_LETTERS): ("publish dead letter", "commit of dead_letters.insert", "acknowledge dead letter"),
    (JOBS_WORKER, _BATCHES): (
        "batches.dispatch",
        "commit of batches.dispatch",
        "notifications.add",
        "commit of notifications.add",
        "publish notification",
        "publish event",
        "notifications.record_delivery",
        "commit of batch_segments.complete",
    ),
    (JOBS_WORKER, _BATCHES_QUEUE): ("publish reply", "commit of item_replies.record"),
    (GATEWAY, _DASHBOARDS): ("resources.write_one", "commit of resources.write_one", "respond"),
    (JOBS_WORKER, _JOBS_QUEUE): (
        "jobs.claim",
        "commit of jobs.claim",
        "jobs.finish",
        "commit of jobs.finish",
        "acknowledge wake-up",
    ),
    (JOBS_WORKER, _FILE_READS): ("publish response", "acknowledge request"),
    (EXPRESSIONS, _EVALUATIONS_HTTP): (
        "jobs.claim",
        "commit of jobs.claim",
        "jobs.finish",
        "evaluations.create_results",
        "commit of jobs.finish",
        "acknowledge wake-up",
    ),
    (EXPRESSIONS, _QUERIES): ("publish response", "acknowledge request"),
    (GATEWAY, _QUERIES): ("publish request",),
}

_SIDES: tuple[Side, Side] = ("before", "after")

KILL_POINTS = [
    KillPoint(program, Moment(side, step), load) for (program, load), steps in _STEPS.items() for step in steps for side in _SIDES
]
