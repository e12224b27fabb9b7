"""What every data source type gives: the answer of one ordinary query as frames, and whether the source can be asked at all."""

from collections.abc import Sequence
from typing import Protocol

from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange


class Source(Protocol):
    """Made for one data source, and for each request anew: what lasts (connections) is handed in. Implementations derive from it."""

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """The frames may be kept and shared, so nobody changes them, the source neither. ``limits.deadline`` bounds the wait.

        Raises BadRequest for what the caller can mend, SourceFailed or DeadlineExceeded for what the source did, and TooLarge by
        ``limits.refusal``.
        """
        ...

    async def health(self) -> str:
        """One sentence for people who ask whether the source works. Raises as ``query`` does."""
        ...

    def aligned(self, query: SourceQuery, time_range: TimeRange) -> TimeRange:
        """The range that the source is really asked for: queries that differ in nothing else are answered alike, and share an answer."""
        return time_range
