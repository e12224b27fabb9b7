"""The interface of data sources: the frames of a query, and the health of the source."""

import hashlib
from collections.abc import Hashable, Sequence
from typing import Protocol

import orjson

from dashwright.common.errors import BadRequest
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange

#: Members of a query that do not affect the frames, or that are in the key of the cache in another form.
_MEMBERS_OUTSIDE_KEY = {"ref_id", "hide", "datasource", "time_range", "result_assertions"}


class Source(Protocol):
    """A data source, created for each request. Implementations derive from it.

    The constructor receives objects that outlive the request, such as pools of connections.
    """

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Return the frames of a query. They may be cached and shared, so do not change them.

        ``limits.deadline`` limits the duration. Raises BadRequest for errors of the caller, SourceFailed or
        DeadlineExceeded for errors of the source, and TooLarge by ``limits.refusal``.
        """
        ...

    async def health(self) -> str:
        """Return a message for users that the source works. Raises the same errors as ``query``."""
        ...

    async def variable_options(self, text: str, time_range: TimeRange, limits: Limits) -> Sequence[tuple[str, str]]:
        """Return the values and texts that the query of a dashboard's variable selects. Raises the same errors as ``query``."""
        raise BadRequest("this type of data source serves no queries of variables")

    def cache_key(self, query: SourceQuery, time_range: TimeRange) -> Hashable:
        """Return a key that is equal for queries with equal results. Sources that round the time range override it.

        Raises BadRequest if the query cannot be written as JSON.
        """
        try:
            document = orjson.dumps(query.model_dump(by_alias=True, exclude=_MEMBERS_OUTSIDE_KEY), option=orjson.OPT_SORT_KEYS)
        except (orjson.JSONEncodeError, ValueError) as error:
            raise BadRequest(f"the query cannot be read: {error}") from error
        return hashlib.blake2b(document, digest_size=16).digest(), time_range
