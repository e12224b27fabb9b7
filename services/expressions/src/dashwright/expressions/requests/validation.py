"""Validation of a panel without running it: faults of its JSON, time ranges, limits, expressions and graph."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import orjson

from dashwright.common.errors import DashwrightError
from dashwright.common.models.expressions import ClassicConditionsTarget
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.engine.evaluate import plan_within_limits
from dashwright.expressions.engine.graph import Node
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.requests.binding import BoundQuery, Fault
from dashwright.expressions.requests.request import RequestDraft, draft_request, node_of
from dashwright.expressions.sql.engine import SqlEngine


def find_faults(body: bytes, context: QueryContext, now: datetime, limits: Limits, sql: SqlEngine | None = None) -> list[Fault]:
    """Return all faults, those of the JSON first.

    Raises BadRequest if the body is not JSON, and DeadlineExceeded, which is not a fault of the panel.
    """
    draft = draft_request(body, context, now, limits)
    faults = [*draft.faults, *_faults_of_nodes(draft, limits, sql)]
    limits.deadline.check()
    return faults


def _faults_of_nodes(draft: RequestDraft, limits: Limits, sql: SqlEngine | None) -> Iterator[Fault]:
    """Yield the faults of expressions and of the graph."""
    nodes = [node_of(ref_id, bound.query, draft.time_ranges[ref_id], limits, sql) for ref_id, bound in draft.bound_queries.items()]
    # Invalid queries are nodes too, so that an expression that reads one is not reported for a missing input.
    invalid_ref_ids = dict.fromkeys(fault.ref_id for fault in draft.faults if fault.ref_id and fault.ref_id not in draft.bound_queries)
    plan = plan_within_limits([*nodes, *map(Node, invalid_ref_ids)], limits)
    for ref_id, bound in draft.bound_queries.items():
        if error := plan.faults.get(ref_id):
            yield _fault(bound, error)


def _fault(bound: BoundQuery, error: DashwrightError) -> Fault:
    member = "conditions" if isinstance(bound.query, ClassicConditionsTarget) else "expression"
    return Fault(f"{bound.pointer}/{member}", error.message, error.message_id, bound.query.ref_id, error.details)


def validation_body(faults: Sequence[Fault]) -> bytes:
    """Return the JSON ``{valid, faults}``. A fault in an expression has a ``position`` (from 1) and a ``caret``."""
    return orjson.dumps({"valid": not faults, "faults": [_fault_members(fault) for fault in faults]})


def _fault_members(fault: Fault) -> dict[str, Any]:
    members: dict[str, Any] = {"pointer": fault.pointer, "message": fault.message}
    details = fault.details or {}
    if "position" in details:
        members |= {"position": int(details["position"]), "caret": details["caret"]}
    return members
