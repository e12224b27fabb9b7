"""What an evaluation may cost at most. Each limit is a setting of the same name, and its error names both."""

from dataclasses import dataclass, field
from functools import partial

from dashwright.common.errors import TooLarge
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.memory import UNBOUNDED, Reservation

EXPRESSION_LENGTH = 10_000
EXPRESSION_DEPTH = 50

KEY_SET_PAIRS = 1_000_000
"""Pairs of different sets of label keys that one union compares."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one request.

    ``query_targets``: queries and targets. ``query_depth``: expressions in a row, each reading the one before. Of each refId's outcome:
    ``query_series`` (series or numbers; of each union on the way, too), ``query_points`` (over all series), ``query_labels`` (of one
    series). ``expression_length``: characters of one expression; ``request_expressions``: of all expressions together;
    ``expression_depth``: how deep parentheses, calls and signs nest in it, a chain of operators does not. ``request_points``: of all that
    is held at once, a series counted as 32 more. ``resample_buckets``: windows of one ``resample``. ``math_bytes``: estimated memory that
    the result of one binary operator may take; 0 turns that check off. ``source_bytes``: bytes of one answer of a data source, unpacked;
    ``source_rows``: rows of one that answers tables, the others are left out. ``sql_seconds``, ``sql_bytes``: of one sql statement, and as
    many bytes again for the tables it reads; ``sql_output_cells``: rows times columns that it answers before it is cut.
    ``testdata_seconds``: how long a ``slow_query`` of testdata waits.
    ``query_response_bytes``: estimated bytes of a response as JSON. ``memory`` counts what the request holds.
    """

    query_targets: int = 500
    query_depth: int = 100
    query_series: int = 100_000
    query_points: int = 20_000_000
    query_labels: int = 100
    request_points: int = 50_000_000
    expression_length: int = EXPRESSION_LENGTH
    request_expressions: int = 200_000
    expression_depth: int = EXPRESSION_DEPTH
    resample_buckets: int = 500_000
    math_bytes: int = 1 << 30
    source_bytes: int = 128 * 1024 * 1024
    source_rows: int = 1_000_000
    sql_seconds: float = 10
    sql_bytes: int = 512 * 1024 * 1024
    sql_output_cells: int = 1_000_000
    testdata_seconds: float = 30
    query_response_bytes: int = 256 * 1024 * 1024
    deadline: Deadline = field(default_factory=Deadline)
    memory: Reservation = field(default_factory=partial(Reservation, UNBOUNDED, None))

    def refusal(self, name: str, found: str, advice: str) -> TooLarge:
        """The error of the limit ``name``: ``found`` says what was counted, ``advice`` what to do."""
        allowed = getattr(self, name)
        return TooLarge(f"{found}, more than the {allowed} allowed (setting DASHWRIGHT_{name.upper()}); {advice}", message_id="sse.limit")
