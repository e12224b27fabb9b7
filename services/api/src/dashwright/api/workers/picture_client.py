"""A client of the expressions worker that renders pictures of dashboards."""

from dataclasses import dataclass
from typing import Final

from dashwright.common.fair_limiter import FairLimiter
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.models.pictures import PictureOptions, request_of
from dashwright.common.models.query_context import QueryContext

TIMEOUT_SECONDS: Final = 30.0
"""Time limit of a picture in seconds, including its queries."""

_MAX_CONCURRENT: Final = 4
"""Limit on the pictures that this gateway requests concurrently."""
_MAX_WAITING: Final = 60
"""Limit on the requests that wait: browsers request up to six pictures of a page concurrently."""
_MAX_WAITING_SECONDS: Final = 20.0
"""Longest time in seconds for which a request waits for a slot."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A rendered picture."""

    body: bytes
    media_type: str


class PictureClient:
    """A client that renders pictures. It limits concurrent requests, and shares them fairly between organizations."""

    def __init__(self, broker: Broker, rpc: RpcClient) -> None:
        self._queue = broker.topology.pictures
        self._rpc = rpc
        self._limiter = FairLimiter(_MAX_CONCURRENT, waiting=_MAX_WAITING, seconds=_MAX_WAITING_SECONDS, subject="pictures")

    async def render(self, spec: str, options: PictureOptions, context: QueryContext) -> Picture:
        """Return a picture of the dashboard whose JSON is ``spec``, with the data sources that ``context`` permits.

        Raises TooManyRequests, DeadlineExceeded and Unavailable, and the worker's error for an invalid request.
        """
        async with self._limiter.slot(context.org_id):
            body = request_of(spec.encode(), options)
            response = await self._rpc.call(self._queue, body, timeout=TIMEOUT_SECONDS, headers=context.headers())
            return Picture(await response.read(), str(response.headers.get("content_type", "")))
