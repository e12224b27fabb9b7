"""Evaluation of a request's expressions. If one fails, the expressions that depend on it fail too; all others still run."""

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from dashwright.common.errors import DashwrightError, TooLarge
from dashwright.expressions.engine.expression import Expression, Outcome, TableExpression
from dashwright.expressions.engine.frames_to_values import values_of_table
from dashwright.expressions.engine.graph import Node, Plan, plan_nodes
from dashwright.expressions.engine.limit_checks import bytes_of, chain_refusals, check_size, size_of
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import Values
from dashwright.expressions.engine.values_to_frames import frames_of

#: The outcome or the error of each refId.
Results = dict[str, Outcome | DashwrightError]
#: The result of a query or expression as other expressions read it.
_StoredResult = Values | Table | DashwrightError

#: The labels and the frame of one item take about as much memory as this number of points.
_POINTS_PER_ITEM = 32


@dataclass(slots=True)
class EvaluationStats:
    """The order and the durations of an evaluation."""

    order: tuple[str, ...] = ()  #: RefIds in the order in which they ran.
    seconds: dict[str, float] = field(default_factory=dict)  #: Duration of each expression, by refId.


class _ResultStore:
    """The values and tables of a request by refId, with one limit of their total size.

    The result of an expression is discarded after the last expression that reads it, unless its refId is in ``retained``.
    The results of queries (``query_values`` and ``tables``) are never discarded.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        query_values: Mapping[str, Values | DashwrightError],
        tables: Mapping[str, Table],
        retained: Collection[str],
        limits: Limits,
    ) -> None:
        self._results: dict[str, _StoredResult] = {**tables, **query_values}
        self._tables = tables
        self._remaining_readers = Counter(name for node in nodes for name in node.inputs)
        self._retained = frozenset(retained) | self._results.keys()
        self._limits = limits
        self._points = sum(map(_points_of, self._results.values()))
        # The memory of the frames in ``tables`` was reserved when they were fetched.
        limits.memory.reserve(sum(map(_bytes_of, query_values.values())))

    def values(self, ref_id: str) -> Values | DashwrightError:
        """Return the values of a refId, or its error. Raises BadRequest if a table cannot be converted to values."""
        result = self._results[ref_id]
        return values_of_table(ref_id, result) if isinstance(result, Table) else result

    def sql_input(self, ref_id: str) -> _StoredResult:
        """Return what a SQL statement reads of a refId: the frames of a query, the values or table of an expression, or its error."""
        return self._tables.get(ref_id) or self._results[ref_id]

    def reserve(self, ref_id: str, values: Values | Table) -> None:
        """Reserve memory for the outcome of ``ref_id``. Raises TooLarge or TooManyRequests if it exceeds a limit."""
        points = self._points + _points_of(values)
        if points > self._limits.request_points:
            problem = f"with {ref_id} the queries and expressions of the request hold {points} points at the same time"
            raise self._limits.refusal(
                "request_points", f"{problem}, each series counted as {_POINTS_PER_ITEM} more", "request less at a time, or reduce earlier"
            )
        self._limits.memory.reserve(_bytes_of(values))

    def add(self, ref_id: str, result: _StoredResult) -> None:
        """Store the values, the table or the error of ``ref_id``."""
        self._results[ref_id] = result
        self._points += _points_of(result)
        self._discard_if_unread(ref_id)

    def release_inputs(self, node: Node) -> None:
        """Discard the inputs of a node that ran, unless another node still reads them."""
        for name in node.inputs:
            self._remaining_readers[name] -= 1
            self._discard_if_unread(name)

    def _discard_if_unread(self, ref_id: str) -> None:
        if ref_id in self._results and not self._remaining_readers[ref_id] and ref_id not in self._retained:
            result = self._results.pop(ref_id)
            self._points -= _points_of(result)
            self._limits.memory.release(_bytes_of(result))


def _bytes_of(result: _StoredResult) -> int:
    return 0 if isinstance(result, DashwrightError) else bytes_of(result)


def _points_of(result: _StoredResult) -> int:
    if isinstance(result, DashwrightError):
        return 0
    items, points = size_of(result)
    return points + _POINTS_PER_ITEM * items


def plan_within_limits(nodes: Sequence[Node], limits: Limits) -> Plan:
    """Return the plan of the nodes, with an error for each node whose chain of inputs is too long."""
    plan = plan_nodes(nodes)
    return Plan(plan.order, {**chain_refusals(nodes, plan.order, limits), **plan.faults})


def evaluate(
    nodes: Sequence[Node],
    query_values: Mapping[str, Values | DashwrightError],
    limits: Limits,
    stats: EvaluationStats | None = None,
    requested: Collection[str] | None = None,
    tables: Mapping[str, Table] | None = None,
) -> Results:
    """Return the results by refId, in request order: all errors, and the outcomes of the ``requested`` refIds (all if None).

    ``query_values`` has the values of data source queries that expressions read, ``tables`` the frames of queries that SQL
    expressions select from. Fills ``stats``.
    """
    plan = plan_within_limits(nodes, limits)
    stats = stats or EvaluationStats()
    stats.order = plan.order
    by_ref_id = {node.ref_id: node for node in nodes}
    requested = by_ref_id.keys() if requested is None else requested
    store = _ResultStore(nodes, query_values, tables or {}, requested, limits)
    results: Results = {}
    for ref_id in plan.order:
        result: Outcome | DashwrightError
        if ref_id in plan.faults:
            result = plan.faults[ref_id]
        elif (node := by_ref_id[ref_id]).expression:
            start = time.perf_counter()
            result = _run(node, node.expression, store, limits)
            stats.seconds[ref_id] = time.perf_counter() - start
        else:
            # A data source query, whose result is in the store already.
            continue
        if ref_id in requested or not isinstance(result, Outcome):
            results[ref_id] = result
        store.add(ref_id, result.values if isinstance(result, Outcome) else result)
        store.release_inputs(by_ref_id[ref_id])
    return {node.ref_id: results[node.ref_id] for node in nodes if node.ref_id in results}


def _run(node: Node, expression: Expression | TableExpression, store: _ResultStore, limits: Limits) -> Outcome | DashwrightError:
    """Return the outcome of a node's expression, for which memory is reserved, or its error."""
    ref_id = node.ref_id
    try:
        if isinstance(expression, TableExpression):
            outcome = _select(node, expression, store, limits)
        else:
            outcome = _evaluate(node, expression, store, limits)
        check_size(ref_id, outcome.values, limits)
        store.reserve(ref_id, outcome.values)
        if node.assertion:
            node.assertion.check(ref_id, frames_of(outcome, ref_id))
    except DashwrightError as error:
        return error
    except MemoryError as error:
        return _memory_error(ref_id, error)
    return outcome


