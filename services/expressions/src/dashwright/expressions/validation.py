"""Every fault of a panel, found without running anything: of shape, ranges and limits, of parsing, and of the graph."""

from collections.abc import Iterator
from datetime import datetime

from dashwright.common.errors import DashwrightError
from dashwright.common.models.asking import Asking
from dashwright.common.models.expressions import ClassicConditionsTarget
from dashwright.expressions.binding import Bound, Fault
from dashwright.expressions.engine.evaluate import bounded_plan
from dashwright.expressions.engine.graph import Node
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.request import Draft, drafted, node_of
from dashwright.expressions.sql.engine import SqlEngine


def faults_of(body: bytes, asking: Asking, now: datetime, limits: Limits, sql: SqlEngine | None = None) -> list[Fault]:
    """All faults, those of shape first. Raises BadRequest where the body is no JSON, and DeadlineExceeded: that is no fault of a panel."""
    draft = drafted(body, asking, now, limits)
    faults = [*draft.faults, *_faults_of_nodes(draft, limits, sql)]
    limits.deadline.check()
    return faults


def _faults_of_nodes(draft: Draft, limits: Limits, sql: SqlEngine | None) -> Iterator[Fault]:
    nodes = [node_of(ref_id, bound.query, draft.ranges[ref_id], limits, sql) for ref_id, bound in draft.bound.items()]
    # What could not be bound is there all the same: who reads it is not wrong to do so.
    unbound = dict.fromkeys(fault.ref_id for fault in draft.faults if fault.ref_id and fault.ref_id not in draft.bound)
    planned = bounded_plan([*nodes, *map(Node, unbound)], limits)
    for ref_id, bound in draft.bound.items():
        if error := planned.faults.get(ref_id):
            yield _fault(bound, error)


def _fault(bound: Bound, error: DashwrightError) -> Fault:
    member = "conditions" if isinstance(bound.query, ClassicConditionsTarget) else "expression"
    return Fault(f"{bound.pointer}/{member}", error.message, error.message_id, bound.query.ref_id, error.details)
