"""What every data source type gives: the answer of one ordinary query as frames."""

from collections.abc import Sequence
from typing import Protocol

from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.timerange import TimeRange


class Source(Protocol):
    async def query(self, query: SourceQuery, time_range: TimeRange) -> Sequence[Frame]:
        """Raises BadRequest for what the caller can mend, SourceFailed or DeadlineExceeded for what the source did."""
