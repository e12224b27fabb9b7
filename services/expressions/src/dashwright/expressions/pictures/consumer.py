"""Consumer of picture requests from the queue."""

from time import monotonic, perf_counter
from typing import Final

import structlog
from pydantic import ValidationError

from dashwright.common.errors import BadRequest
from dashwright.common.fair_limiter import FairLimiter
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import Reply, Request, RpcServer
from dashwright.common.messaging.signing import Signer
from dashwright.common.models.pictures import PictureRequest
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions import queries
from dashwright.expressions.pictures.picture import draw
from dashwright.expressions.pictures.plotter import MAX_CACHE_BYTES, Plotter

_log = structlog.get_logger()

#: Pictures that are drawn concurrently, which is also the number of processes that make PNGs.
_CONCURRENT_PICTURES: Final = 2

_MAX_WAITING_REQUESTS: Final = 16


class PictureConsumer:
    """Consumer of the requests for pictures from the queue. A picture may take ``seconds``."""

    def __init__(self, broker: Broker, signer: Signer, settings: queries.QuerySettings, *, seconds: float) -> None:
        self._settings = settings
        self._seconds = seconds
        self._plotter = Plotter(processes=_CONCURRENT_PICTURES, cache_bytes=MAX_CACHE_BYTES)
        self._limiter = FairLimiter(_CONCURRENT_PICTURES, waiting=_MAX_WAITING_REQUESTS, subject="pictures")
        self._server = RpcServer(broker, broker.topology.pictures, self._respond, signer, prefetch=self._limiter.capacity)

    async def start(self) -> None:
        """Start to consume requests."""
        await self._server.start()

    async def stop(self, *, drain: float) -> None:
        """Stop consuming requests, wait up to ``drain`` seconds for those in progress, and end the child processes."""
        await self._server.stop(drain=drain)
        await self._plotter.stop()

    async def _respond(self, request: Request) -> Reply:
        """Return the reply with the picture. Its deadline is that of the caller, or ``seconds`` from now if that is earlier."""
        started = perf_counter()
        try:
            picture_request = PictureRequest.model_validate_json(request.body)
        except ValidationError as error:
            raise BadRequest(f"the request for a picture cannot be read: {error.errors(include_url=False)[0]['msg']}") from error
        context = QueryContext.from_headers(request.headers)
        async with self._limiter.slot(context.org_id):
            # The time of waiting for a slot is not part of ``seconds``, but it counts for the deadline of the caller.
            deadline = monotonic() + min(self._seconds, request.deadline - self._settings.clock.seconds())
            picture = await draw(picture_request, context, self._settings, self._plotter, deadline)
        _log.info("picture_drawn", bytes=len(picture.body), ms=round((perf_counter() - started) * 1000, 3))
        return Reply(picture.body, {"content_type": picture.media_type})