def _evaluate(node: Node, expression: Expression, store: _ResultStore, limits: Limits) -> Outcome:
    """Return the outcome of an expression over the values of its inputs. Raises a DashwrightError if it or an input fails."""
    inputs: dict[str, Values] = {}
    for name in node.inputs:
        value = store.values(name)
        if isinstance(value, DashwrightError):
            raise _input_error(node.ref_id, name, value)
        inputs[name] = value
    limits.deadline.check()
    # Temporary arrays take about as much memory as the inputs.
    with limits.memory.temporarily(sum(map(bytes_of, inputs.values()))):
        return expression.evaluate(inputs, limits)


def _select(node: Node, expression: TableExpression, store: _ResultStore, limits: Limits) -> Outcome:
    """Return the outcome of an expression over the tables of its inputs. Raises a DashwrightError if it or an input fails."""
    inputs: dict[str, Values | Table] = {}
    for name in node.inputs:
        value = store.sql_input(name)
        if isinstance(value, DashwrightError):
            raise _table_error(node.ref_id, name, value)
        inputs[name] = value
    limits.deadline.check()
    return expression.select(inputs, limits)


def _input_error(ref_id: str, name: str, cause: DashwrightError) -> DashwrightError:
    """Return the error of an expression whose input ``name`` failed, in Grafana's words.

    It has the class of its cause, so that it has the same HTTP status.
    """
    return type(cause)(
        f"did not execute expression [{ref_id}] due to a failure of the dependent expression or query [{name}]; see the error of {name}",
        message_id="sse.dependencyError",
    )


def _table_error(ref_id: str, name: str, cause: DashwrightError) -> DashwrightError:
    """Return the error of a sql expression that selects from the failed query or expression ``name``, in Grafana's words."""
    return type(cause)(
        f"could not run sql expression [{ref_id}] because it selects from the results of query [{name}] which has an error; "
        f"see the error of {name}",
        message_id="sse.sql.failed_dependency",
    )


def _memory_error(ref_id: str, error: MemoryError) -> DashwrightError:
    too_large = TooLarge(f"expression [{ref_id}] needs more memory than is available; reduce its inputs or their time range")
    # Set like ``raise … from error`` would, because the caller stores the error instead of raising it.
    too_large.__cause__ = error
    return too_large
