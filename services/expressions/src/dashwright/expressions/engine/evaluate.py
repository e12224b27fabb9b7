"""Evaluation of a request's expressions. If one fails, the expressions that depend on it fail too; all others still run."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from dashwright.common.errors import DashwrightError, TooLarge
from dashwright.expressions.engine.bounds import bytes_of, check_size, too_deep
from dashwright.expressions.engine.expression import Expression, Outcome, TableExpression
from dashwright.expressions.engine.graph import Node, Plan, plan
from dashwright.expressions.engine.held_results import HeldResults
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.value_frames import frames_of
from dashwright.expressions.engine.values import Values

Results = dict[str, Outcome | DashwrightError]


@dataclass(slots=True)
class Trace:
    """A record of an evaluation."""

    order: tuple[str, ...] = ()  #: RefIds in the order in which they ran.
    seconds: dict[str, float] = field(default_factory=dict)  #: Duration of each expression.


def bounded_plan(nodes: Sequence[Node], limits: Limits) -> Plan:
    """Return the plan, with an error for each node whose chain of dependencies is too long."""
    planned = plan(nodes)
    return Plan(planned.order, {**too_deep(nodes, planned.order, limits), **planned.faults})


def evaluate(
    nodes: Sequence[Node],
    given: Mapping[str, Values | DashwrightError],
    limits: Limits,
    trace: Trace | None = None,
    kept: Collection[str] | None = None,
    tables: Mapping[str, Table] | None = None,
) -> Results:
    """Return the results by refId, in request order: all errors, and the outcomes of the refIds in ``kept`` (all if None).

    ``given`` holds the values of data source queries that expressions read; ``tables`` holds the frames of queries that SQL
    expressions select from. ``trace`` receives the order and the durations of the expressions.
    """
    planned = bounded_plan(nodes, limits)
    trace = trace or Trace()
    trace.order = planned.order
    by_ref_id = {node.ref_id: node for node in nodes}
    kept = by_ref_id.keys() if kept is None else kept
    live = HeldResults(nodes, given, tables or {}, kept, limits)
    results: Results = {}
    for ref_id in planned.order:
        result: Outcome | DashwrightError
        if ref_id in planned.faults:
            result = planned.faults[ref_id]
        elif (node := by_ref_id[ref_id]).expression:
            started = time.perf_counter()
            result = _run(node, node.expression, live, limits)
            trace.seconds[ref_id] = time.perf_counter() - started
        else:
            continue
        if ref_id in kept or not isinstance(result, Outcome):
            results[ref_id] = result
        live.add(ref_id, result.values if isinstance(result, Outcome) else result)
        live.read(by_ref_id[ref_id])
    return {node.ref_id: results[node.ref_id] for node in nodes if node.ref_id in results}


def _run(node: Node, expression: Expression | TableExpression, live: HeldResults, limits: Limits) -> Outcome | DashwrightError:
    ref_id = node.ref_id
    try:
        if isinstance(expression, TableExpression):
            outcome = _selected(node, expression, live, limits)
        else:
            outcome = _evaluated(node, expression, live, limits)
        check_size(ref_id, outcome.values, limits)
        live.check(ref_id, outcome.values)
        if node.assertion:
            node.assertion.check(ref_id, frames_of(outcome, ref_id))
    except DashwrightError as error:
        return error
    except MemoryError as error:
        return _out_of_memory(ref_id, error)
    return outcome


def _evaluated(node: Node, expression: Expression, live: HeldResults, limits: Limits) -> Outcome:
    inputs: dict[str, Values] = {}
    for name in node.inputs:
        value = live.values(name)
        if isinstance(value, DashwrightError):
            raise _not_run(node.ref_id, name, value)
        inputs[name] = value
    limits.deadline.check()
    # Intermediate copies take about as much memory as the inputs.
    with limits.memory.held(sum(map(bytes_of, inputs.values()))):
        return expression.evaluate(inputs, limits)


def _selected(node: Node, expression: TableExpression, live: HeldResults, limits: Limits) -> Outcome:
    inputs: dict[str, Values | Table] = {}
    for name in node.inputs:
        value = live.table(name)
        if isinstance(value, DashwrightError):
            raise _not_selected(node.ref_id, name, value)
        inputs[name] = value
    limits.deadline.check()
    return expression.select(inputs, limits)


def _not_run(ref_id: str, name: str, cause: DashwrightError) -> DashwrightError:
    """Return an error of the cause's own class, so that the status still separates errors of the caller from internal ones.

    The text is Grafana's: it calls the failed dependency the dependent expression.
    """
    return type(cause)(
        f"did not execute expression [{ref_id}] due to a failure of the dependent expression or query [{name}]; see the error of {name}",
        message_id="sse.dependencyError",
    )


def _not_selected(ref_id: str, name: str, cause: DashwrightError) -> DashwrightError:
    return type(cause)(
        f"could not run sql expression [{ref_id}] because it selects from the results of query [{name}] which has an error; "
        f"see the error of {name}",
        message_id="sse.sql.failed_dependency",
    )


def _out_of_memory(ref_id: str, error: MemoryError) -> DashwrightError:
    refusal = TooLarge(f"expression [{ref_id}] needs more memory than is available; reduce its inputs or their time range")
    refusal.__cause__ = error
    return refusal
