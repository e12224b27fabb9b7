"""The interface of data sources: the frames of a query, and the health of the source."""

import hashlib
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import orjson

from dashwright.common.errors import BadRequest
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange

#: Members of a query that do not affect the frames, or that are in the key of the cache in another form.
_MEMBERS_OUTSIDE_KEY = {"ref_id", "hide", "datasource", "time_range", "result_assertions"}


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A query that its source has read, and that can run."""

    key: Hashable  #: Equal for queries with equal results.
    run: Callable[[Limits], Awaitable[Sequence[Frame]]]  #: Returns the frames, as ``Source.query`` does.


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
        """Return the options of a dashboard's variable, each a value and its text, that the query ``text`` selects.

        Raises the same errors as ``query``.
        """
        raise BadRequest("this type of data source has no queries for variables; use one of another type")

    def prepare(self, query: SourceQuery, time_range: TimeRange) -> PreparedQuery:
        """Return the query with its key.

        A source overrides this method to parse the query before it runs, or to round the time range in the key.
        Raises BadRequest if the query is invalid, or cannot be written as JSON.
        """
        try:
            document = orjson.dumps(query.model_dump(by_alias=True, exclude=_MEMBERS_OUTSIDE_KEY), option=orjson.OPT_SORT_KEYS)
        except (orjson.JSONEncodeError, ValueError) as error:
            raise BadRequest(f"the query cannot be read: {error}") from error
        key = hashlib.blake2b(document, digest_size=16).digest(), time_range
        return PreparedQuery(key, partial(self.query, query, time_range))
