"""All kinds of load."""

from collections.abc import Callable, Sequence

from tests.faults.loads.batch_checks import EndEvents
from tests.faults.loads.batches import Batches
from tests.faults.loads.batches_by_queue import BatchesByQueue
from tests.faults.loads.calls import FileReads, Queries
from tests.faults.loads.dashboards import Dashboards
from tests.faults.loads.dead_letters import DeadLetters
from tests.faults.loads.evaluations import EvaluationsByQueue, EvaluationsOverHttp
from tests.faults.loads.load import Load
from tests.faults.loads.queue import QueueSubmitter
from tests.faults.loads.repositories import JobsByQueue, JobsOverHttp, Repositories
from tests.faults.system import System

MakeLoads = Callable[[System, QueueSubmitter], Sequence[Load]]

_REPOSITORIES = 3


def _jobs(system: System, queue: QueueSubmitter) -> Sequence[Load]:
    """Return the loads of repositories."""
    repositories = Repositories(system, count=_REPOSITORIES)
    return [JobsByQueue(queue, repositories), JobsOverHttp(system, repositories), FileReads(system, repositories)]


def _batches(system: System, queue: QueueSubmitter) -> Sequence[Load]:
    """Return the loads of batches, which share the queue of all events."""
    exchange = EndEvents(system, "walk.ends", is_bound=True)
    return [Batches(system, exchange), BatchesByQueue(system, queue, exchange)]


#: Functions that return kinds of load. Add one here for a further kind.
_FACTORIES: Sequence[MakeLoads] = (
    _jobs,
    _batches,
    lambda system, queue: [EvaluationsOverHttp(system), EvaluationsByQueue(queue)],
    lambda system, queue: [DeadLetters(queue), Dashboards(system), Queries(system)],
)


def all_loads(system: System, queue: QueueSubmitter) -> Sequence[Load]:
    """Return every kind of load."""
    return [load for make in _FACTORIES for load in make(system, queue)]
