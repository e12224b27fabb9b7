"""Asks the expressions service for pictures of dashboards, a few at a time."""

from dataclasses import dataclass
from typing import Final

from dashwright.common.fair_limiter import FairLimiter
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.models.pictures import PictureOptions, request_of
from dashwright.common.models.query_context import QueryContext

SECONDS: Final = 30.0
"""How long a picture may take, its queries included."""

_SLOTS: Final = 4


@dataclass(frozen=True, slots=True)
class Picture:
    body: bytes
    media_type: str


class PictureClient:
    def __init__(self, broker: Broker, rpc: RpcClient) -> None:
        self._queue = broker.topology.pictures
        self._rpc = rpc
        self._limiter = FairLimiter(_SLOTS, subject="pictures")

    async def draw(self, spec: str, drawing: PictureOptions, context: QueryContext) -> Picture:
        """A picture of the dashboard whose JSON is ``spec``; ``context`` says whose data sources it may query, and which.

        Raises TooManyRequests where enough are being drawn, DeadlineExceeded, Unavailable, and what is wrong with the request.
        """
        async with self._limiter.slot(context.org_id):
            body = request_of(spec.encode(), drawing)
            answer = await self._rpc.call(self._queue, body, timeout=SECONDS, headers=context.headers())
            return Picture(await answer.read(), str(answer.headers.get("content_type", "")))
