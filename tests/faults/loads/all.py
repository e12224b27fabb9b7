"""All kinds of load."""

from collections.abc import Callable, Sequence

from tests.faults.loads.batches import Batches
from tests.faults.loads.calls import FileReads, Queries
from tests.faults.loads.dashboards import Dashboards
from tests.faults.loads.evaluations import EvaluationsByQueue, EvaluationsOverHttp
from tests.faults.loads.load import Load
from tests.faults.loads.queue import Queue
from tests.faults.loads.repositories import JobsByQueue, JobsOverHttp, Repositories
from tests.faults.system import System

MakeLoads = Callable[[System, Queue], Sequence[Load]]

_REPOSITORIES = 3


def _jobs(system: System, queue: Queue) -> Sequence[Load]:
    repositories = Repositories(system, count=_REPOSITORIES)
    return [JobsByQueue(queue, repositories), JobsOverHttp(system, repositories), FileReads(system, repositories)]


#: Functions that return kinds of load. Add one here for a further kind.
_FACTORIES: Sequence[MakeLoads] = (
    _jobs,
    lambda system, queue: [EvaluationsOverHttp(system), EvaluationsByQueue(queue)],
    lambda system, _queue: [Batches(system), Dashboards(system), Queries(system)],
)


def all_loads(system: System, queue: Queue) -> Sequence[Load]:
    """Return every kind of load."""
    return [load for make in _FACTORIES for load in make(system, queue)]
