"""What every data source type gives: the answer of one ordinary query as frames, and whether the source can be asked at all."""

import hashlib
from collections.abc import Hashable, Sequence
from typing import Protocol

import orjson

from dashwright.common.errors import BadRequest
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange

_ABOUT_THE_REQUEST = {"ref_id", "hide", "datasource", "time_range", "result_assertions"}
"""What a query says that its source does not see."""


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

    def cache_key(self, query: SourceQuery, time_range: TimeRange) -> Hashable:
        """What the source would be asked. Who asks the same gets the same answer, so a source that rounds the range says so here.

        Raises BadRequest.
        """
        try:
            text = orjson.dumps(query.model_dump(by_alias=True, exclude=_ABOUT_THE_REQUEST), option=orjson.OPT_SORT_KEYS)
        except (orjson.JSONEncodeError, ValueError) as error:
            raise BadRequest(f"the query cannot be read: {error}") from error
        return hashlib.blake2b(text, digest_size=16).digest(), time_range
