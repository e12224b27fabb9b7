"""The interface of every type of data source: the frames of one ordinary query, and the health of the source."""

import hashlib
from collections.abc import Hashable, Sequence
from typing import Protocol

import orjson

from dashwright.common.errors import BadRequest
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange

#: Members of a query that its source does not use.
_ABOUT_THE_REQUEST = {"ref_id", "hide", "datasource", "time_range", "result_assertions"}


class Source(Protocol):
    """A data source, created for each request. Implementations derive from it.

    Objects that live longer, such as connections, are passed in.
    """

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Return the frames of a query. They may be cached and shared, so they must not be changed later.

        ``limits.deadline`` bounds the wait. Raises BadRequest for errors of the caller, SourceFailed or
        DeadlineExceeded for errors of the source, and TooLarge by ``limits.refusal``.
        """
        ...

    async def health(self) -> str:
        """Return a sentence for users that says the source works. Raises like ``query``."""
        ...

    def cache_key(self, query: SourceQuery, time_range: TimeRange) -> Hashable:
        """Return a key that is equal for queries with equal results; a source that rounds the range overrides it.

        Raises BadRequest.
        """
        try:
            text = orjson.dumps(query.model_dump(by_alias=True, exclude=_ABOUT_THE_REQUEST), option=orjson.OPT_SORT_KEYS)
        except (orjson.JSONEncodeError, ValueError) as error:
            raise BadRequest(f"the query cannot be read: {error}") from error
        return hashlib.blake2b(text, digest_size=16).digest(), time_range
