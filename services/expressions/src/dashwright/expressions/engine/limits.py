"""Limits of an evaluation. Each limit has a setting of the same name. The error of an exceeded limit names the setting."""

from dataclasses import dataclass, field
from functools import partial

from dashwright.common.errors import TooLarge
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.memory import UNBOUNDED, Reservation

#: The defaults of the limits ``expression_length`` and ``expression_depth``, also for parsers that are called without limits.
EXPRESSION_LENGTH, EXPRESSION_DEPTH = 10_000, 50

#: The maximum number of pairs of label key sets that one union compares.
MAX_KEY_SET_PAIRS = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one request."""

    query_targets: int = 500  #: Queries, or targets of a panel, in the request.
    query_depth: int = 100  #: Expressions in a chain, each of which reads the previous one.
    query_series: int = 100_000  #: Series or numbers of each refId and of each intermediate union.
    query_points: int = 20_000_000  #: Points of each refId, over all its series.
    query_labels: int = 100  #: Labels of one series.
    request_points: int = 50_000_000  #: Points that are in memory at the same time; each series counts as 32 points more.
    expression_length: int = EXPRESSION_LENGTH  #: Characters of one expression.
    request_expressions: int = 200_000  #: Characters of all expressions together.
    expression_depth: int = EXPRESSION_DEPTH  #: Levels of nested parentheses, calls and signs; chains of operators do not nest.
    resample_buckets: int = 500_000  #: Buckets of one ``resample``.
    math_bytes: int = 1 << 30  #: Estimated memory of the result of one binary operator; 0 for no limit.
    source_bytes: int = 128 * 1024 * 1024  #: Bytes of one response of a data source, decompressed.
    source_rows: int = 1_000_000  #: Rows of a table from a data source; further rows are omitted.
    sql_seconds: float = 10  #: Duration of one sql statement.
    sql_bytes: int = 512 * 1024 * 1024  #: Memory of one sql statement, and the same amount for the tables that it reads.
    sql_output_cells: int = 1_000_000  #: Rows times columns of the result of a statement; further rows are omitted.
    transformation_cells: int = 2_000_000  #: Rows times columns, over all frames that a transformation reads or returns.
    testdata_seconds: float = 30  #: Duration of a ``slow_query`` of testdata.
    query_response_bytes: int = 256 * 1024 * 1024  #: Estimated bytes of a response as JSON.
    deadline: Deadline = field(default_factory=Deadline)
    memory: Reservation = field(default_factory=partial(Reservation, UNBOUNDED, None))  #: The memory that the request reserves.

    def refusal(self, name: str, problem: str, advice: str) -> TooLarge:
        """Return the error of the exceeded limit ``name``.

        ``problem`` is a clause that contains the excessive number. ``advice`` says what the user can do.
        """
        limit = getattr(self, name)
        return TooLarge(f"{problem}, more than the {limit} allowed (setting DASHWRIGHT_{name.upper()}); {advice}", message_id="sse.limit")
